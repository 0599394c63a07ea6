"""The estimated error against the true one, for a release whose error is known in closed form."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.queries import GaussianNoise
from hallmark.mechanisms.privacy.transforms import HISTOGRAM, Sums
from hallmark.mechanisms.replicates.calibration import (
    _factor,
    _known,
    calibrated,
    slope,
    untold,
)
from hallmark.mechanisms.replicates.pairs import MOST_CELLS, PairTables
from hallmark.mechanisms.replicates.rerun import Rerun

SHAPE = (6, 5)
PAIRS = PairTables((0, 1), SHAPE)
SIGMA2 = Fraction(400)
SIGMA = float(SIGMA2) ** 0.5
EVEN = np.full(30, 100.0)
ALONG = slope(PAIRS, 0).ravel()
KEPT = 0.5  # of what was measured beyond an even table; the rest is taken for noise


def table(answers: np.ndarray) -> MeasuredTable:
    cells = marginal((0, 1), SHAPE)
    return MeasuredTable(
        cells=cells,
        sums=HISTOGRAM.sums(cells.size),
        noise=GaussianNoise(SIGMA2),
        answers=np.rint(answers).astype(np.int64),
    )


def shrunk(noisy: np.ndarray) -> np.ndarray:
    return EVEN + KEPT * (noisy - EVEN)


def release(truth: np.ndarray, rng: np.random.Generator, reruns: int = 200):
    """Noisy answers, what the release says, and reruns on what it says."""
    noisy = truth + SIGMA * rng.normal(size=30)
    released = shrunk(noisy)
    again = released + SIGMA * rng.normal(size=(reruns, 30))
    return noisy, released, [Rerun(shrunk(y), np.rint(y).astype(np.int64)) for y in again]


def test_the_estimated_error_is_the_true_one_on_average():
    """(1 - KEPT)^2 |truth - even|^2 + KEPT^2 noise; a rerun's change is too small on average."""
    rng = np.random.default_rng(1)
    truth = EVEN + 60 * rng.normal(size=30)
    expected = (1 - KEPT) ** 2 * np.square(truth - EVEN).sum() + KEPT**2 * 30 * SIGMA**2
    found = []
    for _ in range(60):
        noisy, released, reruns = release(truth, rng)
        changes = [one.tables - released for one in reruns]
        known, _ = _known(PAIRS, [table(noisy)], reruns)
        stretch = _factor(known, released, released, changes)
        found.append(stretch**2 * np.mean([change @ change for change in changes]))
    error = np.std(found, ddof=1) / len(found) ** 0.5
    assert abs(np.mean(found) - expected) < 5 * error  # 6e-7 by the normal law
    assert np.mean([np.square(one.tables - released).sum() for one in reruns]) < 0.6 * expected


def test_the_estimated_error_along_a_pair_is_the_true_one_on_average():
    """A generator that keeps half of a covariance, and of its noise, and all of the rest."""
    rng = np.random.default_rng(4)
    truth, expected = EVEN + 3 * SIGMA * ALONG, (9 + 1) * SIGMA**2 / 4
    found = []
    for _ in range(150):
        noisy = truth + SIGMA * rng.normal(size=30)
        released = half_along(noisy)
        again = released + SIGMA * rng.normal(size=(40, 30))
        reruns = [Rerun(half_along(y), np.rint(y).astype(np.int64)) for y in again]
        factors = calibrated(
            PAIRS, [table(noisy)], None, released=released, stood_for=released, reruns=reruns
        )
        moved = [(one.tables - released) @ ALONG for one in reruns]
        found.append(factors.slopes[0] ** 2 * np.mean(np.square(moved)))
    error = np.std(found, ddof=1) / len(found) ** 0.5
    assert abs(np.mean(found) - expected) < 5 * error  # 6e-7 by the normal law


def half_along(table: np.ndarray) -> np.ndarray:
    return table - ((table - EVEN) @ ALONG) * ALONG / 2


def test_reruns_that_spread_enough_are_left_alone():
    """All that is measured is kept, so the error is the noise alone."""
    rng = np.random.default_rng(2)
    noisy = EVEN + SIGMA * rng.normal(size=30)
    again = noisy + SIGMA * rng.normal(size=(50, 30))
    own = SIGMA * rng.normal(size=(50, 30))  # of the generator, beside that of the noise
    reruns = [Rerun(y + z, np.rint(y).astype(np.int64)) for y, z in zip(again, own, strict=True)]
    found = calibrated(PAIRS, [table(noisy)], None, released=noisy, stood_for=noisy, reruns=reruns)
    assert found.stretch == 1.0
    assert found.slopes[0] == pytest.approx(1.0, abs=0.3)


