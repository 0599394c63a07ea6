"""Estimates under facts against dense least squares with Lagrange multipliers."""

from fractions import Fraction

import numpy as np
import pytest

from hallmark.mechanisms.inference.blue import LinearQuery
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.given import given
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.privacy.cells import count_codes, marginal
from hallmark.mechanisms.privacy.queries import GaussianNoise
from hallmark.mechanisms.privacy.simulation import simulate_discrete_gaussian
from hallmark.mechanisms.privacy.transforms import HISTOGRAM
from tests.builders.codes import dependent_codes

SHAPE, RECORDS = (3, 2, 4), 400
CODES = dependent_codes(SHAPE, RECORDS)
QUERIES = [
    LinearQuery((0,), np.array([1.0, 0, 2])),
    LinearQuery((0, 2), np.arange(12.0).reshape(3, 4)),
]
ROW = LinearQuery((0, 1), np.array([[1.0, 1], [0, 0], [0, 0]]))
CELL = LinearQuery((0, 2), np.eye(3, 4, k=1))


def truth(query: LinearQuery) -> float:
    return float(query.values[tuple(CODES[:, column] for column in query.columns)].sum())


def tables(seed: int) -> tuple[MeasuredTable, ...]:
    rng, found = np.random.default_rng(seed), []
    for columns, sigma2 in [((0, 1), 9), ((0, 2), 25), ((1, 2), 4)]:
        cells = marginal(columns, SHAPE)
        (counts,) = count_codes(CODES, [cells])
        noise = simulate_discrete_gaussian(rng, Fraction(sigma2), len(counts))
        found.append(
            MeasuredTable(
                cells=cells,
                sums=HISTOGRAM.sums(cells.size),
                noise=GaussianNoise(Fraction(sigma2)),
                answers=counts + noise,
            )
        )
    return tuple(found)


def dense(query: LinearQuery) -> np.ndarray:
    """The query on all combinations of codes."""
    grid = np.indices(SHAPE).reshape(3, -1)
    return query.values[tuple(grid[column] for column in query.columns)]


def constrained(measured, facts, total) -> tuple[np.ndarray, np.ndarray]:
    """Values and variances of the queries by least squares over tables x that obey the facts."""
    rows, answers, sigmas = [], [], []
    for one in measured:
        for number, answer in enumerate(one.answers):
            unit = np.zeros(one.cells.size)
            unit[number] = 1
            rows.append(
                dense(LinearQuery(one.columns, unit.reshape([SHAPE[c] for c in one.columns])))
            )
            answers.append(answer)
            sigmas.append(one.sigma)
    design = np.array(rows) / np.array(sigmas)[:, None]
    known = [dense(query) for query in facts]
    values = [truth(query) for query in facts]
    if total is not None:
        known, values = [*known, np.ones(24)], [*values, float(total)]
    held = np.array(known).reshape(len(known), 24)
    # x = x0 + N z, with N the null space of the facts
    x0 = np.linalg.lstsq(held, np.array(values), rcond=None)[0] if known else np.zeros(24)
    null = np.linalg.svd(held)[2][np.linalg.matrix_rank(held) :].T if known else np.eye(24)
    reduced = design @ null
    inverse = np.linalg.pinv(reduced.T @ reduced)
    z = inverse @ reduced.T @ (np.array(answers) / np.array(sigmas) - design @ x0)
    asked = np.array([dense(query) for query in QUERIES])
    spread = asked @ null
    return asked @ (x0 + null @ z), np.diag(spread @ inverse @ spread.T)


@pytest.mark.parametrize("total", [None, RECORDS])
@pytest.mark.parametrize("facts", [[ROW], [CELL], [ROW, CELL, ROW]], ids=["row", "cell", "twice"])
def test_estimates_and_variances_are_those_of_constrained_least_squares(facts, total):
    measured = tables(1)
    estimates = Estimator(measured, total).estimates([*QUERIES, *facts])
    found = given(estimates, np.array([truth(fact) for fact in facts]))
    values, variances = constrained(measured, facts, total)
    assert found.values == pytest.approx(values, rel=1e-7)
    assert np.diag(found.covariance) == pytest.approx(variances, rel=1e-7)
    before, after = np.diag(estimates.covariance)[:2], np.diag(found.covariance)
    assert (after <= before * (1 + 1e-9)).all()
    assert after[1] < before[1]


def test_a_fact_itself_is_known_exactly():
    estimates = Estimator(tables(2), None).estimates([ROW, ROW])
    found = given(estimates, np.array([truth(ROW)]))
    interval = found.interval(np.array([1.0]), 0.95)
    assert interval.estimate == interval.low == interval.high == pytest.approx(truth(ROW))
