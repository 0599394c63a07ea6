"""Denoising: both limits of the noise, consistency, and shapes at the edge."""

import numpy as np
import pytest

from hallmark.mechanisms.marginals.generators.noise_aware.shrinkage import (
    centred,
    denoise,
    shrink,
)


def dependent_table(rows: int, columns: int, rng: np.random.Generator) -> np.ndarray:
    """Counts with strong dependence and no empty margin."""
    x = rng.integers(rows, size=20_000)
    y = np.where(rng.random(x.size) < 0.6, x % columns, rng.integers(columns, size=x.size))
    return np.histogram2d(x, y, bins=(np.arange(rows + 1), np.arange(columns + 1)))[0]


@pytest.mark.parametrize("shape", [(7, 5), (2, 6), (2, 2), (1, 4), (1, 1), (9, 9)])
def test_without_noise_targets_are_the_measured_tables(shape: tuple[int, int]) -> None:
    table = dependent_table(*shape, np.random.default_rng(0))
    targets = denoise(
        [table.sum(axis=1), table.sum(axis=0)],
        {(0, 1): table},
        total=table.sum(),
        sigma={(0, 1): 0.0},
    )
    np.testing.assert_allclose(targets.pairs[0, 1], table / table.sum(), atol=1e-10)
    np.testing.assert_allclose(targets.one_way[0], table.sum(axis=1) / table.sum(), atol=1e-10)


@pytest.mark.parametrize("shape", [(7, 5), (2, 6), (2, 2), (1, 4)])
def test_in_strong_noise_targets_are_the_independent_product(shape: tuple[int, int]) -> None:
    table = dependent_table(*shape, np.random.default_rng(0))
    targets = denoise(
        [table.sum(axis=1), table.sum(axis=0)],
        {(0, 1): table},
        total=table.sum(),
        sigma={(0, 1): 1e6},
    )
    np.testing.assert_allclose(targets.pairs[0, 1], np.outer(*targets.one_way), atol=1e-12)


@pytest.mark.parametrize(("shape", "least"), [((15, 32), 0.85), ((5, 6), 0.8), ((2, 32), 0.85)])
def test_pure_noise_is_shrunk_to_nothing_in_most_draws(
    shape: tuple[int, int], least: float
) -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(300, *shape))
    free = (shape[0] - 1, shape[1] - 1)
    silent = np.mean([not shrink(centred(table), 1.0, free=free).table.any() for table in noise])
    # Measured .87 to .92; a binomial of 300 draws strays by .1 once in a million.
    assert silent >= least - 0.05
    twice_too_sure = np.mean(
        [not shrink(centred(table), 0.5, free=free).table.any() for table in noise]
    )
    assert twice_too_sure < 0.05


def test_a_strong_singular_value_keeps_its_length_without_bias() -> None:
    rng = np.random.default_rng(2)
    left, right = (np.linspace(-1, 1, k)[:, None] for k in (20, 30))
    signal = left @ right.T
    signal *= 20 / np.linalg.norm(signal)
    noise = rng.normal(size=(200, 20, 30))
    noisy = [np.linalg.norm(centred(signal + z), 2) for z in noise]
    kept = [np.linalg.norm(shrink(centred(signal + z), 1.0, free=(19, 29)).table, 2) for z in noise]
    # The mean of 200 strays by about .07 a standard deviation; what noise adds is over 1.
    assert np.mean(kept) == pytest.approx(20, abs=0.35)
    assert np.mean(noisy) > 21


@pytest.mark.parametrize("shape", [(6, 9), (9, 6), (7, 7)])
def test_the_degrees_of_freedom_are_the_trace_of_the_derivative(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(4)
    left, right = (np.linalg.qr(centred(rng.normal(size=(k, k))))[0][:, :3] for k in shape)
    noisy = centred(left * [40.0, 25.0, 12.0] @ right.T + rng.normal(size=shape))
    free, step, trace = (shape[0] - 1, shape[1] - 1), 1e-5, 0.0
    for cell in np.ndindex(shape):
        moved = np.zeros(shape)
        moved[cell] = step
        up, down = (shrink(centred(noisy + d), 1.0, free=free).table for d in (moved, -moved))
        trace += (up[cell] - down[cell]) / (2 * step)
    found = shrink(noisy, 1.0, free=free)
    assert np.linalg.matrix_rank(found.table) == 3
    assert found.freedom == pytest.approx(trace, rel=1e-4)


def test_denoising_brings_tables_closer_to_the_truth_than_clipping() -> None:
    rng = np.random.default_rng(3)
    waves = np.outer(np.cos(np.linspace(0, 3, 20)), np.cos(np.linspace(0, 3, 15)))
    truth = 67 * (1 + 0.8 * waves)  # some 20,000 records
    noisy = truth + rng.normal(scale=30, size=truth.shape)
    total, truth = truth.sum(), truth / truth.sum()
    target = denoise(
        [noisy.sum(axis=1), noisy.sum(axis=0)], {(0, 1): noisy}, total=total, sigma={(0, 1): 30.0}
    ).pairs[0, 1]
    clipped = np.maximum(noisy, 0) / np.maximum(noisy, 0).sum()
    assert np.abs(target - truth).sum() < 0.5 * np.abs(clipped - truth).sum()


def test_denoising_does_not_depend_on_the_order_of_categories() -> None:
    rng = np.random.default_rng(4)
    table = dependent_table(8, 6, rng) + rng.normal(scale=20, size=(8, 6))
    order = rng.permutation(8)

    def target(counts: np.ndarray) -> np.ndarray:
        margins = [counts.sum(axis=1), counts.sum(axis=0)]
        return denoise(margins, {(0, 1): counts}, total=20_000.0, sigma={(0, 1): 20.0}).pairs[0, 1]

    np.testing.assert_allclose(target(table[order]), target(table)[order], atol=1e-12)


def test_margins_agree_with_the_shared_one_ways() -> None:
    rng = np.random.default_rng(5)
    table = dependent_table(8, 6, rng)
    noisy = table + rng.normal(scale=20, size=(8, 6))
    targets = denoise(
        [table.sum(axis=1), table.sum(axis=0)],
        {(0, 1): noisy},
        total=table.sum(),
        sigma={(0, 1): 20.0},
    )
    rows, columns = targets.one_way
    strays = centred(noisy / table.sum() - np.outer(rows, columns))
    residual = shrink(strays, 20 / table.sum(), free=(7, 5)).table
    np.testing.assert_allclose(residual.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(residual.sum(axis=1), 0, atol=1e-12)
    target = targets.pairs[0, 1]
    assert np.abs(target.sum(axis=1) - rows).sum() < 1e-2
    assert np.abs(target.sum(axis=0) - columns).sum() < 1e-2


def test_a_table_of_noise_over_one_record_still_gives_probabilities() -> None:
    noisy = np.random.default_rng(6).normal(scale=1e3, size=(4, 3))
    targets = denoise(
        [noisy.sum(axis=1), noisy.sum(axis=0)], {(0, 1): noisy}, total=1.0, sigma={(0, 1): 1e3}
    )
    for table in (*targets.one_way, targets.pairs[0, 1]):
        assert table.min() >= 0
        assert table.sum() == pytest.approx(1)
