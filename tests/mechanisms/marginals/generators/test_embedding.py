"""Cells as points of the unit box: centres, and the nearest."""

import numpy as np

from hallmark.mechanisms.marginals.generators.embedding import centres, nearest_codes

SHAPE = (3, 5, 32)


def test_centres_are_equally_spaced_and_in_c_order() -> None:
    points = centres(SHAPE)
    for cell, point in zip(np.ndindex(*SHAPE), points, strict=True):
        expected = [(2 * x + 1) / (2 * k) for x, k in zip(cell, SHAPE, strict=True)]
        np.testing.assert_allclose(point, expected, rtol=1e-6)


def test_codes_are_those_of_the_nearest_centre() -> None:
    positions = np.random.default_rng(0).random((3, 500), dtype=np.float32)
    found = nearest_codes(positions, SHAPE)
    for a, k in enumerate(SHAPE):
        grid = (np.arange(k) + 0.5) / k
        distance = np.abs(positions[a][:, None] - grid)
        np.testing.assert_array_equal(found[:, a], distance.argmin(axis=1))


def test_centres_go_back_to_their_cells_and_ends_to_the_outer_ones() -> None:
    codes = np.array(list(np.ndindex(*SHAPE)), dtype=np.int32)
    np.testing.assert_array_equal(nearest_codes(centres(SHAPE).T.copy(), SHAPE), codes)
    ends = np.array([[0.0, 1.0]] * 3, dtype=np.float32)
    np.testing.assert_array_equal(nearest_codes(ends, SHAPE), [[0, 0, 0], [2, 4, 31]])
