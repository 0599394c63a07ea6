"""Selections in private rounds: what all of them charge, choose, and resume with when killed."""

import json
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import pi, sqrt
from typing import Any

import numpy as np
import pytest

from hallmark.mechanisms.marginals.selection.aim import plan_aim
from hallmark.mechanisms.marginals.selection.misfit import UNIT
from hallmark.mechanisms.marginals.selection.mwem import plan_mwem
from hallmark.mechanisms.marginals.selection.strongest import plan_strongest
from hallmark.mechanisms.marginals.selection.tree import plan_tree
from hallmark.mechanisms.privacy.accountant import fits, rho
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.events import merged
from tests.mechanisms.marginals.selection.runs import (
    ALL,
    BUDGET,
    PERSONS,
    RELATIONS,
    REPLACE,
    SHAPE,
    Dying,
    Killed,
    PlainModeller,
    Watching,
    asked,
    curator_of,
    designed,
    run,
    table,
)


@dataclass(frozen=True)
class Kind:
    """A selection, with settings that make a run short.

    Attributes:
        round_calls, last_calls: calls of a round, and those after the rounds.
        ways: columns of the marginals that it may choose.
        adaptive: whether it chooses noise by answers.
        tables: that a round measures.
    """

    plan: Callable[..., Any]
    settings: Mapping[str, Any]
    round_calls: tuple[str, ...] = ("round-{}-choice", "round-{}-marginal")
    last_calls: tuple[str, ...] = ()
    ways: tuple[int, ...] = (2,)
    adaptive: bool = False
    tables: int = 1

    def design(self, adjacency: Adjacency = REPLACE, **more: Any) -> Any:
        return designed(self.plan, adjacency=adjacency, **{**self.settings, **more})

    def calls(self, chosen: int) -> list[str]:
        """Names of all calls of a run with so many tables beside the first."""
        rounds = range(1, chosen // self.tables + 1)
        named = [name.format(n) for n in rounds for name in self.round_calls]
        return ["marginals", *named, *self.last_calls]


AIM = Kind(plan_aim, {"rounds_cap": 4}, ways=(1, 2), adaptive=True)
MWEM = Kind(plan_mwem, {"rounds": 2, "one_way_share": 0.3})
MST = Kind(plan_tree, {}, ("round-{}-choice",), ("pairs",))
STRONGEST = Kind(
    plan_strongest, {"rounds": 2}, ("round-{}-choice", "round-{}-marginals"), tables=2 * len(SHAPE)
)
of_every_kind = pytest.mark.parametrize(
    "kind", [AIM, MWEM, MST, STRONGEST], ids=["aim", "mwem", "mst", "strongest"]
)


@of_every_kind
@pytest.mark.parametrize("adjacency", ALL)
def test_a_run_charges_what_was_planned_whatever_is_chosen(
    url: str, kind: Kind, adjacency: Adjacency
) -> None:
    design, curator = kind.design(adjacency), curator_of(url, table(), adjacency)
    answers = run(design, curator)
    events = curator.ledger.events("r")
    if kind.adaptive:
        assert rho(events) == design.rho
    else:
        assert set(merged(events)) == set(design.events)
    assert fits(events, BUDGET)
    assert [event.adaptive for event in events] == [False] + [kind.adaptive] * (len(events) - 1)
    assert all(answer.asked.adaptive is kind.adaptive for answer in answers[4:])
    assert {len(answer.asked.clique) for answer in answers[4:]} <= set(kind.ways)
    assert [call.call for call in curator.ledger.calls("r")] == kind.calls(len(answers) - 4)
    curator.ledger.verify("people")


@of_every_kind
def test_a_strong_dependence_is_measured_first(url: str, kind: Kind) -> None:
    answers = run(kind.design(), curator_of(url, table()))
    assert answers[4].asked.clique == (0, 1)


@pytest.mark.parametrize("adjacency", RELATIONS)
@pytest.mark.parametrize(
    ("kind", "settings"), [(AIM, {"ways": 3, "rounds_cap": 2}), (MWEM, {})], ids=["aim", "mwem"]
)
def test_scores_are_those_of_a_plain_transcription_in_every_round(
    url: str, kind: Kind, settings: dict[str, Any], adjacency: Adjacency
) -> None:
    """w_r (|x_r - n p_r|_1 - sqrt(2/pi) sigma n_r), up to the rounding of the model's counts."""
    design, codes = kind.design(adjacency, **settings), table(500)
    wanted = (
        dict(zip(design.candidates, design.weights, strict=True))
        if kind is AIM
        else dict.fromkeys(design.workload.cliques, 1)
    )
    curator = curator_of(url, codes, adjacency, kind=Watching)
    answers = run(design, curator)
    modeller, total = PlainModeller(design.domain), curator.total()
    assert len(curator.choices) == len(answers) - 4 == 2
    for number, (_, candidates, _) in enumerate(curator.choices, start=4):
        known, sigma2 = answers[:number], answers[number].asked.sigma2
        model = modeller.model(known, total, None)
        records = modeller.evidence(known, total).total
        assert [c.cells.columns for c in candidates] == list(wanted)
        for candidate, (clique, weight) in zip(candidates, wanted.items(), strict=True):
            counts = np.zeros([SHAPE[a] for a in clique])
            for record in codes:
                counts[tuple(record[list(clique)])] += 1
            misfit = np.abs(counts - records * model.marginal(clique)).sum()
            plain = weight * (misfit - sqrt(2 / pi * sigma2) * counts.size)
            own = candidate(np.bincount(candidate.cells(codes), minlength=candidate.cells.size))
            assert own / UNIT == pytest.approx(plain, abs=weight * (counts.size + 1) / (2 * UNIT))
            assert candidate.sensitivity(adjacency) == weight * UNIT * adjacency.l1


@of_every_kind
def test_a_design_pickles_and_its_parameters_are_plain_json(kind: Kind) -> None:
    design = kind.design(PERSONS)
    copy = pickle.loads(pickle.dumps(design))
    assert copy.events == design.events
    assert json.loads(json.dumps(copy.parameters)) == design.parameters


@pytest.mark.parametrize(
    ("kind", "cells"),
    [(AIM, "600,050,000"), (MWEM, "600,000,000"), (MST, "600,000,000")],
    ids=["aim", "mwem", "mst"],
)
def test_tables_that_are_too_large_are_refused(kind: Kind, cells: str) -> None:
    with pytest.raises(ValueError, match=f"the (marginals|pairs) to choose among have {cells}"):
        designed(kind.plan, 20_000, 30_000)


# Runs that are killed


@of_every_kind
@pytest.mark.parametrize("after", [False, True], ids=["before the draw", "in the log"])
@pytest.mark.parametrize("calls", range(5))
def test_killed_in_any_call_a_run_resumes_with_what_was_drawn(
    url: str, kind: Kind, calls: int, after: bool
) -> None:
    design, codes = kind.design(), table()
    with pytest.raises(Killed):
        run(design, curator_of(url, codes, kind=Dying, calls=calls, after=after))
    first = run(design, curator_of(url, codes))
    curator = curator_of(url, codes)
    assert asked(first) == asked(run(design, curator))
    assert [call.call for call in curator.ledger.calls("r")] == kind.calls(len(first) - 4)
    spent = rho(curator.ledger.events("r"))
    assert spent == design.rho if kind.adaptive else spent <= design.rho


@pytest.mark.parametrize("calls", [2, 3, 5, 6])
@pytest.mark.parametrize("stubborn", [False, True])
def test_a_run_goes_on_with_the_noise_that_was_drawn_whatever_models_now_say(
    url: str, calls: int, stubborn: bool
) -> None:
    """Models that learn nothing halve AIM's noise; those that learn keep it."""
    design, codes = AIM.design(rounds_cap=9), table()
    began, went_on = (
        PlainModeller(design.domain, stubborn=kind) for kind in (stubborn, not stubborn)
    )
    with pytest.raises(Killed):
        run(design, curator_of(url, codes, kind=Dying, calls=calls, after=False), began)
    logged = curator_of(url, codes).ledger.calls("r")
    assert len(logged) == calls
    answers = run(design, curator_of(url, codes), went_on)
    ledger = curator_of(url, codes).ledger
    assert ledger.calls("r")[:calls] == logged
    assert rho(ledger.events("r")) == design.rho
    assert asked(answers) == asked(run(design, curator_of(url, codes), began))
