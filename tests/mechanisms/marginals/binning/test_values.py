"""Single values within bins: spikes come out, noise makes none, and what is left follows pieces."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.marginals.binning import values as module
from hallmark.mechanisms.marginals.binning.bins import Bins
from hallmark.mechanisms.marginals.binning.values import RATE, shares_of_values
from hallmark.mechanisms.marginals.binning.within import shares_within
from tests.builders.columns import line
from tests.mechanisms.marginals.binning.test_standing_out import one_by_one

FALSE_POSITIVE_RATE = 1e-6
SIZE, DRAWS, SIGMA = 2000, 50, 20.0
BINS = Bins.runs(0, (0, 1, 1000), SIZE, False)  # 0 has a bin of its own
PIECES = Bins.runs(0, (0, *range(1, SIZE, 40)), SIZE, False)
EVEN = np.where(np.arange(SIZE) == 0, 5000.0, 0.5)
SPIKES = {7: 400.0, 512: 150.0, 1999: 250.0}


def sums(bins: Bins, counts: Floats) -> Floats:
    return np.bincount(bins.of, counts)


def released(true: Floats, rng: np.random.Generator) -> Floats:
    """Records by value, as shares of bins whose masses are known."""
    within = partial(
        shares_within,
        line("x", PIECES.number),
        BINS.of_pieces(PIECES),
        np.zeros(PIECES.number, dtype=np.int64),
        sigma=2 * SIGMA,
    )
    noisy = np.rint(true + rng.normal(scale=SIGMA, size=SIZE)).astype(np.int64)
    counts = sums(PIECES, true) + rng.normal(scale=2 * SIGMA, size=PIECES.number)
    shares = shares_of_values(BINS, PIECES, noisy, counts, sums(BINS, true), SIGMA, within)
    np.testing.assert_allclose(sums(BINS, shares), 1.0)
    assert (shares >= 0).all()
    return shares * sums(BINS, true)[list(BINS.of)]


def with_spikes() -> Floats:
    true = EVEN.copy()
    true[list(SPIKES)] = list(SPIKES.values())
    return true


def alarms() -> int:
    """Releases of even values in which some value gets ten times what it has."""
    rng = np.random.default_rng(1)
    found = (released(EVEN, rng)[1:].max() > 5 for _ in range(DRAWS))
    return sum(found)


def test_noise_alone_makes_spikes_as_rarely_as_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    assert binom.sf(alarms() - 1, DRAWS, RATE) > FALSE_POSITIVE_RATE
    monkeypatch.setattr(module, "standing_out", one_by_one)  # the wrong twin
    assert binom.sf(alarms() - 1, DRAWS, RATE) < FALSE_POSITIVE_RATE


def test_spikes_come_out_within_the_noise_and_nothing_beside_them() -> None:
    rng, true, invented = np.random.default_rng(2), with_spikes(), 0
    for _ in range(50):
        made = released(true, rng)
        for value, count in SPIKES.items():  # three counts of 50 releases: 7e-7 each way at 5.2
            assert made[value] == pytest.approx(count, abs=5.2 * SIGMA)
        assert made[0] == 5000
        invented += (np.delete(made, [0, *SPIKES]) > 3 * SIGMA).sum()
    assert invented < 50 * len(SPIKES) * 4 * RATE  # four times what is stated on average


def test_what_spikes_leave_is_spread_evenly_over_the_other_values() -> None:
    rng, true = np.random.default_rng(3), with_spikes()
    rest = np.delete(np.arange(SIZE), [0, *SPIKES])
    spread = np.mean([released(true, rng)[rest] for _ in range(30)], axis=0)
    assert spread.mean() == pytest.approx(0.5, abs=0.05)
    assert spread.max() < 4  # a spike that stayed in its piece would make it 10


def test_values_that_stand_out_hold_no_more_than_their_bin() -> None:
    true = EVEN.copy()
    true[1:1000] = 0.0
    true[300] = 2000.0
    masses = np.array([5000.0, 500.0, 500.0])  # as if the bin were known to hold less
    noisy = true.astype(np.int64)

    def even(_: Floats, masses: Floats) -> Floats:
        of = np.array(BINS.of_pieces(PIECES).of)
        return 1.0 / np.bincount(of)[of]

    shares = shares_of_values(BINS, PIECES, noisy, sums(PIECES, true), masses, SIGMA, even)
    assert shares[300] == pytest.approx(1)
    np.testing.assert_allclose(sums(BINS, shares), 1.0)


def test_a_bin_that_holds_nothing_is_filled_evenly() -> None:
    def even(_: Floats, masses: Floats) -> Floats:
        return np.ones(PIECES.number)

    nothing = np.zeros(SIZE, dtype=np.int64)
    counts = np.zeros(PIECES.number)
    shares = shares_of_values(BINS, PIECES, nothing, counts, np.zeros(3), SIGMA, even)
    np.testing.assert_allclose(shares[1000:], 1 / 1000)
