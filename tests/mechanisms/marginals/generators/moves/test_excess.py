"""Scores against a fresh count, for cliques of any order, weights and blocks."""

import numba
import numpy as np
import pytest

from hallmark.mechanisms.marginals.generators.moves import excess as ex

SHAPE = (3, 2, 4, 3, 2)
CLIQUES = ((1,), (0, 3), (0, 1, 4), (2, 3, 4), (0, 1, 2, 3), (0, 2))
WEIGHTS = (1.0, 0.25, 3.0, 1.5, 0.7, 2.0)
BLOCKS = ((0, 3), (1, 2, 4))
ROWS = 40


@numba.njit
def score_and_move(over, place, record, a, new):
    change = ex.score(over, place, record, np.uint64(a), new)
    ex.move(over, place, record, np.uint64(a), new)
    return change


def case(seed: int):
    rng = np.random.default_rng(seed)
    codes = rng.integers(SHAPE, size=(ROWS, len(SHAPE)), dtype=np.int32)
    targets = {clique: rng.normal(size=[SHAPE[a] for a in clique]) for clique in CLIQUES}
    return codes, targets, rng


def recounted(codes, targets) -> float:
    """Sum of w (count - rows target)^2 by a loop over records."""
    total = 0.0
    for (clique, target), weight in zip(targets.items(), WEIGHTS, strict=True):
        table = -len(codes) * target
        for record in codes:
            table[tuple(record[a] for a in clique)] += 1
        total += weight * float((table**2).sum())
    return total


def test_the_error_is_that_of_a_fresh_count() -> None:
    codes, targets, _ = case(0)
    over = ex.excess(codes, targets, WEIGHTS)
    assert ex.error(over, targets, WEIGHTS) == pytest.approx(recounted(codes, targets))


def test_a_single_change_is_scored_as_a_recount_says_and_leaves_the_recounted_excess() -> None:
    codes, targets, rng = case(1)
    place = ex.layout(SHAPE, CLIQUES, WEIGHTS)
    over = ex.excess(codes, targets, WEIGHTS)
    for _ in range(300):
        r, a = rng.integers(ROWS), rng.integers(len(SHAPE))
        new = (codes[r, a] + rng.integers(1, SHAPE[a])) % SHAPE[a]
        before = recounted(codes, targets)
        change = score_and_move(over, place, codes[r], a, new)
        assert codes[r, a] == new
        assert change == pytest.approx(recounted(codes, targets) - before)
    np.testing.assert_allclose(over, ex.excess(codes, targets, WEIGHTS), atol=1e-9)


def test_a_block_is_scored_as_a_recount_says_and_leaves_the_recounted_excess() -> None:
    codes, targets, rng = case(2)
    place = ex.layout(SHAPE, CLIQUES, WEIGHTS, BLOCKS)
    over = ex.excess(codes, targets, WEIGHTS)
    for _ in range(300):
        r, donor = codes[rng.integers(ROWS)], codes[rng.integers(ROWS)].copy()
        b = int(rng.integers(len(BLOCKS)))
        after = r.copy()
        after[list(BLOCKS[b])] = donor[list(BLOCKS[b])]
        before = recounted(codes, targets)
        change = ex.score_block(over, place, r, donor, b)
        ex.move_block(over, place, r, donor, b)
        np.testing.assert_array_equal(r, after)
        assert change == pytest.approx(recounted(codes, targets) - before, abs=1e-9)
    np.testing.assert_allclose(over, ex.excess(codes, targets, WEIGHTS), atol=1e-9)


def test_without_cliques_nothing_is_wrong() -> None:
    codes, _, _ = case(3)
    over, place = ex.excess(codes, {}, ()), ex.layout(SHAPE, (), ())
    assert ex.error(over, {}, ()) == 0
    assert score_and_move(over, place, codes[0], 2, (codes[0, 2] + 1) % 4) == 0
