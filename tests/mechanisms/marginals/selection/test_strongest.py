"""The pairs that fit worst, in batches: events, the law of a batch, what is asked, and of whom."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, permutations
from math import exp, prod

import numpy as np
import pytest
from scipy.stats import chisquare

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.mechanism import marginals_of
from hallmark.mechanisms.marginals.selection.fixed import FixedDesign
from hallmark.mechanisms.marginals.selection.misfit import UNIT, misfit
from hallmark.mechanisms.marginals.selection.strongest import StrongestDesign, plan_strongest
from hallmark.mechanisms.privacy.accountant import fits, rho
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.mechanisms.request import Request
from tests.mechanisms.marginals.selection.runs import (
    ALL,
    BUDGET,
    PERSONS,
    REPLACE,
    SHAPE,
    Watching,
    curator_of,
    designed,
    law,
    run,
    table,
)

make = partial(designed, plan_strongest)
FALSE_POSITIVE_RATE = 1e-6  # the draws have a seed, but a new one should pass


@pytest.mark.parametrize("adjacency", ALL)
def test_shares_of_rho_fit_the_budget_and_little_more_does_not(adjacency: Adjacency) -> None:
    design = make(adjacency=adjacency)
    ones, choices, pairs, groups = design.events
    assert rho([ones]) == design.rho * Fraction(35, 100)
    assert rho([pairs]) == design.rho * Fraction(60, 100) * Fraction(4, 5)
    assert rho([groups]) == design.rho * Fraction(60, 100) * Fraction(1, 5)
    assert rho([choices]) == pytest.approx(design.rho * Fraction(5, 100), rel=1e-5)
    assert [event.times for event in design.events] == [4, 12, 12, 12]
    assert not any(event.adaptive for event in design.events)
    assert fits(design.events, BUDGET)
    assert not fits(replace(design, rho=design.rho * Fraction(10_003, 10_000)).events, BUDGET)


def orders(scores: list[int], sensitivity: int, epsilon: Fraction, draws: int) -> dict:  # type: ignore[type-arg]
    """The law of several choices without replacement, by enumeration."""
    weights = [exp(epsilon * (u - max(scores)) / (2 * sensitivity)) for u in scores]
    probability = {}
    for order in permutations(range(len(scores)), draws):
        left, chance = sum(weights), 1.0
        for index in order:
            chance *= weights[index] / left
            left -= weights[index]
        probability[order] = chance
    return probability


def test_a_batch_is_as_private_as_it_is_charged_over_all_neighbours() -> None:
    """All tables of three records over two columns of two cells and one of three; the loss of two
    choices among three pairs is at most two epsilons, and a score of twice the weight at the same
    sensitivity goes beyond."""
    shape, epsilon = (2, 2, 3), Fraction(3, 2)
    records = [(a, b, c) for a in range(2) for b in range(2) for c in range(3)]
    pairs = [(0, 1), (0, 2), (1, 2)]
    even = {p: np.full([shape[a] for a in p], 3 / prod(shape[a] for a in p)) for p in pairs}
    asked = {weight: [misfit(p, even[p], shape, weight=weight) for p in pairs] for weight in (1, 2)}
    sensitivity = max(one.sensitivity(REPLACE) for one in asked[1])

    def laws(weight: int) -> Iterator[tuple[tuple[int, ...], dict]]:  # type: ignore[type-arg]
        for chosen in combinations_with_replacement(range(len(records)), 3):
            codes = np.array([records[i] for i in chosen])
            scores = [
                one(np.bincount(one.cells(codes), minlength=one.cells.size))
                for one in asked[weight]
            ]
            yield chosen, orders(scores, sensitivity, epsilon, 2)

    def largest_loss(weight: int) -> float:
        known, worst = dict(laws(weight)), 0.0
        for chosen, own in known.items():
            for gone in range(3):
                for new in range(len(records)):
                    other = tuple(sorted((*chosen[:gone], *chosen[gone + 1 :], new)))
                    ratio = max(own[order] / known[other][order] for order in own)
                    worst = max(worst, float(np.log(ratio)))
        return worst

    assert 0.1 < largest_loss(1) <= 2 * epsilon
    assert largest_loss(2) > largest_loss(1)


@pytest.mark.parametrize("draws", [1, 2])
def test_a_simulated_batch_has_the_law_of_draws_in_turn(draws: int) -> None:
    codes, epsilon = table(30), Fraction(1, 4)
    pairs = [(0, 1), (0, 2), (2, 3)]
    scores = [misfit(p, np.full([SHAPE[a] for a in p], 4.0), SHAPE) for p in pairs]
    own = [one(np.bincount(one.cells(codes), minlength=one.cells.size)) for one in scores]
    wanted = orders(own, max(one.sensitivity(REPLACE) for one in scores), epsilon, draws)
    curator = SimulatedCurator(codes=codes, adjacency=REPLACE, rng=np.random.default_rng(3))
    event = ExponentialMechanism(epsilon=epsilon, times=draws)
    seen = Counter(tuple(curator.choose_several("", scores, event)) for _ in range(4000))
    found = [seen[order] for order in wanted]
    assert chisquare(found, [4000 * p for p in wanted.values()]).pvalue > FALSE_POSITIVE_RATE
    if draws == 1:
        assert list(wanted.values()) == pytest.approx(law(own, 2 * UNIT, epsilon).tolist())


def test_a_round_asks_each_chosen_pair_in_cells_and_in_groups(url: str) -> None:
    """Of pairs of few cells groups would say nothing, so they are asked in cells twice."""
    design = make(9, 9, 2, 2, rounds=2)
    codes = np.column_stack([np.arange(2000) % 9, np.arange(2000) % 9, table(2000)[:, 2:]])
    answers = run(design, curator_of(url, codes))[4:]
    assert answers[0].asked.clique == (0, 1)
    assert [a.asked.groups for a in answers[:2]] == [None, 4]
    assert [one.groups for one in design._asked((2, 3), design._noise[1])] == [None, None]
    noise = {str(answer.asked.sigma2) for answer in answers[::2]}
    assert noise == {design.parameters["pair_sigma2"]}
    assert {str(answer.asked.sigma2) for answer in answers[1::2]} == {
        design.parameters["coarse_sigma2"]
    }


def test_rounds_choose_by_what_the_records_would_have(url: str) -> None:
    design, codes = make(rounds=2), table()
    curator = curator_of(url, codes, kind=Watching)
    answers = run(design, curator)
    assert [len(candidates) for _, candidates, _ in curator.choices] == [6, 6]
    assert [event.times for _, _, event in curator.choices] == [4, 4]
    assert len(answers) == 4 + 2 * 4 * 2


def test_a_pair_that_comes_again_is_pooled_with_its_groups(url: str) -> None:
    design = make(9, 9, rounds=3)  # two columns have one pair, so each round asks for it
    codes = np.column_stack([np.arange(3000) % 9] * 2)
    answers = run(design, curator_of(url, codes))
    (pair,) = (one for one in marginals_of((9, 9), answers) if len(one.clique) == 2)
    assert pair.coarse is not None
    noise = design.parameters
    assert pair.sigma == pytest.approx((float(Fraction(noise["pair_sigma2"])) / 3) ** 0.5)
    assert pair.coarse.sigma == pytest.approx((float(Fraction(noise["coarse_sigma2"])) / 3) ** 0.5)


def test_a_single_column_is_measured_with_all() -> None:
    design = make(5)
    assert design.rho == rho(design.events)
    assert (len(design.first), len(design.events), len(design.noise)) == (1, 1, 1)


def test_memory_and_time_are_forecast_for_the_largest_pairs() -> None:
    design = make(adjacency=PERSONS, rounds=1)
    assert design.largest == ((0,), (1,), (2,), (3,), (0, 1), (0, 2), (0, 3), (1, 2))
    assert (design.effort.candidates, design.effort.models, design.effort.tables) == (6, 1, 4)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rounds": 0}, r"selection\.rounds: 0; give a whole number of at least 1"),
        ({"round": 3}, "did you mean rounds"),
        ({"one_way_share": 1}, "a number between 0 and 1"),
        ({"one_way_share": 0.96}, r"0\.96 leaves nothing for pairs; give a number below 0\.95"),
    ],
)
def test_wrong_settings_are_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make(**given)


# Where it stands in place of all pairs


def planned(columns: int, cells: int, rows: int, epsilon: str = "1", **parameters: object):  # type: ignore[no-untyped-def]
    domain = Domain.coded({f"c{a}": cells for a in range(columns)})
    budget = Budget(epsilon=Fraction(epsilon), delta=Fraction(1, 100_000))
    request = Request(
        domain=domain,
        budget=budget,
        adjacency=REPLACE,
        expected_records=rows,
        parameters=parameters,
    )
    return MECHANISMS["privpgd"].plan(request).design  # type: ignore[attr-defined]


def test_the_default_chooses_pairs_where_noise_would_hide_all_of_them() -> None:
    assert isinstance(planned(60, 16, 20_000), StrongestDesign)
    assert isinstance(planned(60, 16, 200_000), FixedDesign)
    assert isinstance(planned(60, 16, 20_000, "10"), FixedDesign)
    assert isinstance(planned(60, 2, 20_000), FixedDesign)
    assert isinstance(planned(1, 5000, 10), FixedDesign)


def test_what_a_spec_says_stands() -> None:
    assert isinstance(planned(60, 16, 20_000, selection="all"), FixedDesign)
    assert isinstance(planned(60, 16, 20_000, selection={"emphasis": 0.1}), FixedDesign)
    assert isinstance(planned(5, 4, 20_000, selection="strongest"), StrongestDesign)
