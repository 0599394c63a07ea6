"""Count all asked tables of a block of records in one compiled pass.

For each run of records their cells are computed first, in loops that the compiler turns into vector
instructions, and counted then. Where cells fit into 16 bits, four of them are fetched as one word,
and a small table is counted four times side by side: neighbouring records often share a cell, and
each would wait until the count of the one before is stored. Counts of a pass have 32 bits, so that
twice as many stay in the processor's cache; sums have 64.

Oracle.  tests/mechanisms/privacy/test_tally.py counts with numpy, over all kinds of maps and codes;
         benchmarks/scale has the speed.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes, Counts
from hallmark.mechanisms.compiled import compiled

_BLOCK = 1 << 18  # records of a pass: tables are added to the sums once in so many
_RUN = 4096  # records whose cells are computed together
_SIDE_BY_SIDE = 4096  # cells of tables that are counted four times side by side
_PACKED = 1 << 16  # cells of tables whose cells fit into 16 bits


class Terms(NamedTuple):
    """What maps add up, side by side: map m has the terms firsts[m] to firsts[m + 1] - 1.

    Attributes:
        columns: of the codes, shape (terms,).
        strides: cells from one code to the next where they are equally far apart and the first
            has 0; else -1.
        starts: where the table of a term starts in `tables`.
        lengths: how many codes it knows.
        tables: those of the terms without a stride, one after the other.
        firsts: shape (maps + 1,).
        sizes: cells of every map, shape (maps,).
    """

    columns: Counts
    strides: Counts
    starts: Counts
    lengths: Counts
    tables: Counts
    firsts: Counts
    sizes: Counts

    @classmethod
    def of(
        cls,
        columns: Sequence[Sequence[int]],
        tables: Sequence[Sequence[Counts]],
        sizes: Sequence[int],
    ) -> "Terms":
        """The terms of maps with these columns, tables and numbers of cells."""
        every = [table for each in tables for table in each]
        strides = np.array([_stride(table) for table in every], dtype=np.int64)
        lengths = np.array([len(table) for table in every], dtype=np.int64)
        kept = np.where(strides < 0, lengths, 0)
        return cls(
            columns=np.array([column for each in columns for column in each], dtype=np.int64),
            strides=strides,
            starts=np.cumsum(kept) - kept,
            lengths=lengths,
            tables=np.concatenate(
                [
                    *(table for table, known in zip(every, kept, strict=True) if known),
                    np.zeros(0, dtype=np.int64),
                ]
            ),
            firsts=np.cumsum([0, *(len(each) for each in columns)], dtype=np.int64),
            sizes=np.array(sizes, dtype=np.int64),
        )

    def split(self, counts: Counts) -> list[Counts]:
        """The histogram of every map, views of what `tally` returns."""
        return np.split(counts, np.cumsum(self.sizes)[:-1]) if len(self.sizes) else []


def tally(codes: AnyCodes, terms: Terms) -> Counts:
    """Histograms of all maps, one after the other, shape (sum of sizes,).

    Args:
        codes: shape (n, d), in any order and of any type of whole numbers.

    Raises:
        IndexError: a record has a code that a table of a map does not know.
    """
    counts = np.zeros(int(terms.sizes.sum()), dtype=np.int64)
    used, where = np.unique(terms.columns, return_inverse=True)
    terms = terms._replace(columns=where.astype(np.int64))
    # The fewest bytes, so that few kinds of loops are compiled, and read fast.
    narrow = np.min_scalar_type(int(terms.lengths.max(initial=1)) - 1)
    for start in range(0, len(codes), _BLOCK):
        columns = np.ascontiguousarray(codes.T[used, start : start + _BLOCK])
        _check(columns, terms)
        _tally(columns.astype(narrow, copy=False), *terms, counts)
    return counts


def _stride(table: Counts) -> int:
    stride = int(table[1]) if len(table) > 1 else 0
    return stride if np.array_equal(table, np.arange(len(table)) * stride) else -1


def _check(columns: AnyCodes, terms: Terms) -> None:
    """The compiled loops below look nothing up twice, and would read beyond a table's end."""
    if columns.size:
        lowest, highest = columns.min(axis=1), columns.max(axis=1)
        if (lowest < 0).any() or (highest[terms.columns] >= terms.lengths).any():
            raise IndexError("a record has a code that the map's table does not know")


