"""The one pass: codes and counts are those of texts, in whatever types a file holds its cells."""

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hallmark.schemas.loading import load_spec
from hallmark.tasks.code_files import Drafts, load
from hallmark.tasks.planning.coding import NumericCodec, TableCodec, codec_of
from hallmark.tasks.reading import PartRead, read_part
from hallmark.tasks.sources import Source, batches, batches_of_cells, parts
from tests import example

MARKERS = ("NA", "9", "-1", "9.5", "1e3", "-0", "0.1", "007", "inf", "")
INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64()]


def source(path: Path, *columns: str, markers: tuple[str, ...] = ("NA",)) -> Source:
    return Source(location=str(path), null_markers=markers, columns=columns)


def read_back(values: pa.Array, folder: Path) -> tuple[Any, pd.Series]:
    """The column as the pass has it, and as text."""
    pq.write_table(pa.table({"x": values}), folder / "t.parquet")
    (part,) = parts(source(folder / "t.parquet", "x", markers=MARKERS))
    (cells,), (text,) = batches_of_cells(part), batches(part)
    return cells["x"], text["x"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cells")


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load_spec(example.write(tmp_path_factory.mktemp("spec"), rows=3))


def same_numbers(values: pa.Array, codec: NumericCodec, folder: Path) -> None:
    cells, text = read_back(values, folder)
    assert cells.numbers is not None
    found, unreadable = codec.read_numbers(cells.numbers)
    expected, unreadable_text = codec.read(text)
    np.testing.assert_array_equal(found.to_numpy()[cells.places], expected.to_numpy())
    np.testing.assert_array_equal(unreadable[cells.places], unreadable_text)


SPECIAL = [0.0, -0.0, 9.0, 9.5, -1.0, 1000.0, 0.1, float("nan"), float("inf"), 2.0**53, 1e300, 1e-9]


@given(values=st.lists(st.sampled_from(SPECIAL) | st.floats() | st.none(), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_floats_are_the_numbers_that_their_texts_say(
    values: list[float | None], spec: Any, folder: Path
) -> None:
    for name in ("age", "income"):
        same_numbers(pa.array(values, pa.float64()), codec_of(name, spec.columns[name]), folder)


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_whole_numbers_are_the_numbers_that_their_texts_say(
    kind: pa.DataType, spec: Any, folder: Path
) -> None:
    ends = np.iinfo(kind.to_pandas_dtype())
    rng = np.random.default_rng(0)
    drawn = rng.integers(ends.min, ends.max, 200, dtype=kind.to_pandas_dtype(), endpoint=True)
    values = [None, 9, 0, 1, 99, 100, int(ends.min), int(ends.max), *drawn.tolist()]
    if ends.min < 0:
        values.append(-1)
    for name in ("age", "income"):
        same_numbers(pa.array(values, kind), codec_of(name, spec.columns[name]), folder)


def test_numbers_that_a_shorter_type_writes_otherwise_are_read_as_text(folder: Path) -> None:
    for values in (
        pa.array([0.1, 7.25, None], pa.float32()),
        pa.array([Decimal("0.10"), Decimal("7.25"), None]),
        pa.array(["0.1", "7", None]),
    ):
        cells, text = read_back(values, folder)
        assert cells.numbers is None
        assert (
            cells.texts.iloc[cells.places].fillna("null").tolist() == text.fillna("null").tolist()
        )


TEXTS = [" 01", "02", None, "NA", "", "north", "02"]
COLUMNS = [
    pa.array(TEXTS),
    pa.array(TEXTS, pa.large_string()),
    pa.array(TEXTS, pa.string_view()),
    pa.array(TEXTS).dictionary_encode(),
    pa.DictionaryArray.from_arrays([0, 1, None, 0], ["02", "07", "never"]),
    pa.array([True, False, None]),
    pa.array([date(2001, 2, 3), None, date(1999, 1, 1)]),
    pa.array([datetime(2001, 2, 3, 23, 59), None], pa.timestamp("us", tz="Europe/Berlin")),
    pa.array([1, 2, None]).dictionary_encode(),
    pa.nulls(4),
    pa.nulls(4, pa.int64()),
]


@pytest.mark.parametrize("values", COLUMNS, ids=lambda values: str(values.type))
def test_every_cell_is_the_text_that_a_frame_has_there(values: pa.Array, folder: Path) -> None:
    cells, text = read_back(values, folder)
    found = cells.texts.iloc[cells.places].reset_index(drop=True)
    pd.testing.assert_series_equal(found, text, check_names=False)


def coded(path: Path, spec: Any, folder: Path) -> PartRead:
    folder.mkdir()
    (part,) = parts(source(path, *spec.columns))
    return read_part(part, spec.columns, None, drafts=Drafts(folder, 0))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_codes_are_those_of_texts_in_one_byte_a_cell(form: str, spec: Any, tmp_path: Path) -> None:
    table = example.table(500).drop(columns="person")
    path = tmp_path / f"t.{form}"
    table.to_csv(path, index=False, na_rep="NA") if form == "csv" else table.to_parquet(path)
    read = coded(path, spec, tmp_path / "codes")
    (part,) = parts(source(path, *spec.columns))
    expected = TableCodec.of(spec.columns).encode(next(batches(part)))
    found = np.concatenate([load(file) for file in read.files])
    assert found.dtype == np.uint8
    assert found.tolist() == expected.tolist()
    assert read.sums.rows == 500


def test_a_column_of_many_cells_takes_two_bytes(spec: Any, tmp_path: Path) -> None:
    wide = spec.columns["age"].model_copy(update={"cells": 300, "maximum": 299})
    narrow = {"age": wide, "region": spec.columns["region"]}
    pd.DataFrame({"age": [0, 299], "region": ["01", "02"]}).to_parquet(tmp_path / "t.parquet")
    (part,) = parts(source(tmp_path / "t.parquet", *narrow))
    cells = codec_of("age", wide).attribute.cells
    (file,) = read_part(part, narrow, None, drafts=Drafts(tmp_path, 0)).files
    assert load(file).dtype == np.min_scalar_type(cells - 1)
    assert load(file)[:, 0].tolist() == [0, cells - 1 - wide.nulls]


def test_nothing_is_coded_beyond_a_batch_that_the_spec_refuses(spec: Any, tmp_path: Path) -> None:
    table = example.table(50).drop(columns="person")
    table.loc[3, "age"] = 100
    table.to_parquet(tmp_path / "t.parquet")
    read = coded(tmp_path / "t.parquet", spec, tmp_path / "codes")
    assert read.files == ()
    assert {f.failing for f in read.findings} == {0, 1}
