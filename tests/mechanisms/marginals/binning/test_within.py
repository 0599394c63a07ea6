"""How a histogram spreads records within bins: limits of the noise, spikes, kinds, categories."""

import numpy as np
import pytest

from hallmark.mechanisms.domain.domain import Attribute, Kind
from hallmark.mechanisms.marginals.binning import within
from hallmark.mechanisms.marginals.binning.bins import Bins
from hallmark.mechanisms.marginals.binning.within import shares_within
from tests.builders.columns import line, nominal

LINE = line("x", 64)  # real numbers, in cells of one width
BINS = Bins.runs(0, tuple(range(0, 64, 16)), 64, False)
ALIKE = np.zeros(64, dtype=np.int64)


def sums(bins: Bins, counts: np.ndarray) -> np.ndarray:
    return np.bincount(bins.of, counts, minlength=bins.number)


@pytest.mark.parametrize("attribute", [LINE, nominal("c", 64)])
def test_without_noise_shares_are_what_was_counted(attribute: Attribute) -> None:
    counts = np.random.default_rng(0).integers(1, 100, 64).astype(float)
    found = shares_within(attribute, BINS, ALIKE, counts, sums(BINS, counts), 0.0)
    expected = counts / sums(BINS, counts)[list(BINS.of)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_in_noise_alone_values_lie_evenly() -> None:
    rng = np.random.default_rng(1)
    counts = rng.normal(scale=1000.0, size=64)
    found = shares_within(LINE, BINS, ALIKE, counts, np.full(4, 100.0), 1000.0)
    # The masses are a tenth of the noise, so signals are cut off: evenly, but for a few splits.
    np.testing.assert_allclose(sums(BINS, found), 1.0)
    flat = shares_within(LINE, BINS, ALIKE, np.full(64, 6.25), np.full(4, 100.0), 1000.0)
    np.testing.assert_allclose(flat, 1 / 16, atol=1e-3)


def test_wider_cells_hold_more_where_nothing_else_is_seen() -> None:
    widths = np.array([0.1, 0.2, 0.3, 0.4])
    skewed = Attribute(
        name="x",
        kind=Kind.NUMERIC,
        positions=np.cumsum(widths) - widths / 2,
        widths=widths,
    )
    bins = Bins.runs(0, (0, 2), 4, False)
    found = shares_within(skewed, bins, ALIKE[:4], np.zeros(4), np.array([30.0, 70.0]), 1e6)
    np.testing.assert_allclose(found, [1 / 3, 2 / 3, 3 / 7, 4 / 7], rtol=1e-3)


def test_a_spike_far_out_of_the_noise_is_kept_and_the_rest_is_smooth() -> None:
    rng = np.random.default_rng(2)
    true = np.full(64, 50.0)
    true[37] = 2000.0
    errors, raw = [], []
    for _ in range(20):
        counts = true + rng.normal(scale=60.0, size=64)
        found = shares_within(LINE, BINS, ALIKE, counts, sums(BINS, true), 60.0)
        made = found * sums(BINS, true)[list(BINS.of)]
        assert made[37] == pytest.approx(2000, abs=300)  # five deviations of the noise
        errors.append(np.abs(np.delete(made - true, 37)).mean())
        raw.append(np.abs(np.delete(counts - true, 37)).mean())
    assert np.mean(errors) < np.mean(raw) / 2


def test_kinds_tell_each_other_what_no_cell_could_tell_alone() -> None:
    """Every fourth cell holds nine tenths of its stretch; each by itself drowns in the noise."""
    attribute, bins = line("x", 800), Bins.runs(0, tuple(range(0, 800, 80)), 800, False)
    kinds = (np.arange(800) % 4 == 0).astype(np.int64)
    true = np.where(kinds == 1, 90.0, 10 / 3)
    rng = np.random.default_rng(3)
    counts = true + rng.normal(scale=60.0, size=800)
    found = shares_within(attribute, bins, kinds, counts, sums(bins, true), 60.0)
    held = (found * sums(bins, true)[list(bins.of)])[kinds == 1].sum() / true.sum()
    assert held == pytest.approx(0.9, abs=0.1)


def rounded(rate: float, monkeypatch: pytest.MonkeyPatch) -> int:
    """Releases of even values, of 40, in which round cells get half as much again."""
    monkeypatch.setattr(within, "_RATE", rate)
    edges = np.append(np.arange(0, 800, 10), 800) / 800  # a round number, and what lies between
    edges = np.sort(np.append(edges, edges[:-1] + 1 / 800))
    attribute = Attribute(
        name="x",
        kind=Kind.NUMERIC,
        positions=(edges[:-1] + edges[1:]) / 2,
        widths=np.diff(edges),
    )
    bins, kinds = Bins.runs(0, tuple(range(0, 160, 16)), 160, False), 1 - np.arange(160) % 2
    true, rng, found = 4000 * np.diff(edges), np.random.default_rng(5), 0
    for _ in range(40):
        counts = true + rng.normal(scale=60.0, size=160)
        shares = shares_within(attribute, bins, kinds, counts, sums(bins, true), 60.0)
        made = shares * sums(bins, true)[list(bins.of)]
        found += made[kinds == 1].sum() > 1.5 * true[kinds == 1].sum()
    return found


def test_noise_makes_no_round_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes all noise for people's rounding finds some in a third of the releases."""
    assert rounded(0.01, monkeypatch) <= 5  # of 40, each with a chance of about 1 %: 4e-6
    assert rounded(1.0, monkeypatch) > 8


def test_codes_of_a_group_have_their_own_counts() -> None:
    rng = np.random.default_rng(4)
    of = tuple(int(group) for group in rng.permutation(np.repeat(np.arange(4), 16)))
    bins = Bins(0, of, False)
    true = np.where(rng.random(64) < 0.3, 500.0, 5.0)
    counts = true + rng.normal(scale=30.0, size=64)
    found = shares_within(nominal("c", 64), bins, ALIKE, counts, sums(bins, true), 30.0)
    np.testing.assert_allclose(sums(bins, found), 1.0)
    made = found * sums(bins, true)[list(of)]
    assert np.abs(made - true)[true == 500].max() < 5 * 30 + 60
    assert (made >= 0).all()


def test_a_bin_in_which_nothing_was_counted_is_filled_evenly() -> None:
    counts = np.zeros(64)
    counts[20:40] = 100.0
    found = shares_within(LINE, BINS, ALIKE, counts, sums(BINS, counts), 0.0)
    np.testing.assert_allclose(found[:16], 1 / 16)
