"""The tree of pairs: fixed events, the law of its choices, replays, and what it finds."""

import json
from fractions import Fraction
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest

from hallmark.mechanisms.marginals.selection.tree import TreeDesign, one_way_shares, plan_tree
from hallmark.mechanisms.privacy.accountant import fits, rho
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from tests.mechanisms.marginals.selection.runs import (
    ALL,
    BUDGET,
    PERSONS,
    RELATIONS,
    SHAPE,
    PlainModeller,
    Watching,
    curator_of,
    designed,
    law,
    run,
    table,
)

make = partial(designed, plan_tree)


@pytest.mark.parametrize("adjacency", ALL)
def test_thirds_of_rho_fit_the_budget_and_little_more_does_not(adjacency: Adjacency) -> None:
    design = make(adjacency=adjacency)
    ones, choices, pairs = design.events
    assert rho([ones]) == rho([pairs]) == design.rho / 3
    assert design.rho / 3 * Fraction(9999, 10_000) < rho([choices]) <= design.rho / 3
    assert (ones.times, choices.times, pairs.times) == (4, 3, 3)
    assert fits(design.events, BUDGET)
    more = TreeDesign(
        domain=design.domain, adjacency=adjacency, rho=design.rho * Fraction(10_003, 10_000)
    )
    assert not fits(more.events, BUDGET)


@pytest.mark.parametrize("adjacency", RELATIONS)
def test_candidates_have_the_law_of_a_plain_transcription(url: str, adjacency: Adjacency) -> None:
    """P(pair) proportional to exp(epsilon |x - n p_a p_b|_1 / (2 l1)), among joining pairs."""
    design, codes = make(adjacency=adjacency), table(300)
    curator = curator_of(url, codes, adjacency, kind=Watching)
    answers = run(design, curator)
    modeller = PlainModeller(design.domain)
    evidence = modeller.evidence(answers[:4], curator.total())
    ones, chosen = one_way_shares(evidence), []
    for number, (call, candidates, event) in enumerate(list(curator.choices)):
        assert call == f"round-{number + 1}-choice"
        parts = components(4, chosen)
        joining = [p for p in combinations(range(4), 2) if parts[p[0]] != parts[p[1]]]
        assert [candidate.cells.columns for candidate in candidates] == joining
        misfits = []
        for a, b in joining:
            distance = 0.0
            for i, j in product(range(SHAPE[a]), range(SHAPE[b])):
                count = int(((codes[:, a] == i) & (codes[:, b] == j)).sum())
                distance += abs(count - evidence.total * ones[a][i] * ones[b][j])
            misfits.append(distance)
        weights = np.exp(
            float(event.epsilon) * (np.array(misfits) - max(misfits)) / 2 / adjacency.l1
        )
        own = [c(np.bincount(c.cells(codes), minlength=c.cells.size)) for c in candidates]
        sensitivity = max(c.sensitivity(adjacency) for c in candidates)
        assert law(own, sensitivity, event.epsilon) == pytest.approx(
            weights / weights.sum(), rel=1e-2, abs=1e-9
        )
        index = curator.choose(call, candidates, event)  # read back from the log
        chosen.append(joining[index])
    assert chosen == [answer.asked.clique for answer in answers[4:]]
    assert len(chosen) == 3
    assert set(components(4, chosen)) == {components(4, chosen)[0]}  # a tree


def components(attributes: int, pairs: list[tuple[int, ...]]) -> list[int]:
    part = list(range(attributes))
    for a, b in pairs:
        part = [part[a] if own == part[b] else own for own in part]
    return part


def test_one_column_is_measured_with_all_of_rho_and_two_make_one_pair(url: str) -> None:
    alone = make(5, adjacency=PERSONS)
    assert alone.events[0].times == len(alone.events) == 1
    assert rho(alone.events) == alone.rho
    assert len(alone.noise) == 1
    assert alone.largest == ((0,),)
    assert run(alone, curator_of(url, table()[:, :1], PERSONS))[1:] == ()
    assert make(3, 3, adjacency=PERSONS).largest == ((0,), (1,), (0, 1))


def test_memory_is_forecast_for_the_tree_with_the_most_cells() -> None:
    design = make(2, 9, 3, 8, adjacency=PERSONS)
    assert design.largest[4:] == ((1, 3), (1, 2), (0, 1))


def test_noise_lines_tell_marginals_and_choices() -> None:
    ones, choices, pairs = make().noise
    assert (ones.cells, choices.cells, pairs.cells) == (10, 3, 9 + 6 + 6)
    assert choices.family == "exponential mechanism"
    assert choices.sensitivity == "2 records of misfit"
    epsilon = make().events[1].epsilon
    draws = np.random.default_rng(0).gumbel(scale=float(4 / epsilon), size=100_000)
    assert choices.standard_deviation == pytest.approx(draws.std(), rel=0.02)
    assert pairs.sensitivity == "L2 = sqrt(6) records"


def test_parameters_tell_the_choices_and_are_plain_json_without_any() -> None:
    assert make(adjacency=PERSONS).parameters["choices"] == 3
    json.dumps(make(4, adjacency=PERSONS).parameters)


def test_settings_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\.ways: mst has no such setting; it knows none"):
        make(ways=2)


def test_choices_that_were_charged_as_monotone_would_not_fit() -> None:
    """Twice the epsilon at the same charge is what scores taken to be monotone would get."""
    ones, choices, pairs = make(budget=BUDGET).events
    twice = ExponentialMechanism(epsilon=2 * choices.epsilon, times=choices.times)  # type: ignore[union-attr]
    assert not fits((ones, twice, pairs), BUDGET)
