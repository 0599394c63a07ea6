"""The particle descent: distances, gradients, quantisation, and fixed points."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from hallmark.mechanisms.marginals.generators.embedding import embedded, nearest_codes
from hallmark.mechanisms.marginals.generators.noise_aware.sorted_descent import (
    BANK,
    DIRECTIONS,
    Descent,
    descend,
    pull,
    sorted_target,
)
from hallmark.mechanisms.marginals.generators.rounding import quantised

SHAPE = (6, 4, 9)
GENTLE = Descent(epochs=1, directions=4, batch=5, learning_rate=0.02, adam_epsilon=0.03)


def records(rows: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    hidden = rng.random((rows, 1))
    return np.floor((0.7 * hidden + 0.3 * rng.random((rows, 3))) * SHAPE).astype(np.int32)


def pairs_of(codes: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
    tables = {}
    for a, b in combinations(range(3), 2):
        table = np.zeros((SHAPE[a], SHAPE[b]))
        np.add.at(table, (codes[:, a], codes[:, b]), 1)
        tables[a, b] = table / len(codes)
    return tables


def total_variation(codes: np.ndarray, pairs: dict[tuple[int, int], np.ndarray]) -> float:
    found = pairs_of(codes)
    return float(np.mean([np.abs(found[p] - table).sum() / 2 for p, table in pairs.items()]))


def test_counts_are_quantised_to_within_one_and_sum_up() -> None:
    table = np.random.default_rng(0).dirichlet(np.full(30, 0.2)).reshape(5, 6)
    for size in (1, 7, 100, 12_345):
        counts = quantised(table, size)
        assert counts.sum() == size
        assert np.abs(counts - size * table.ravel()).max() < 1
    assert (np.floor(12_345 * table).sum()) < 12_345  # flooring alone would lose records


@pytest.mark.parametrize("direction", [0, 5, BANK // 2, BANK - 1])
def test_run_lengths_expand_to_the_sorted_atoms(direction: int) -> None:
    table = np.random.default_rng(1).dirichlet(np.ones(24)).reshape(6, 4)
    counts = quantised(table, 500).reshape(6, 4)
    atoms = np.repeat(np.indices((6, 4)).reshape(2, -1).T, counts.ravel(), axis=0)
    direct = np.sort(((atoms + 0.5) / (6, 4)) @ DIRECTIONS[direction])
    np.testing.assert_allclose(
        sorted_target((0, 1), table, 500).quantiles(direction), direct, atol=1e-6
    )


@pytest.mark.parametrize("direction", [0, 3, 20, BANK - 1])
def test_the_loss_is_the_squared_wasserstein_distance(direction: int) -> None:
    rng = np.random.default_rng(2)
    x, y = rng.random((2, 300), dtype=np.float32)
    target = sorted_target((0, 1), rng.dirichlet(np.ones(24)).reshape(6, 4), 300)
    loss, excess = pull(x, y, target, direction)
    places = np.sort(x * DIRECTIONS[direction, 0] + y * DIRECTIONS[direction, 1])
    quantiles = target.quantiles(direction)
    assert loss == pytest.approx(((places - quantiles) ** 2).mean(), rel=1e-4)
    w1 = wasserstein_distance(places, quantiles)
    assert np.abs(excess).mean() == pytest.approx(w1, rel=1e-4)
    assert loss >= w1**2


def test_the_gradient_agrees_with_finite_differences() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.random((2, 40))
    target = sorted_target((0, 1), rng.dirichlet(np.ones(24)).reshape(6, 4), 40)
    cosine, sine = DIRECTIONS[7].astype(float)

    def loss(x: np.ndarray, y: np.ndarray) -> float:
        """In double precision."""
        return float(((np.sort(cosine * x + sine * y) - target.quantiles(7)) ** 2).mean())

    _, excess = pull(x.astype(np.float32), y.astype(np.float32), target, 7)
    step = 1e-6
    for i in range(40):
        move = step * (np.arange(40) == i)
        along_x = (loss(x + move, y) - loss(x - move, y)) / (2 * step)
        along_y = (loss(x, y + move) - loss(x, y - move)) / (2 * step)
        # Twice the excess over the number of particles: without the last, 40 times too long.
        assert 2 * cosine * excess[i] / 40 == pytest.approx(along_x, rel=1e-3, abs=1e-7)
        assert 2 * sine * excess[i] / 40 == pytest.approx(along_y, rel=1e-3, abs=1e-7)


def test_embedding_and_codes_invert_each_other() -> None:
    codes = records(200, 4)
    np.testing.assert_array_equal(nearest_codes(embedded(codes, SHAPE), SHAPE), codes)
    ends = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]], dtype=np.float32)
    np.testing.assert_array_equal(nearest_codes(ends, SHAPE), [[0, 0, 0], [5, 3, 8]])


def test_records_on_target_are_a_fixed_point() -> None:
    codes = records(1000, 5)
    result, history = descend(
        codes, pairs_of(codes), SHAPE, descent=GENTLE, rng=np.random.default_rng(0)
    )
    np.testing.assert_array_equal(result, codes)
    assert history[0] < 1e-12
    restless = Descent(epochs=1, directions=4, batch=1, learning_rate=0.1, adam_epsilon=1e-12)
    moved, _ = descend(
        codes, pairs_of(codes), SHAPE, descent=restless, rng=np.random.default_rng(0)
    )
    assert (moved != codes).any()  # rounding residuals alone, blown up to full steps


def test_descent_from_independent_columns_reaches_the_targets() -> None:
    pairs = pairs_of(records(2000, 6))
    start = np.random.default_rng(7).permuted(records(2000, 6), axis=0)
    descent = Descent(epochs=100, directions=4, batch=5, learning_rate=0.1, adam_epsilon=0.03)
    result, history = descend(start, pairs, SHAPE, descent=descent, rng=np.random.default_rng(8))
    assert history[-1] < 0.05 * history[0]
    assert total_variation(result, pairs) < 0.03
    assert total_variation(start, pairs) > 0.2


def test_a_seed_gives_one_result_and_progress_is_reported() -> None:
    pairs, start = pairs_of(records(300, 6)), records(300, 1)
    descent = Descent(epochs=4, directions=2, batch=2, learning_rate=0.05, adam_epsilon=0.03)
    shares: list[float] = []
    first, again, other = (
        descend(
            start, pairs, SHAPE, descent=descent, rng=np.random.default_rng(s), report=shares.append
        )[0]
        for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert shares[:4] == [0.25, 0.5, 0.75, 1.0]
