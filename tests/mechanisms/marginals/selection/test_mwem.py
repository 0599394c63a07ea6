"""MWEM: fixed events, the law of a choice, replays, and what may be chosen."""

import json
import pickle
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import pi, sqrt

import numpy as np
import pytest

from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.marginals.selection.misfit import UNIT
from hallmark.mechanisms.marginals.selection.mwem import MwemDesign, plan_mwem
from hallmark.mechanisms.privacy.accountant import fits, rho
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import merged
from tests.mechanisms.marginals.domains import domain_of
from tests.mechanisms.marginals.selection.runs import (
    ADD,
    BUDGET,
    PERSONS,
    RELATIONS,
    REPLACE,
    PlainModeller,
    Watching,
    curator_of,
    run,
    table,
)

SHAPE = (3, 3, 2, 2)


def make(
    *cells: int, adjacency: Adjacency = REPLACE, budget: Budget = BUDGET, **given: object
) -> MwemDesign:
    return plan_mwem(domain_of(cells or SHAPE), budget=budget, adjacency=adjacency, settings=given)


@pytest.mark.parametrize("adjacency", [REPLACE, ADD, PERSONS])
def test_shares_of_rho_fit_the_budget_and_little_more_does_not(adjacency: Adjacency) -> None:
    design = make(adjacency=adjacency, rounds=7, one_way_share=0.3)
    ones, choices, marginals = design.events
    assert rho([ones]) == design.rho * Fraction(3, 10)
    assert rho([marginals]) == design.rho * Fraction(7, 10) * Fraction(9, 10)
    assert rho([choices]) == pytest.approx(design.rho * Fraction(7, 100), rel=1e-5)
    assert (ones.times, choices.times, marginals.times) == (4, 7, 7)
    assert not any(event.adaptive for event in design.events)
    assert fits(design.events, BUDGET)
    assert not fits(replace(design, rho=design.rho * Fraction(10_003, 10_000)).events, BUDGET)


@pytest.mark.parametrize("adjacency", [REPLACE, ADD, PERSONS])
def test_a_run_charges_the_events_of_the_plan_whatever_is_chosen(
    url: str, adjacency: Adjacency
) -> None:
    design = make(adjacency=adjacency)
    curator = curator_of(url, table(), adjacency)
    answers = run(design, curator)
    assert len(answers) == 4 + 4
    assert set(merged(curator.ledger.events("r"))) == set(design.events)
    assert fits(curator.ledger.events("r"), BUDGET)
    assert all(answer.asked.clique in design.workload.cliques for answer in answers[4:])
    calls = [call.call for call in curator.ledger.calls("r")]
    rounds = [f"round-{n}-{what}" for n in range(1, 5) for what in ("choice", "marginal")]
    assert calls == ["marginals", *rounds]
    curator.ledger.verify("people")


@pytest.mark.parametrize("adjacency", RELATIONS)
def test_scores_are_those_of_a_plain_transcription_in_every_round(
    url: str, adjacency: Adjacency
) -> None:
    design, codes = make(adjacency=adjacency, rounds=3), table(500)
    curator = curator_of(url, codes, adjacency, kind=Watching)
    answers = run(design, curator)
    modeller, sigma2 = PlainModeller(design.domain), design.events[2].sigma2  # type: ignore[union-attr]
    for number, (_, candidates, _) in enumerate(curator.choices):
        known = answers[: 4 + number]
        model = modeller.model(known, curator.total(), None)
        records = modeller.evidence(known, curator.total()).total
        assert [c.cells.columns for c in candidates] == list(design.workload.cliques)
        for candidate in candidates:
            clique = candidate.cells.columns
            counts = np.zeros([SHAPE[a] for a in clique])
            for record in codes:
                counts[tuple(record[list(clique)])] += 1
            misfit = np.abs(counts - records * model.marginal(clique)).sum()
            plain = misfit - sqrt(2 / pi * sigma2) * counts.size
            own = candidate(np.bincount(candidate.cells(codes), minlength=candidate.cells.size))
            assert own / UNIT == pytest.approx(plain, abs=(counts.size + 1) / (2 * UNIT))


def test_a_strong_dependence_is_measured_first(url: str) -> None:
    budget = Budget(epsilon=Fraction(4), delta=Fraction(1, 10**5))
    answers = run(make(budget=budget), curator_of(url, table(), budget=budget))
    assert answers[4].asked.clique == (0, 1)


def test_models_that_would_be_too_large_are_not_offered(url: str) -> None:
    def pairs_of_coins(cliques: Sequence[Clique], share: float) -> bool:
        return share == 1 and cliques[-1] == (2, 3)

    def nothing(cliques: Sequence[Clique], share: float) -> bool:
        return False

    design = make(rounds=2)
    curator = curator_of(url, table())
    answers = run(design, curator, PlainModeller(design.domain, pairs_of_coins))
    assert [answer.asked.clique for answer in answers[4:]] == [(2, 3), (2, 3)]
    assert design._admitted(answers[:4], PlainModeller(design.domain, nothing)) == (
        (0,), (1,), (2,), (3,)
    )  # fmt: skip


def test_memory_is_forecast_for_the_largest_marginals_one_a_round() -> None:
    assert make(rounds=2).largest == ((0,), (1,), (2,), (3,), (0, 1), (0, 2))


def test_defaults_and_what_is_told() -> None:
    design = pickle.loads(pickle.dumps(make()))
    told = json.loads(json.dumps(design.parameters))
    assert (told["rounds"], told["one_way_share"], told["choice_share"]) == (4, "1/5", "1/10")
    ones, choices, marginals = design.noise
    assert (ones.cells, choices.cells, marginals.cells) == (10, 4, 36)
    assert marginals.sensitivity == "L2 = sqrt(8) records"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rounds": 0}, r"selection\.rounds: 0; give a whole number of at least 1"),
        ({"rounds_cap": 3}, "did you mean rounds"),
        ({"one_way_share": 0}, "a number between 0 and 1"),
        ({"one_way_share": 1}, "a number between 0 and 1"),
        ({"one_way_share": "half"}, "a number between 0 and 1"),
        ({"ways": 5}, "only 4 columns"),
        (
            {"workload": [{"columns": ["c0"], "weight": 2}, {"columns": ["c1"]}]},
            "mwem knows no weights",
        ),
    ],
)
def test_wrong_settings_are_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make(**given)


def test_tables_that_are_too_large_are_refused() -> None:
    with pytest.raises(ValueError, match="the marginals to choose among have 600,000,000 cells"):
        make(20_000, 30_000)
