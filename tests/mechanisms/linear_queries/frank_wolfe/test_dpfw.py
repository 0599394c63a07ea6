"""DPFW: the law of choices, what is charged, replays, the limit without noise, bad input."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest
from scipy.optimize import minimize

from hallmark.mechanisms.linear_queries.frank_wolfe.dpfw import ITERATES, plan_dpfw
from hallmark.mechanisms.linear_queries.frank_wolfe.path import CellPath
from hallmark.mechanisms.linear_queries.questions import PathQuestion
from hallmark.mechanisms.linear_queries.weights import tilted
from hallmark.mechanisms.privacy.accountant import fits
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.linear_queries import Block, EachCell
from hallmark.mechanisms.privacy.queries import SCORE_STEPS, signed_misfits
from tests.mechanisms.linear_queries.adaptive_runs import (
    ADD,
    BUDGET,
    PURE,
    REPLACE,
    bits,
    curator,
    law,
    losses,
    of,
    planned,
    ways,
)
from tests.mechanisms.wasserstein.single_histogram.neighbours import neighbours

SMALL = ways((2, 2, 2, 2), 2)


def greatest_loss(method, sensitivity: int, adjacency) -> float:
    """Of the second choice after any first one, over all neighbours; by brute force."""
    universe = method.universe
    asked = PathQuestion(universe, 2, method._path, "")
    pairs = [
        pair for rest in product((0, 1), repeat=2) for pair in neighbours((2, 2), adjacency, [rest])
    ]
    return max(
        float(np.abs(losses(universe, pair, asked((first,)), method.epsilon, sensitivity)).max())
        for first in range(2 * universe.queries.size)
        for pair in pairs
    )


@pytest.mark.parametrize("adjacency", [REPLACE, ADD])
def test_no_choice_loses_more_than_its_epsilon_and_half_the_noise_does(adjacency) -> None:
    universe = ways((2, 2), 1, 2)
    budget = Budget(epsilon=Fraction(4))
    method = planned(plan_dpfw, universe, budget=budget, adjacency=adjacency, rounds=2)
    sensitivity = SCORE_STEPS * universe.queries.sensitivity(adjacency)
    assert greatest_loss(method, sensitivity, adjacency) <= float(method.epsilon) * (1 + 1e-9)
    # A twin that forgets the factor 2, as for monotone scores, is caught.
    broken = replace(method, epsilon=2 * method.epsilon)
    assert greatest_loss(broken, sensitivity, adjacency) > float(method.epsilon) * 1.05


def test_choices_follow_the_law_along_a_path(tmp_path) -> None:
    # One candidate is far from the uniform share, so that its sign and number are known.
    codes = np.ones((300, 2), dtype=np.int64)
    universe = ways((2, 2), 2)
    method = planned(plan_dpfw, universe, budget=Budget(epsilon=Fraction(50)), rounds=3)
    ((chosen,),) = method.ask(curator(tmp_path, codes, method)).values()
    question, asked = PathQuestion(universe, 300, method._path, ""), chosen.tolist()
    for turn, position in enumerate(asked):
        scores = signed_misfits(np.array([0, 0, 0, 300]), question(asked[:turn]))
        found = law(scores, SCORE_STEPS, method.epsilon)
        assert found[position] > 1e-6  # what is drawn is possible; chance 1e-5 to fail
    assert asked[0] == 3  # misfit 225 at epsilon 50/3; another with chance exp(-1000)


@pytest.mark.parametrize("iterate", ITERATES)
def test_iterates_are_what_they_are_called(iterate) -> None:
    method = planned(plan_dpfw, SMALL, rounds=9, alpha=0.1, iterate=iterate)
    size = SMALL.queries.size
    chosen = np.random.default_rng(1).integers(0, 2 * size, 9)
    path, duals = CellPath(SMALL, 0.1, method.step), []
    for position in chosen.tolist():
        path.move(position % size, 1 if position < size else -1)
        duals.append(path._dual.copy())
    shares = [tilted(SMALL.uniform, dual / 0.1) for dual in duals]
    found = method.distribution(
        {"choices": (chosen,)}, 1000, progress=lambda share, what: None
    ).shares
    match iterate:
        case "tail-average":
            expected = [tilted(SMALL.uniform, np.mean(duals[4:], axis=0) / 0.1)]
        case "mean":
            expected = [np.mean(shares, axis=0)]
        case "last":
            expected = [shares[-1]]
        case _:
            expected = shares
    assert any(np.allclose(found, one, rtol=1e-10) for one in expected)


def regularised(universe, truth: np.ndarray, alpha: float) -> np.ndarray:
    """The distribution of least largest error, plus alpha sum D log D, by another solver."""
    matrix = np.stack([universe.values(q) for q in range(universe.queries.size)])
    rows = np.concatenate([matrix, -matrix])

    def dual(weights: np.ndarray) -> float:  # of a mixture of signed queries, to be maximised
        exponents = (weights @ rows) / alpha
        top = exponents.max()
        return float(alpha * (top + np.log(np.exp(exponents - top).sum())) - weights @ rows @ truth)

    def slope(weights: np.ndarray) -> np.ndarray:
        shares = tilted(np.ones(universe.size), (weights @ rows) / alpha)
        found: np.ndarray = rows @ (shares - truth)
        return found

    start = np.full(len(rows), 1 / len(rows))
    best = minimize(
        dual, start, jac=slope, method="SLSQP", bounds=[(0, 1)] * len(rows),
        constraints=[{"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like}],
        options={"ftol": 1e-15, "maxiter": 2000},
    )  # fmt: skip
    return tilted(np.ones(universe.size), (best.x @ rows) / alpha)


def test_without_noise_the_path_goes_to_the_regularised_optimum_at_the_stated_rate() -> None:
    universe, alpha = ways((2, 2, 2, 2), 2), 0.5
    counts = np.bincount(marginal((0, 1, 2, 3), (2,) * 4)(bits(60)), minlength=16)
    truth = counts / counts.sum()
    exact, least = universe.answers(truth), np.inf
    path, diameter = CellPath(universe, alpha, 1.0), 2.0
    for turn in range(1, 4001):
        misfit = exact - path.answers()
        query = int(np.argmax(np.abs(misfit)))
        gap = float(np.abs(misfit).max() - (truth - path.shares()) @ path._dual)
        if turn > 1:
            least = min(least, gap)
            assert least <= 2 * diameter**2 / (alpha * turn)
        path._step = 2 / (turn + 1)
        path.move(query, int(np.sign(misfit[query])))
    np.testing.assert_allclose(path.shares(), regularised(universe, truth, alpha), atol=1e-4)
    best = np.abs(universe.answers(regularised(universe, truth, alpha)) - exact).max()
    assert np.abs(path.answers() - exact).max() == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize("adjacency", [REPLACE, ADD])
def test_the_papers_noise_is_larger_and_within_the_budget(adjacency) -> None:
    ours = planned(plan_dpfw, SMALL, adjacency=adjacency, constants="paper")
    paper = planned(plan_dpfw, SMALL, adjacency=adjacency, constants="paper", noise="paper")
    assert paper.epsilon < ours.epsilon / 9
    assert (paper.smoothing, paper.rounds) == (ours.smoothing, ours.rounds)
    assert fits(paper.events, BUDGET)
    # A query with one cell, one round: the paper's scale would be below ours.
    few = planned(plan_dpfw, ways((2, 2), 2), constants="paper", noise="paper", rounds=1)
    assert few.epsilon <= planned(plan_dpfw, ways((2, 2), 2), rounds=1).epsilon


def test_the_forecast_with_the_printed_noise_leaves_theorem_3_out() -> None:
    ours, printed = (
        planned(plan_dpfw, SMALL, constants="paper", noise=noise, expected=10**5).expected_error()
        for noise in ("ours", "paper")
    )
    assert "Theorem 3" in ours[1]
    assert "Theorem 3" not in printed[1]
    assert printed[0] > ours[0]
    value, words = planned(plan_dpfw, SMALL, budget=PURE).expected_error()
    assert 0 < value <= 1
    assert "Theorem 3" not in words


def test_queries_that_tell_the_number_of_records_alone_are_answered_where_it_is_private() -> None:
    constant = of((1, 2), Block(marginal((0,), (1, 2)), EachCell(1)))
    assert planned(plan_dpfw, constant, adjacency=ADD).rounds >= 1


def test_large_universes_are_kept_as_random_fields() -> None:
    assert planned(plan_dpfw, ways((2,) * 40, 2)).model == "random-field"


def test_pure_choices_share_epsilon_evenly() -> None:
    method = planned(plan_dpfw, SMALL, budget=PURE, adjacency=ADD, rounds=10)
    assert method.epsilon == Fraction(95, 1000)
    assert exp(10 * method.epsilon + Fraction(1, 20)) == pytest.approx(exp(1))
