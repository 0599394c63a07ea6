"""Variances against matrices, shares against a general solver."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from hallmark.mechanisms.linear_queries.direct.optimise import optimise, problem
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.linear_queries import Block, Boxes, EachCell
from tests.mechanisms.linear_queries.adaptive_runs import of, ways
from tests.mechanisms.linear_queries.direct.cases import mixed, tables, written

ALL = tuple(c for size in (1, 2, 3) for c in combinations(range(3), size))


def variances(u, asked, precisions):
    """Of all queries without their mean, which is known, at these precisions: W G^+ W'."""
    whole = sum(p * m.T @ m for m, p in zip(tables(u, asked), precisions, strict=True))
    centred = written(u) - written(u).mean(axis=1, keepdims=True)
    return np.diag(centred @ np.linalg.pinv(whole, rcond=1e-10) @ centred.T)


@pytest.mark.parametrize("norm", [1.0, 3.0])
def test_the_objective_is_the_norm_of_the_variances_of_least_squares(norm) -> None:
    u = mixed()
    task = problem(u, ALL)
    start = np.random.default_rng(0).random(len(ALL))
    start /= start.sum()
    found = task.energies @ (1 / (task.seen.T @ start))
    exact = variances(u, ALL, start)
    assert (task.counts * found**norm).sum() == pytest.approx((exact**norm).sum(), rel=1e-5)


def test_variances_of_own_cells_are_those_of_the_histogram() -> None:
    u = mixed()
    task = problem(u, (*ALL, 3))
    at_one = task.energies @ (1 / (task.seen.T @ np.ones(len(ALL) + 1)))
    below = np.tri(6, 7)
    expected = ((below - below.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    assert set(np.round(expected, 5)) <= set(np.round(at_one, 5))


@pytest.mark.parametrize("norm", [1.0, 8.0])
def test_no_shares_are_better_than_proved(norm) -> None:
    u = mixed()
    task = problem(u, ALL)
    found = optimise(task, norm=norm)
    assert found.excess <= 0.01
    assert found.values.sum() == pytest.approx(1)

    def objective(logs):
        shares = np.exp(logs) / np.exp(logs).sum()
        return (task.counts * (task.energies @ (1 / (task.seen.T @ shares))) ** norm).sum() ** (
            1 / norm
        )

    other = min(
        minimize(objective, np.random.default_rng(s).normal(size=len(ALL)), method="BFGS").fun
        for s in range(3)
    )
    assert found.objective * (1 - found.excess) <= other * (1 + 1e-9)
    assert found.objective <= other * 1.01


def test_the_proof_is_of_the_shares_it_is_about() -> None:
    """Equal shares of three-way marginals of eight columns are far from the best."""
    task = problem(ways((2,) * 8, 3), tuple(combinations(range(8), 3)))
    assert optimise(task, norm=1.0).excess <= 0.01  # alike by symmetry
    wider = problem(
        ways((2,) * 8, 3), tuple(c for k in (3, 4, 5) for c in combinations(range(8), k))
    )
    narrow = optimise(task, norm=1.0).objective
    assert optimise(wider, norm=1.0).objective < 0.76 * narrow


def test_four_way_marginals_of_eight_columns_in_closed_form() -> None:
    """Variance of a 3-way cell: 4 (1/80 + 3/240 + 3/560) sigma^2, with sigma^2 = 70 alike."""
    task = problem(ways((2,) * 8, 3), tuple(combinations(range(8), 4)))
    found = optimise(task, norm=1.0)
    assert found.objective == pytest.approx(448 * 70 * 4 * (1 / 80 + 3 / 240 + 3 / 560), rel=1e-6)


def test_laplace_shares_descend_from_where_they_start() -> None:
    task = problem(
        ways((2,) * 5, 2), tuple(c for k in (1, 2, 3) for c in combinations(range(5), k))
    )
    start = np.random.default_rng(1).random(len(task.asked)) + 0.1
    start /= start.sum()
    at_start = float((task.counts * (task.energies @ (1 / (task.seen.T @ start**2)))).sum())
    found = optimise(task, norm=1.0, power=2, start=start)
    assert found.objective < 0.8 * at_start
    value = float((task.counts * (task.energies @ (1 / (task.seen.T @ found.values**2)))).sum())
    assert value == pytest.approx(found.objective)


def test_constant_queries_have_no_part_in_it() -> None:
    everything = Boxes((2,), np.array([[0]]), np.array([[2]]))
    cells = marginal((0,), (2, 2))
    with_it = of((2, 2), Block(cells, EachCell(2)), Block(cells, everything))
    assert problem(with_it, ((0,),)).counts.tolist() == [2.0]
