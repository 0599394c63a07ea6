"""Reruns of every kind of mechanism, and how often intervals from them hold on a small table."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

from hallmark.mechanisms.contract import Measurements, SyntheticMeasure
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.inference.transcript import Transcribing
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.registry import MECHANISMS, planned
from hallmark.mechanisms.replicates.calibration import calibrated
from hallmark.mechanisms.replicates.estimates import from_replicates
from hallmark.mechanisms.replicates.pairs import PairTables
from hallmark.mechanisms.replicates.rerun import Rerunning, as_many, asked_first, side_by_side
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.mechanisms.replicates.weights import Weighing, drawn
from hallmark.mechanisms.request import Request
from tests.builders.codes import dependent_codes
from tests.builders.columns import line

FALSE_POSITIVE_RATE = 1e-6
DOMAIN = Domain((line("x", 6), line("y", 5), line("z", 4)))
PAIRS = PairTables((0, 1, 2), DOMAIN.shape)
CODES = dependent_codes(DOMAIN.shape, 2000)
QUICK = {
    "privpgd": {"generator": {"method": "noise-aware", "latent": {"members": 1, "classes": 8}}},
    "aim": {"selection": {"rounds_cap": 2}},
}


def plan_of(name, adjacency=Neighbours.REPLACE_ONE, **parameters):
    return planned(
        MECHANISMS[name],
        Request(
            domain=DOMAIN,
            budget=Budget(epsilon=Fraction(1), delta=Fraction(0 if name == "pmm-h" else "1e-5")),
            adjacency=Adjacency(neighbours=adjacency),
            expected_records=len(CODES),
            parameters=parameters,
        ),
    )


def released(name, plan, rng):
    """Records of a release with simulated noise, and its transcript."""
    mechanism = MECHANISMS[name]
    curator = Transcribing(SimulatedCurator(codes=CODES, adjacency=plan.adjacency, rng=rng))
    measurements = mechanism.measure(curator, plan, mechanism.select(curator, plan))
    return generated(mechanism, plan, measurements, rng).codes, curator.transcript


def generated(mechanism, plan, measurements: Measurements, rng) -> SyntheticMeasure:
    return mechanism.generate(plan, measurements, rows=None, rng=rng)


def rerunning(name, plan, records):
    mechanism = MECHANISMS[name]
    return Rerunning(
        mechanism=mechanism,
        plan=plan,
        records=records,
        pairs=PAIRS,
        generate=lambda told, rng: generated(mechanism, plan, told, rng),
    )


@pytest.mark.parametrize("records", [1, 7, 10, 25])
def test_records_are_taken_equally_often(records):
    codes = np.arange(10)[:, None]
    times = np.bincount(as_many(codes, records, np.random.default_rng(1))[:, 0], minlength=10)
    assert times.sum() == records
    assert times.max() - times.min() <= 1


@pytest.mark.parametrize("adjacency", Neighbours)
@pytest.mark.parametrize("name", ["privpgd", "aim", "pmm-h"])
def test_a_rerun_asks_what_the_release_asked_first_and_counts_as_many_records(name, adjacency):
    """One that drafts, one that chooses on answers, and one that makes records."""
    plan = plan_of(name, adjacency, **QUICK.get(name, {}))
    records, transcript = released(name, plan, np.random.default_rng(1))
    again = rerunning(name, plan, records)
    one = again.rerun(np.random.default_rng(2))
    asked = side_by_side(asked_first(transcript.tables()))
    assert one.answers.shape == asked.shape
    sums = [PAIRS.table(one.tables, number).sum() for number in range(3)]
    assert sums == pytest.approx([len(records)] * 3, rel=0.02)
    same = again.rerun(np.random.default_rng(2))
    np.testing.assert_array_equal(one.tables, same.tables)
    assert (again.rerun(np.random.default_rng(3)).tables != one.tables).any()


@pytest.mark.slow
def test_intervals_hold_about_as_often_as_they_say():
    """Means, a correlation and shares of three columns' ranges in 40 releases. They depend on each
    other within a release, so each statistic is tested by itself; 80 % must be possible."""
    plan, confidence, releases = plan_of("privpgd", **QUICK["privpgd"]), 0.95, 40
    statistics = {
        "mean": lambda c, w: np.average(c[:, 0], weights=w),
        "correlation": lambda c, w: (
            np.cov(c[:, :2], rowvar=False, aweights=w)[0, 1]
            / np.sqrt(np.prod(np.diag(np.cov(c[:, :2], rowvar=False, aweights=w))))
        ),
        "share": lambda c, w: np.average((c[:, 0] > 2) & (c[:, 1] > 1), weights=w),
    }
    held = dict.fromkeys(statistics, 0)
    for seed in range(releases):
        records, transcript = released("privpgd", plan, np.random.default_rng([1, seed]))
        again = rerunning("privpgd", plan, records)
        reruns = [again.rerun(np.random.default_rng([2, seed, r])) for r in range(20)]
        own, size = PAIRS.counts(records), len(records)
        calibration = calibrated(
            PAIRS, tuple(transcript.tables()), transcript.total,
            released=own, stood_for=own, reruns=reruns,
        )  # fmt: skip
        weighing = Weighing.of(PAIRS, records, weight=1.0, urgent=calibration.slopes)
        starts = [drawn(size, size, np.random.default_rng([3, seed, r])) for r in range(20)]
        tables = [own + calibration.stretched(r.tables - own) for r in reruns]
        weights = weighing.weights(tables, np.column_stack(starts))
        for name, statistic in statistics.items():
            truth = statistic(CODES, np.ones(len(CODES)))
            estimate = statistic(records, np.ones(len(records)))
            values = np.array([statistic(records, w) for w in weights.T])
            found = from_replicates(float(estimate), values, confidence)
            held[name] += found.low <= truth <= found.high
    for name, times in held.items():
        chance = binomtest(times, releases, 0.8, alternative="less").pvalue
        assert chance > FALSE_POSITIVE_RATE, (name, times)


def test_an_interval_is_students_about_the_estimate():
    found = from_replicates(10.0, np.array([12.0, 12.0, 8.0, 12.0]), 0.95)
    assert found.deviation == pytest.approx(2.0)
    assert found.high - 10 == pytest.approx(2.776 * 2, rel=1e-3)  # of 4 degrees
    assert found.low == pytest.approx(20 - found.high)


@pytest.mark.parametrize("again", [[], [1.0, np.nan]])
def test_without_a_value_of_every_replicate_nothing_is_known(again):
    found = from_replicates(1.0, np.array(again), 0.95)
    assert (found.estimate, found.low, found.high) == (1.0, -np.inf, np.inf)
