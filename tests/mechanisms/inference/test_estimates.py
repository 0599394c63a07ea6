"""Values, ratios and simultaneous errors of estimates, on simulated answers."""

from fractions import Fraction
from itertools import product
from math import inf, isnan

import numpy as np
import pytest
from scipy.stats import binomtest

from hallmark.mechanisms.inference.blue import LinearQuery
from hallmark.mechanisms.inference.estimates import Estimates
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.privacy.cells import CellMap, count_codes, marginal
from hallmark.mechanisms.privacy.queries import GaussianNoise, LaplaceNoise
from hallmark.mechanisms.privacy.simulation import (
    simulate_discrete_gaussian,
    simulate_discrete_laplace,
)
from hallmark.mechanisms.privacy.transforms import HISTOGRAM, LevelDifferences, Total
from tests.builders.codes import dependent_codes

SHAPE = (4, 3, 2)
FALSE_POSITIVE_RATE = 1e-6
RECORDS = 300
CODES = dependent_codes(SHAPE, RECORDS)
FIRST, LAST = np.array([1.0, 0]), np.array([0, 1.0])


def measured(columns, noise, rng=None, transform=HISTOGRAM, cells=None):
    """A table of `CODES`, without noise if there is no generator."""
    cells = cells or marginal(columns, SHAPE)
    answers = transform(count_codes(CODES, [cells])[0])
    if rng is not None and isinstance(noise, GaussianNoise):
        answers = answers + simulate_discrete_gaussian(rng, noise.sigma2, len(answers))
    elif rng is not None:
        answers = answers + simulate_discrete_laplace(rng, noise.scale, len(answers))
    sums = transform.sums(cells.size)
    return MeasuredTable(cells=cells, sums=sums, noise=noise, answers=answers)


NOISES = {"gaussian": GaussianNoise(Fraction(30)), "laplace": LaplaceNoise(Fraction(4))}
IN_GROUP = LinearQuery((0, 1), np.outer([1.0, 1, 0, 0], [0, 1.0, 1]))
WEIGHED = LinearQuery((0, 1), np.outer([1.0, 1, 0, 0], [0, 10.0, 20]))


def estimates(noise, rng, total=RECORDS):
    tables = [measured(pair, noise, rng) for pair in ((0, 1), (0, 2), (1, 2))]
    return Estimator(tuple(tables), total).estimates([WEIGHED, IN_GROUP])


def truth(query):
    return float(query.values[tuple(CODES[:, column] for column in query.columns)].sum())


def test_answers_without_noise_give_the_exact_values():
    found = estimates(NOISES["gaussian"], None)
    assert found.values == pytest.approx([truth(WEIGHED), truth(IN_GROUP)])


@pytest.mark.parametrize(
    ("noise", "total"),
    [
        pytest.param(*pair, marks=pytest.mark.slow if pair == ("laplace", RECORDS) else ())
        for pair in product(NOISES, (None, RECORDS))
    ],
)
def test_intervals_cover_as_often_as_stated(noise, total):
    rng, runs, confidence = np.random.default_rng(5), 1500, 0.9
    covered = {"sum": 0, "ratio": 0, "narrow": 0}
    ratio = truth(WEIGHED) / truth(IN_GROUP)
    for _ in range(runs):
        found = estimates(NOISES[noise], rng, total)
        linear = found.interval(FIRST, confidence)
        divided = found.ratio(FIRST, LAST, confidence)
        covered["sum"] += linear.low <= truth(WEIGHED) <= linear.high
        covered["ratio"] += divided.low <= ratio <= divided.high
        covered["narrow"] += abs(linear.estimate - truth(WEIGHED)) <= 0.8 * (
            linear.high - linear.estimate
        )
    for what in ("sum", "ratio"):
        assert binomtest(covered[what], runs, confidence).pvalue > FALSE_POSITIVE_RATE, covered
    assert binomtest(covered["narrow"], runs, confidence).pvalue < FALSE_POSITIVE_RATE


def test_a_ratio_over_what_may_be_0_is_unknown():
    found = estimates(GaussianNoise(Fraction(10**8)), np.random.default_rng(1))
    interval = found.ratio(FIRST, LAST, 0.95)
    assert (interval.low, interval.high) == (-inf, inf)
    assert isnan(interval.estimate)


def test_a_ratio_is_where_neither_side_is_refuted():
    found = estimates(NOISES["gaussian"], np.random.default_rng(3))
    interval = found.ratio(FIRST, LAST, 0.95)
    for end in (interval.low, interval.high):
        rest = FIRST - end * LAST
        assert abs(rest @ found.values) == pytest.approx(found.half_width(rest, 0.95), rel=1e-6)


def test_more_tables_never_widen_an_interval_and_twice_the_same_narrows_it_by_root_2():
    table = measured((0, 1), NOISES["gaussian"])
    once = Estimator((table,), None).estimates([IN_GROUP])
    twice = Estimator((table, table), None).estimates([IN_GROUP])
    with_more = Estimator((table, measured((1, 2), NOISES["gaussian"])), None).estimates([IN_GROUP])
    one = np.ones(1)
    assert twice.half_width(one, 0.95) == pytest.approx(once.half_width(one, 0.95) / 2**0.5)
    assert with_more.half_width(one, 0.95) < once.half_width(one, 0.95)


def test_a_table_on_too_many_columns_is_looked_at_on_its_own_cells(monkeypatch):
    monkeypatch.setattr("hallmark.mechanisms.inference.estimator.MOST_COMBINATIONS", 10)
    # Cells of pairs of codes of the first column: they decide its halves, and not its codes.
    halves = CellMap((0, 2), (np.array([0, 0, 2, 2]), np.array([0, 1])), 4)
    noise = NOISES["laplace"]
    tables = (
        measured((0, 2), noise, transform=LevelDifferences(0), cells=halves),
        measured((0, 2), noise, transform=LevelDifferences(1), cells=halves),
        measured((0, 2), noise, transform=Total(), cells=halves),
    )
    monkeypatch.setattr("hallmark.mechanisms.inference.estimator.MOST_COMBINATIONS", 7)
    estimator = Estimator(tables, None)
    half = LinearQuery((0,), np.array([1.0, 1, 0, 0]))
    assert estimator.estimates([half]).values == pytest.approx([truth(half)])
    with pytest.raises(ValueError, match="nothing"):
        estimator.estimates([LinearQuery((0,), np.array([1.0, 0, 0, 0]))])


def test_covariances_are_those_of_simulated_answers():
    rng = np.random.default_rng(2)
    values = np.array([estimates(NOISES["gaussian"], rng).values for _ in range(3000)])
    found: Estimates = estimates(NOISES["gaussian"], None)
    assert np.cov(values.T) == pytest.approx(found.covariance, rel=0.15)
