"""Sorting of rows: against numpy's stable argsort, with ties, signs and threads."""

import numpy as np
import pytest
import torch

from hallmark.mechanisms.marginals.generators.particles.sorting import sorted_rows

TINY = 2.0**-140  # denormal, and exact in single precision


@pytest.mark.parametrize("size", [1, 2, 1000])
def test_rows_are_sorted_and_ties_go_by_position(size: int) -> None:
    rng = np.random.default_rng(0)
    rows = np.round(rng.normal(size=(7, size)), 1).astype(np.float32) + np.float32(0)
    rows[3] = rng.normal(size=size) * 10.0 ** rng.integers(-30, 30, size)
    values, order = sorted_rows(torch.from_numpy(rows))
    np.testing.assert_array_equal(order.numpy(), np.argsort(rows, axis=1, kind="stable"))
    np.testing.assert_array_equal(values.numpy(), np.sort(rows, axis=1))


def test_zeros_of_both_signs_lie_between_negative_and_positive() -> None:
    values, order = sorted_rows(torch.tensor([[TINY, 0.0, -0.0, -TINY]]))
    assert order.tolist() == [[3, 2, 1, 0]]
    assert values.tolist() == [[-TINY, -0.0, 0.0, TINY]]


def test_threads_change_nothing() -> None:
    rows = torch.from_numpy(np.random.default_rng(1).random((9, 40_000), dtype=np.float32))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = sorted_rows(rows)
        torch.set_num_threads(3)
        shared = sorted_rows(rows)
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for a, b in zip(alone, shared, strict=True))
    assert torch.equal(alone[0], rows.sort(dim=1).values)


def test_views_that_are_not_contiguous_are_sorted_too() -> None:
    columns = torch.from_numpy(np.random.default_rng(2).random((50, 4), dtype=np.float32))
    values, _ = sorted_rows(columns.T)
    assert torch.equal(values, columns.T.sort(dim=1).values)
