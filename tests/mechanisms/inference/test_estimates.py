"""Values, ratios and simultaneous errors of estimates, on simulated answers."""

from dataclasses import replace
from fractions import Fraction
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


def noisy(answers, noise, rng):
    if isinstance(noise, GaussianNoise):
        return answers + simulate_discrete_gaussian(rng, noise.sigma2, len(answers))
    return answers + simulate_discrete_laplace(rng, noise.scale, len(answers))


def measured(columns, noise, rng=None, transform=HISTOGRAM, cells=None):
    """A table of `CODES`, without noise if there is no generator."""
    cells = cells or marginal(columns, SHAPE)
    answers = transform(count_codes(CODES, [cells])[0])
    return MeasuredTable(
        cells=cells,
        sums=transform.sums(cells.size),
        noise=noise,
        answers=answers if rng is None else noisy(answers, noise, rng),
    )


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
    ("noise", "ratios", "total"),
    [
        ("gaussian", 1500, RECORDS),
        ("laplace", 200, None),
        pytest.param("gaussian", 1500, None, marks=pytest.mark.slow),
        pytest.param("laplace", 200, RECORDS, marks=pytest.mark.slow),
    ],
)
def test_intervals_cover_as_often_as_stated(noise, ratios, total):
    rng, runs, confidence = np.random.default_rng(5), 1500, 0.9
    exact = estimates(NOISES[noise], None, total)
    covered = {"sum": 0, "ratio": 0, "narrow": 0}
    ratio = truth(WEIGHED) / truth(IN_GROUP)
    for run in range(runs):
        tables = [
            replace(one, answers=noisy(one.answers, one.noise, rng)) for one in exact.weights.tables
        ]
        found = replace(exact, weights=replace(exact.weights, tables=tuple(tables)))
        linear = found.interval(FIRST, confidence)
        covered["sum"] += linear.low <= truth(WEIGHED) <= linear.high
        covered["narrow"] += abs(linear.estimate - truth(WEIGHED)) <= 0.8 * (
            linear.high - linear.estimate
        )
        if run < ratios:
            divided = found.ratio(FIRST, LAST, confidence)
            covered["ratio"] += divided.low <= ratio <= divided.high
    for what, times in (("sum", runs), ("ratio", ratios)):
        assert binomtest(covered[what], times, confidence).pvalue > FALSE_POSITIVE_RATE, covered
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


@pytest.mark.parametrize("total", [None, RECORDS])
def test_covariances_are_those_of_the_noise_put_through_the_estimate(total):
    noise = NOISES["gaussian"]
    tables = [measured(pair, noise) for pair in ((0, 1), (0, 2), (1, 2))]

    def found(tables) -> Estimates:
        return Estimator(tuple(tables), total).estimates([WEIGHED, IN_GROUP])

    exact, response = found(tables), []
    for place, one in enumerate(tables):
        for unit in np.eye(len(one.answers), dtype=np.int64):
            moved = replace(one, answers=one.answers + unit)
            response.append(
                found([*tables[:place], moved, *tables[place + 1 :]]).values - exact.values
            )
    covariance = noise.variance * np.transpose(response) @ response
    assert exact.covariance == pytest.approx(covariance, rel=1e-7)