def test_lost_covariance_is_seen_and_stretches_that_direction_alone():
    """The release keeps the noise of everything, but nothing of a strong covariance."""
    rng = np.random.default_rng(3)
    truth = EVEN + 300 * ALONG
    noisy = truth + SIGMA * rng.normal(size=30)

    def without_slope(table: np.ndarray) -> np.ndarray:
        away = table - EVEN
        return EVEN + away - 0.9 * (away @ ALONG) * ALONG

    released = without_slope(noisy)
    again = released + SIGMA * rng.normal(size=(80, 30))
    reruns = [Rerun(without_slope(y), np.rint(y).astype(np.int64)) for y in again]
    found = calibrated(
        PAIRS, [table(noisy)], None, released=released, stood_for=released, reruns=reruns
    )
    changes = np.array([one.tables - released for one in reruns])
    stretched = np.array([found.stretched(change) for change in changes])
    along = np.sqrt(np.mean((stretched @ ALONG) ** 2))
    assert along == pytest.approx(abs((released - truth) @ ALONG), rel=0.2)
    rest = stretched - np.outer(stretched @ ALONG, ALONG)
    before = changes - np.outer(changes @ ALONG, ALONG)
    np.testing.assert_allclose(rest, found.stretch * before, atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, True),
        ({"conditional": True}, False),  # asked because of answers: a rerun may not ask it
        ({"sums": Sums(np.arange(30) // 15, np.ones(30, dtype=np.int64), 2)}, False),
        ({"sums": Sums(np.arange(30), np.full(30, 2), 30)}, True),
    ],
    ids=["whole", "chosen", "two groups", "weighted"],
)
def test_which_pairs_are_told_for_certain(changes, told):
    tables = [replace(table(EVEN), **changes)]
    if "sums" in changes:
        entries = changes["sums"].entries
        tables = [replace(tables[0], answers=np.zeros(entries, dtype=np.int64))]
    assert untold(PAIRS, tables) == (None if told else (0, 1))


def test_a_pair_is_told_where_its_cells_are_merged_for_the_replicates():
    shape = (MOST_CELLS + 1, 5)
    cells = marginal((0, 1), shape)
    sums, answers = HISTOGRAM.sums(cells.size), np.zeros(cells.size, dtype=np.int64)
    whole = MeasuredTable(cells=cells, sums=sums, noise=GaussianNoise(SIGMA2), answers=answers)
    assert untold(PairTables((0, 1), shape), [whole]) is None


BINS = {0: (0, 0, 1, 1, 2, 2)}


def in_bins(answers: np.ndarray) -> MeasuredTable:
    """The table of both columns, the first in bins."""
    one = table(np.zeros(30))
    cells = marginal((0, 1), (3, 5)).after({0: (0, np.array(BINS[0]))})
    noisy = np.rint(answers).astype(np.int64)
    return replace(one, cells=cells, sums=HISTOGRAM.sums(15), answers=noisy)


def histogram(answers: np.ndarray) -> MeasuredTable:
    cells = marginal((0,), SHAPE)
    noisy = np.rint(answers).astype(np.int64)
    return replace(table(EVEN), cells=cells, sums=HISTOGRAM.sums(6), answers=noisy)


def test_pairs_in_bins_are_told_by_tables_of_bins():
    binned = PairTables((0, 1), SHAPE, BINS)
    measured = [in_bins(np.zeros(15)), histogram(np.zeros(6))]
    assert untold(binned, measured) is None
    assert untold(binned, measured[1:]) == (0, 1)
    assert untold(PAIRS, measured) == (0, 1)


def test_what_is_lost_within_bins_is_seen_and_stretches_that_alone():
    """Bins keep all of their noise; their cells are made alike, whatever their histogram says."""
    rng = np.random.default_rng(5)
    binned = PairTables((0, 1), SHAPE, BINS)
    truth = np.array([700.0, 300, 600, 400, 900, 100])

    def tables(of_bins: np.ndarray) -> np.ndarray:
        return np.concatenate([of_bins, np.repeat(of_bins.reshape(3, 5).sum(axis=1) / 2, 2)])

    noisy = np.full(15, 200.0) + SIGMA * rng.normal(size=15)
    released = tables(noisy)
    reruns = []
    for _ in range(100):
        again = noisy + SIGMA * rng.normal(size=15)
        own = released[15:] + SIGMA * rng.normal(size=6)
        reruns.append(Rerun(tables(again), np.rint(np.concatenate([again, own])).astype(np.int64)))
    measured = [in_bins(noisy), histogram(truth + SIGMA * rng.normal(size=6))]
    found = calibrated(binned, measured, None, released=released, stood_for=released, reruns=reruns)
    assert found.stretch == pytest.approx(1.0, abs=0.3)
    assert found.within[0] > 4
    for one in reruns[:3]:
        change = one.tables - released
        change[15:] += [3.0, -3, 2, -2, 1, -1]
        stretched = found.stretched(change)
        own, in_pairs = stretched[15:], stretched[:15].reshape(3, 5).sum(axis=1)
        np.testing.assert_allclose(own.reshape(3, 2).sum(axis=1), in_pairs)
        np.testing.assert_allclose(np.diff(own)[::2], found.within[0] * np.array([-6.0, -4, -2]))


def test_what_was_not_measured_is_left_alone():
    rng = np.random.default_rng(4)
    changes = [Rerun(EVEN + rng.normal(size=30), np.empty(0, dtype=np.int64)) for _ in range(3)]
    found = calibrated(PAIRS, [], 3000, released=EVEN, stood_for=EVEN, reruns=changes)
    assert found.stretch == 1.0
    np.testing.assert_array_equal(found.slopes, [1.0])
    np.testing.assert_allclose(found.stretched(changes[0].tables), changes[0].tables)
