"""The compiled pass over records against numpy, for all kinds of maps and of codes."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from hallmark.mechanisms.arrays import AnyCodes, Counts
from hallmark.mechanisms.privacy.cells import ArrayCounter, CellMap, count_codes, marginal

SHAPE = (3, 2, 300, 17, 1)
RECORDS = (0, 1, 3, 4095, 4097, 300_000)  # within a run of records, and across runs and passes


def drawn(records: int, rng: np.random.Generator) -> AnyCodes:
    return np.stack([rng.integers(k, size=records) for k in SHAPE], axis=1)


def with_numpy(codes: AnyCodes, maps: Sequence[CellMap]) -> list[Counts]:
    return [np.bincount(m(codes), minlength=m.size) for m in maps]


def maps_of_all_kinds(rng: np.random.Generator) -> list[CellMap]:
    marginals = [marginal(c, SHAPE) for ways in (1, 2, 3, 4) for c in combinations(range(5), ways)]

    def any_map(columns: tuple[int, ...], size: int) -> CellMap:
        most = size // len(columns)
        tables = tuple(rng.integers(most, size=SHAPE[c], dtype=np.int64) for c in columns)
        return CellMap(columns, tables, size)

    sizes = (7, 4096, 4097, 65_536, 65_537, 200_000)
    others = [any_map(c, size) for size in sizes for c in ((0,), (2, 1), (3, 2, 0), (2, 2))]
    return marginals + others


@pytest.mark.parametrize("records", RECORDS)
def test_agrees_with_numpy_to_the_last_unit(records: int) -> None:
    rng = np.random.default_rng(records)
    codes, maps = drawn(records, rng), maps_of_all_kinds(rng)
    for found, expected in zip(count_codes(codes, maps), with_numpy(codes, maps), strict=True):
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", [np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_type_and_order_of_codes(kind: type[np.integer], order: str) -> None:
    rng = np.random.default_rng(1)
    codes, maps = drawn(10_001, rng), maps_of_all_kinds(rng)
    found = count_codes(np.array(codes, dtype=kind, order=order), maps)  # type: ignore[call-overload]  # a literal order
    for one, expected in zip(found, with_numpy(codes, maps), strict=True):
        np.testing.assert_array_equal(one, expected)


def test_codes_of_one_byte_and_of_many() -> None:
    rng = np.random.default_rng(2)
    for cells in (256, 257, 70_000):
        codes = rng.integers(cells, size=(5_000, 2))
        codes[0] = cells - 1
        kind = np.min_scalar_type(cells - 1)
        maps = [marginal((0,), (cells, cells))]
        (found,) = count_codes(codes.astype(kind), maps)
        np.testing.assert_array_equal(found, np.bincount(codes[:, 0], minlength=cells))


def test_columns_that_no_map_uses_are_not_looked_at() -> None:
    codes = np.array([[0, -5], [1, 7]])
    (found,) = count_codes(codes, [marginal((0,), (2, 2))])
    np.testing.assert_array_equal(found, [1, 1])
    assert count_codes(codes, []) == []


@pytest.mark.parametrize("wrong", [-1, 3, 255, 256, 1 << 40])
def test_a_code_that_the_map_does_not_know_is_an_error_and_no_count(wrong: int) -> None:
    codes = np.array([[0], [2], [wrong]])
    with pytest.raises(IndexError, match="code"):
        count_codes(codes, [marginal((0,), (3,))])


def test_blocks_add_up_in_any_order() -> None:
    rng = np.random.default_rng(3)
    codes, maps = drawn(20_000, rng), maps_of_all_kinds(rng)
    whole = ArrayCounter(codes).count(maps)
    parts = [count_codes(part, maps) for part in np.array_split(rng.permutation(codes), 7)]
    for counts, pieces in zip(whole, zip(*parts, strict=True), strict=True):
        np.testing.assert_array_equal(counts, sum(pieces))
