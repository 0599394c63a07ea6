"""Kept statistics of the noise: ranks that survive reuse, and a cache that never lies."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.mechanisms.certificates.quantiles import (
    REUSE_DOUBT,
    conditional_rank,
    kept_statistics,
    least_draws,
    tolerance_rank,
)
from hallmark.mechanisms.compute import SERIAL, Serial
from hallmark.mechanisms.privacy.simulation import conformal_rank

FALSE_POSITIVE_RATE = 1e-6
REPETITIONS = 20_000
DIGEST = "ab" * 32


# Ranks


@pytest.mark.parametrize(
    ("draws", "level", "doubt", "rank"),
    [
        (200, 0.9, 0.05, 188),
        (200, 0.9, 0.01, 190),
        (200, 0.95, 0.05, 196),
        (200, 0.95, 0.01, 197),
        (1000, 0.9, 0.05, 916),
        (1000, 0.9, 0.01, 922),
        (1000, 0.95, 0.05, 962),
        (1000, 0.95, 0.01, 966),
    ],
)
def test_the_rank_is_the_tolerance_limit_of_known_tables(draws, level, doubt, rank) -> None:
    assert tolerance_rank(draws, level=level, doubt=doubt) == rank
    assert binom.cdf(rank - 1, draws, level) >= 1 - doubt > binom.cdf(rank - 2, draws, level)


def test_the_doubt_is_part_of_the_stated_failure_probability() -> None:
    doubt = REUSE_DOUBT * 0.1
    assert conditional_rank(200, 0.9) == tolerance_rank(200, level=0.9 + doubt, doubt=doubt) == 192


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_the_least_number_of_draws_is_just_enough(confidence) -> None:
    least = least_draws(confidence)
    assert conditional_rank(least, confidence) == least
    with pytest.raises(ValueError, match=f"needs at least {least} draws, not {least - 1}"):
        conditional_rank(least - 1, confidence)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.1, 90.0])
def test_a_confidence_outside_of_zero_and_one_is_refused(confidence) -> None:
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        conditional_rank(200, confidence)


def uniform_draws(draws: int) -> np.ndarray:
    """Sorted, so that the i-th smallest is the level that it lies at; (repetitions, draws)."""
    return np.sort(np.random.default_rng(31).random((REPETITIONS, draws)), axis=1)


@pytest.mark.parametrize(("draws", "confidence"), [(200, 0.9), (150, 0.95)])
def test_kept_draws_are_seldom_bad_for_all_the_releases_that_use_them(draws, confidence) -> None:
    level = uniform_draws(draws)[:, conditional_rank(draws, confidence) - 1]
    bad = int((level < confidence).sum())
    doubt = REUSE_DOUBT * (1 - confidence)
    assert binom.sf(bad - 1, REPETITIONS, doubt) > FALSE_POSITIVE_RATE


def test_the_rank_for_fresh_draws_is_often_bad_for_releases_that_share_them() -> None:
    """Why there are two ranks: half of all caches would serve every release too little."""
    level = uniform_draws(200)[:, conformal_rank(200, 0.9) - 1]
    bad = int((level < 0.9).sum())
    assert binom.sf(bad - 1, REPETITIONS, REUSE_DOUBT) < FALSE_POSITIVE_RATE


def coverage(bounds: np.ndarray, confidence: float) -> float:
    """Probability of as many misses among as many releases, each with its own draws, or more."""
    fresh = np.random.default_rng(32).random(REPETITIONS)
    missed = int((fresh > bounds).sum())
    return float(binom.sf(missed - 1, REPETITIONS, 1 - confidence))


@pytest.mark.parametrize("draws", [22, 49])
def test_both_ranks_cover_a_fresh_draw_as_often_as_stated(draws) -> None:
    levels = uniform_draws(draws)
    assert coverage(levels[:, conformal_rank(draws, 0.9) - 1], 0.9) > FALSE_POSITIVE_RATE
    confidence = 0.8
    bounds = levels[:, conditional_rank(draws, confidence) - 1]
    assert coverage(bounds, confidence) > FALSE_POSITIVE_RATE


def test_the_empirical_quantile_covers_too_little_and_is_found_out() -> None:
    bounds = np.quantile(uniform_draws(19), 0.9, axis=1)
    assert coverage(bounds, 0.9) < FALSE_POSITIVE_RATE


# Keeping


class Counting(Serial):
    """Counts what it maps, and may do it in any order."""

    def __init__(self, cache: Path | None, backwards: bool = False) -> None:
        super().__init__(cache)
        self.calls = 0
        self._backwards = backwards

    def map(self, function: Callable, items: Sequence, *, doing: str) -> Iterator:
        self.calls += len(items)
        if not self._backwards:
            return map(function, items)
        return iter([function(item) for item in items[::-1]][::-1])


def two_numbers(draws: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(draws, 2))


def kept(compute: Serial, draws: int = 100, digest: str = DIGEST) -> np.ndarray:
    return kept_statistics(two_numbers, draws=draws, digest=digest, compute=compute, doing="this")


def test_statistics_do_not_depend_on_who_computes_them_nor_in_which_order(tmp_path) -> None:
    expected = kept(SERIAL)
    assert expected.shape == (100, 2)
    assert (kept(Counting(None, backwards=True)) == expected).all()
    assert (kept(Serial(tmp_path / "new")) == expected).all()
    assert (kept(Serial(tmp_path / "new")) == expected).all()  # as kept


def test_the_chunks_draw_independently_of_each_other() -> None:
    drawn = kept(SERIAL, draws=80)
    assert len(np.unique(drawn)) == drawn.size


def test_what_is_kept_is_not_computed_again(tmp_path) -> None:
    compute = Counting(tmp_path)
    kept(compute)
    calls = compute.calls
    kept(compute)
    assert compute.calls == calls > 0


@pytest.mark.parametrize("changed", [{"draws": 101}, {"digest": "cd" * 32}])
def test_another_design_or_number_of_draws_is_simulated_for_itself(tmp_path, changed) -> None:
    compute = Counting(tmp_path)
    first = kept(compute)
    calls = compute.calls
    other = kept(compute, **changed)
    assert compute.calls > calls
    assert not np.isin(other, first).all()


def test_without_a_cache_nothing_is_written(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    kept(SERIAL)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: b"",
        lambda content: content[:20],
        lambda content: content[:-8],
        lambda content: content + bytes(8),
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: bytes(len(content)),
    ],
    ids=["empty", "stub", "truncated", "longer", "one bit", "zeros"],
)
def test_a_spoilt_file_is_recomputed_and_mended(tmp_path, spoil) -> None:
    compute = Counting(tmp_path)
    expected = kept(compute)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(spoil(whole))
    calls = compute.calls
    assert (kept(compute) == expected).all()
    assert compute.calls > calls
    assert path.read_bytes() == whole


def test_a_file_that_was_not_finished_is_never_read(tmp_path, monkeypatch) -> None:
    def dies(source: object, target: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", dies)
        with pytest.raises(KeyboardInterrupt):
            kept(Serial(tmp_path))
    compute = Counting(tmp_path)
    kept(compute)
    assert compute.calls > 0


def test_kept_numbers_may_be_changed_by_whoever_reads_them(tmp_path) -> None:
    kept(Serial(tmp_path))
    read = kept(Serial(tmp_path))
    read += 1.0  # a view of the file's bytes would refuse


def test_statistics_with_bound_arguments_are_served_like_others() -> None:
    drawn = kept_statistics(
        partial(scaled, 2.0), draws=41, digest=DIGEST, compute=SERIAL, doing="this"
    )
    assert (drawn == 2.0 * kept(SERIAL, draws=41)).all()


def scaled(factor: float, draws: int, rng: np.random.Generator) -> np.ndarray:
    return factor * two_numbers(draws, rng)
