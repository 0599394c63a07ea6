"""The local search: exact bookkeeping, descent, and determinism."""

from itertools import combinations

import numpy as np
import pytest

from mechanisms.privpgd.denoise import Targets
from mechanisms.privpgd.polish import polish

SHAPE = (5, 3, 2, 7)


def table(codes: np.ndarray, a: int, b: int) -> np.ndarray:
    counts = np.zeros((SHAPE[a], SHAPE[b]))
    np.add.at(counts, (codes[:, a], codes[:, b]), 1)
    return counts / len(codes)


def records(rows: int, seed: int) -> np.ndarray:
    """Dependent columns."""
    rng = np.random.default_rng(seed)
    hidden = rng.random((rows, 1))
    mixed = 0.7 * hidden + 0.3 * rng.random((rows, len(SHAPE)))
    return np.floor(mixed * SHAPE).astype(np.int32)


def targets_of(codes: np.ndarray) -> Targets:
    pairs = {(a, b): table(codes, a, b) for a, b in combinations(range(len(SHAPE)), 2)}
    return Targets(
        tuple(np.bincount(codes[:, a], minlength=k) / len(codes) for a, k in enumerate(SHAPE)),
        pairs,
    )


def error(codes: np.ndarray, targets: Targets) -> float:
    return float(np.mean([((table(codes, *p) - t) ** 2).sum() for p, t in targets.pairs.items()]))


def shuffled(codes: np.ndarray, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permuted(codes, axis=0)


def test_reported_errors_are_those_of_a_fresh_count() -> None:
    targets = targets_of(records(3000, 1))
    start = shuffled(records(2000, 2), 3)
    result, history = polish(start, targets, proposals=300_000, rng=np.random.default_rng(4))
    assert history[0] == pytest.approx(error(start, targets), rel=1e-5)
    assert history[-1] == pytest.approx(error(result, targets), rel=1e-3)
    assert len(history) == 3  # before, and after two blocks
    assert history == sorted(history, reverse=True)


def test_independent_columns_are_brought_close_to_dependent_targets() -> None:
    targets = targets_of(records(3000, 1))
    start = shuffled(records(3000, 1), 3)
    result, history = polish(start, targets, proposals=400_000, rng=np.random.default_rng(4))
    assert history[-1] < 1e-3 * history[0]
    far = max(np.abs(table(result, *p) - t).sum() / 2 for p, t in targets.pairs.items())
    assert far < 0.01
    assert max(np.abs(table(start, *p) - t).sum() / 2 for p, t in targets.pairs.items()) > 0.1


def test_a_table_on_target_stays_put_and_the_input_is_not_written_to() -> None:
    codes = records(500, 1)
    before = codes.copy()
    result, history = polish(
        codes, targets_of(codes), proposals=50_000, rng=np.random.default_rng(0)
    )
    np.testing.assert_array_equal(result, before)
    assert history[0] == pytest.approx(0, abs=1e-12)
    polish(codes, targets_of(records(500, 9)), proposals=50_000, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(codes, before)


def test_a_seed_gives_one_result() -> None:
    targets, start = targets_of(records(800, 1)), shuffled(records(800, 2), 3)
    first, again, other = (
        polish(start, targets, proposals=20_000, rng=np.random.default_rng(seed))[0]
        for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_codes_without_a_record_are_found() -> None:
    start = np.zeros((400, len(SHAPE)), dtype=np.int32)
    targets = targets_of(records(400, 1))
    result, _ = polish(start, targets, proposals=100_000, rng=np.random.default_rng(0))
    assert error(result, targets) < 0.01 * error(start, targets)
