"""Groups of cells: sums, and what is spread back over them, as matrices."""

from functools import reduce

import numpy as np
import pytest

from hallmark.mechanisms.marginals.cell_groups import cells_of, group_of, merge, sizes_of, spread


def matrix(shape: tuple[int, ...], sizes: tuple[int, ...]) -> np.ndarray:
    """Which cells each group holds, (groups, cells), both in C order."""
    lines = [
        (group_of(k, groups) == np.arange(groups)[:, None]).astype(float)
        for k, groups in zip(shape, sizes, strict=True)
    ]
    return reduce(np.kron, lines)


@pytest.mark.parametrize("groups", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("cells", [7, 8, 32, 21])
def test_groups_are_runs_of_cells_as_equal_as_can_be(cells: int, groups: int) -> None:
    group = group_of(cells, groups)
    assert (np.diff(group) >= 0).all()
    many = np.bincount(group, minlength=groups)
    assert many.min() >= 1
    assert np.ptp(many) <= 1


@pytest.mark.parametrize(
    ("shape", "sizes"), [((9,), (4,)), ((7, 5), (3, 5)), ((5, 2, 6), (2, 1, 4))]
)
def test_sums_and_what_is_spread_are_a_matrix_and_its_transpose(
    shape: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(0)
    adds = matrix(shape, sizes)
    tables = rng.normal(size=(3, *shape))
    merged = merge(tables, sizes)
    assert merged.shape == (3, *sizes)
    np.testing.assert_allclose(merged.reshape(3, -1), tables.reshape(3, -1) @ adds.T)
    np.testing.assert_allclose(spread(merged, shape).reshape(3, -1), merged.reshape(3, -1) @ adds)
    np.testing.assert_array_equal(cells_of(shape, sizes).ravel(), adds.sum(axis=1))


def test_an_attribute_of_few_cells_keeps_them() -> None:
    assert sizes_of((0, 2), (9, 5, 3), 4) == (4, 3)
    table = np.random.default_rng(1).normal(size=(9, 3))
    np.testing.assert_array_equal(merge(table, (9, 3)), table)
