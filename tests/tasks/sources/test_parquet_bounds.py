"""Parquet files of a few bytes that stand for gigabytes: refused early, and never written out."""

import re
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hallmark.tasks.sources import Source, SourceError, batches_of_cells, parquet_bounds, parts
from hallmark.tasks.sources.parquet_bounds import batches
from hallmark.tasks.sources.parquet_pages import pages
from hallmark.tasks.sources.texts import LONGEST_TEXT

MIB = 2**20
SECRET = "73193-canary"


def long_texts(number: int) -> pa.Array:
    text = SECRET + "x" * (4 * LONGEST_TEXT)
    return pa.array([text]).take(pa.array(np.zeros(number, np.int32)))


def read(file: Path, columns: Sequence[str] = ("code",)) -> list[pa.RecordBatch]:
    with file.open("rb") as handle:
        return list(batches(handle, columns, rows=1000))


def cells(file: Path) -> int:
    """The number of records, read as a private table is."""
    source = Source(location=str(file), null_markers=("",), columns=("code",))
    return sum(
        len(found["code"].places) for part in parts(source) for found in batches_of_cells(part)
    )


BOMBS: dict[str, tuple[Callable[[], pa.Array], dict[str, Any]]] = {
    "equal texts, of which one is stored": (lambda: long_texts(500), {}),
    "texts that compress well": (lambda: long_texts(200), {"use_dictionary": False}),
    "texts that repeat the one before": (
        lambda: long_texts(500),
        {"use_dictionary": False, "column_encoding": {"code": "DELTA_BYTE_ARRAY"}},
    ),
    "lists": (lambda: pa.array([np.zeros(MIB, np.int64)] * 8), {}),
    "structures": (lambda: pa.array([{"a": 1}] * 8), {}),
    "numbers of a mebibyte": (lambda: pa.array([b"\0" * MIB] * 8, pa.binary(MIB)), {}),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_stands_for_much_is_refused_with_its_column(
    name: str, tmp_path: Path
) -> None:
    make, how = BOMBS[name]
    file = tmp_path / "table.parquet"
    pq.write_table(pa.table({"code": make()}), file, compression="zstd", **how)
    assert file.stat().st_size < MIB
    with pytest.raises(SourceError, match=r"table.parquet: column code (has a text|holds)") as told:
        cells(file)
    assert SECRET not in f"{told.value!r} {told.value.__context__!r}"


def test_no_more_rows_are_decoded_than_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a page of this encoding every value may be as long as the whole page."""
    monkeypatch.setattr(parquet_bounds, "MOST_TEXT", 16 * MIB)
    pool = pa.default_memory_pool()
    file = tmp_path / "table.parquet"
    how = {"use_dictionary": False, "column_encoding": {"code": "DELTA_BYTE_ARRAY"}}
    table = pa.table({"code": [f"{'x' * 9_000}{i}" for i in range(8_000)]})  # 72 MB
    pq.write_table(table, file, compression="zstd", data_page_size=MIB // 8, **how)
    before = pool.bytes_allocated()
    del table
    peak, found = 0, []
    with file.open("rb") as handle:
        for batch in batches(handle, ("code",), rows=8_000):
            peak = max(peak, pool.bytes_allocated() - before)
            found += [text[9_000:] for text in batch.column(0).to_pylist()]
    assert found == [str(i) for i in range(8_000)]
    assert peak < 48 * MIB


def test_texts_are_written_out_in_batches_that_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_bounds, "MOST_TEXT", 10_000)
    file = tmp_path / "table.parquet"
    pq.write_table(pa.table({"code": ["x" * 100, "y"] * 500}), file)
    found = read(file)
    assert max(batch.num_rows for batch in found) == 100
    assert [text for b in found for text in b.column(0).to_pylist()] == ["x" * 100, "y"] * 500


def test_a_page_that_is_too_large_is_refused_whatever_the_footer_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_bounds, "MOST_OPEN", 100_000)
    file = tmp_path / "table.parquet"
    table = pa.table({"code": np.zeros(MIB, np.int64)})
    pq.write_table(table, file, compression="zstd", use_dictionary=False, data_page_size=16 * MIB)
    says = pq.read_metadata(file).row_group(0).column(0).total_uncompressed_size
    content = file.read_bytes()
    assert _varint(2 * says) in content
    file.write_bytes(content.replace(_varint(2 * says), _varint(2 * (says % 2**13 + 2**21))))
    assert pq.read_metadata(file).row_group(0).column(0).total_uncompressed_size != says
    with pytest.raises(parquet_bounds.Unbounded, match=r"need more than 100,000 bytes"):
        read(file)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def test_a_footer_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    file.write_bytes(b"PAR1" + struct.pack("<I", 2**31) + b"PAR1")
    with pytest.raises(SourceError, match=re.escape("its footer has more than 67,108,864 bytes")):
        cells(file)


KINDS = {
    "text": pa.string(),
    "large": pa.large_string(),
    "view": pa.string_view(),
    "bytes": pa.binary(),
    "a.b": pa.string(),
}
WAYS = [
    {"data_page_version": version, "use_dictionary": coded, "compression": codec}
    for version in ("1.0", "2.0")
    for coded in (True, False)
    for codec in ("none", "snappy", "zstd")
]


@pytest.mark.parametrize("how", WAYS)
def test_sound_files_are_read_as_they_are(how: dict[str, object], tmp_path: Path) -> None:
    texts = [None if i % 7 == 0 else f"text {i % 900}" for i in range(5_000)]
    columns = {
        **{name: pa.array(texts, kind) for name, kind in KINDS.items() if name != "bytes"},
        "bytes": pa.array([text and text.encode() for text in texts]),
        "number": pa.array(range(5_000)),
        "nothing": pa.nulls(5_000),
    }
    file = tmp_path / "table.parquet"
    pq.write_table(pa.table(columns), file, row_group_size=1_700, data_page_size=4_000, **how)
    found = read(file, tuple(columns))
    assert max(batch.num_rows for batch in found) <= 1_000
    for name in columns:
        read_back = [value for batch in found for value in batch[name].to_pylist()]
        assert read_back == columns[name].to_pylist(), name


@pytest.mark.parametrize("how", WAYS)
def test_pages_hold_all_values(how: dict[str, object], tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    table = pa.table({"code": [f"{i % 900}" for i in range(5_000)]})
    pq.write_table(table, file, data_page_size=4_000, **how)
    with file.open("rb") as handle:
        chunk = pq.read_metadata(handle).row_group(0).column(0)
        found = list(pages(handle, chunk))
    assert sum(page.values for page in found if not page.is_dictionary) == 5_000
    assert sum(page.is_dictionary for page in found) == how["use_dictionary"]
    assert any(page.refers for page in found) == how["use_dictionary"]
    assert sum(page.size for page in found) <= chunk.total_uncompressed_size


def test_a_file_with_broken_pages_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    pq.write_table(pa.table({"code": ["a", "b"] * 100}), file)
    content = bytearray(file.read_bytes())
    for start in range(4, 40):
        broken = content.copy()
        broken[start : start + 8] = b"\xff" * 8
        file.write_bytes(bytes(broken))
        with suppress(SourceError):  # or nothing that matters was broken
            assert cells(file) == 200


def test_a_long_text_is_refused_in_csv_too(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text(f"code\n{SECRET}{'x' * LONGEST_TEXT}\n")
    with pytest.raises(SourceError, match="column code has a text of more than 16,384") as told:
        cells(file)
    assert SECRET not in str(told.value)


INFLATED = {"numbers in lists": pa.array([[7] * MIB] * 2), "equal texts": long_texts(50)}


@pytest.mark.parametrize("name", INFLATED)
def test_a_table_that_is_read_at_once_may_not_be_many_times_its_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_bounds, "MOST_OPEN", MIB)
    file = tmp_path / "table.parquet"
    pq.write_table(pa.table({"code": INFLATED[name]}), file, compression="zstd")
    with pytest.raises(parquet_bounds.Unbounded, match="its few bytes stand for up to"):
        parquet_bounds.whole(file)


def test_a_table_is_read_at_once_as_it_is(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    table = pa.table({"answers": rng.integers(0, 99, (100, 50)).tolist(), "name": ["a", "b"] * 50})
    pq.write_table(table, tmp_path / "table.parquet", compression="zstd")
    assert parquet_bounds.whole(tmp_path / "table.parquet").equals(table)