@compiled()
def _tally(columns, of_term, strides, starts, lengths, tables, firsts, sizes, counts):  # type: ignore[no-untyped-def]  # compiled, numba infers the types
    words = np.empty(_RUN // 4, np.uint64)
    packed, wide = words.view(np.uint16), np.empty(_RUN, np.uint64)
    beside, single = np.zeros((4, _SIDE_BY_SIDE), np.uint32), np.zeros(_PACKED, np.uint32)
    base = 0
    for m in range(len(sizes)):
        size = sizes[m]
        own = counts[base : base + size]
        base += size
        for begin in range(0, columns.shape[1], _RUN):
            run = min(columns.shape[1] - begin, _RUN)
            if size > _PACKED:
                wide[:run] = np.uint64(0)
                for t in range(firsts[m], firsts[m + 1]):
                    codes = columns[of_term[t], begin : begin + run]
                    if strides[t] >= 0:
                        _add_wide_strides(wide, codes, np.uint64(strides[t]))
                    else:
                        _add_wide_entries(wide, codes, tables[starts[t] : starts[t] + lengths[t]])
                for i in range(run):
                    own[wide[i]] += 1
                continue
            first, last = firsts[m], firsts[m + 1]
            if last - first == 2 and strides[first] >= 0 and strides[first + 1] >= 0:
                _pair(
                    packed,
                    columns[of_term[first], begin : begin + run],
                    columns[of_term[first + 1], begin : begin + run],
                    np.uint16(strides[first]),
                    np.uint16(strides[first + 1]),
                )
            else:
                packed[:run] = np.uint16(0)
                for t in range(first, last):
                    codes = columns[of_term[t], begin : begin + run]
                    if strides[t] >= 0:
                        _add_strides(packed, codes, np.uint16(strides[t]))
                    else:
                        _add_entries(packed, codes, tables[starts[t] : starts[t] + lengths[t]])
            if size <= _SIDE_BY_SIDE:
                _count_beside(words, run // 4, beside[0], beside[1], beside[2], beside[3])
            else:
                _count_packed(words, run // 4, single)
            for i in range(run // 4 * 4, run):
                own[packed[i]] += 1
        if size <= _SIDE_BY_SIDE:
            for h in range(4):
                _move(beside[h], own)
        elif size <= _PACKED:
            _move(single, own)


@compiled()
def _pair(cells, codes, others, stride, step):  # type: ignore[no-untyped-def]  # compiled, as above
    for i in range(len(codes)):
        cells[i] = np.uint16(codes[i]) * stride + np.uint16(others[i]) * step


@compiled()
def _add_strides(cells, codes, stride):  # type: ignore[no-untyped-def]  # compiled, as above
    for i in range(len(codes)):
        cells[i] += np.uint16(codes[i]) * stride


@compiled()
def _add_entries(cells, codes, table):  # type: ignore[no-untyped-def]  # compiled, as above
    for i in range(len(codes)):
        cells[i] += np.uint16(table[codes[i]])


@compiled()
def _add_wide_strides(cells, codes, stride):  # type: ignore[no-untyped-def]  # compiled, as above
    for i in range(len(codes)):
        cells[i] += np.uint64(codes[i]) * stride


@compiled()
def _add_wide_entries(cells, codes, table):  # type: ignore[no-untyped-def]  # compiled, as above
    for i in range(len(codes)):
        cells[i] += np.uint64(table[codes[i]])


@compiled()
def _move(counts, onto):  # type: ignore[no-untyped-def]  # compiled, as above
    for cell in range(len(onto)):
        onto[cell] += np.int64(counts[cell])
        counts[cell] = 0


@compiled()
def _count_beside(words, quarters, first, second, third, fourth):  # type: ignore[no-untyped-def]  # compiled, as above
    for i in range(quarters):
        word = words[i]
        first[word & np.uint64(0xFFFF)] += np.uint32(1)
        second[(word >> np.uint64(16)) & np.uint64(0xFFFF)] += np.uint32(1)
        third[(word >> np.uint64(32)) & np.uint64(0xFFFF)] += np.uint32(1)
        fourth[word >> np.uint64(48)] += np.uint32(1)


@compiled()
def _count_packed(words, quarters, counts):  # type: ignore[no-untyped-def]  # compiled, as above
    for i in range(quarters):
        word = words[i]
        counts[word & np.uint64(0xFFFF)] += np.uint32(1)
        counts[(word >> np.uint64(16)) & np.uint64(0xFFFF)] += np.uint32(1)
        counts[(word >> np.uint64(32)) & np.uint64(0xFFFF)] += np.uint32(1)
        counts[word >> np.uint64(48)] += np.uint32(1)
