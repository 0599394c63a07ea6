"""Public tables: read as the spec says, coded as its columns say, or refused with the fix."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hallmark.schemas.columns.columns import Column
from hallmark.schemas.loading import load_spec
from hallmark.schemas.table_sections import PublicData
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.planning.public_data import PlanRefused, read_public
from hallmark.tasks.sources import SourceError
from tests.schemas.columns.test_places_columns import CITIES, text_with

TEXT = "city,age,sex\nb,17,1\nm,,2\nh,65,9\n"
CODES = [[0, 0, 0], [2, 4, 1], [1, 3, 2]]


@pytest.fixture(scope="module")
def columns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Column]:
    """A column of places that refuses what is outside, ages that clamp and may be missing, and
    sexes of which others are a catch-all."""
    file = tmp_path_factory.mktemp("spec") / "spec.yaml"
    file.write_text(text_with(CITIES))
    known = load_spec(file).columns
    return {name: known[name] for name in ("city", "age", "sex")}


def public(source: str = "old.csv", **fields: object) -> PublicData:
    return PublicData(source=source, reference="the codebook of 2018", **fields)  # type: ignore[arg-type]


def read(folder: Path, columns: dict[str, Column], text: str, **fields: object) -> list[list[int]]:
    (folder / "old.csv").write_text(text)
    return read_public(public(**fields), columns, folder).tolist()


def refusal(folder: Path, columns: dict[str, Column], table: PublicData) -> str:
    with pytest.raises(PlanRefused) as caught:
        read_public(table, columns, folder)
    return str(caught.value)


def test_a_table_beside_the_spec_is_coded_by_its_columns(tmp_path, columns) -> None:
    (tmp_path / "old.csv").write_text(TEXT)
    codes = read_public(public(), columns, tmp_path)
    assert codes.tolist() == CODES
    assert codes.dtype == np.int32


def test_columns_are_taken_by_name_and_others_are_not_read(tmp_path, columns) -> None:
    text = "id,sex,city,age\n7,1,b,17\n8,2,m,\nx,9,h,65\n"
    assert read(tmp_path, columns, text) == CODES


def test_a_delimiter_and_a_format_are_followed(tmp_path, columns) -> None:
    assert read(tmp_path, columns, TEXT.replace(",", ";"), delimiter=";") == CODES
    (tmp_path / "old.txt").write_text(TEXT)
    assert read_public(public("old.txt", format="csv"), columns, tmp_path).tolist() == CODES


def test_parquet_is_read_alike(tmp_path, columns) -> None:
    frame = pd.DataFrame({"city": ["b", "m", "h"], "age": [17, None, 65], "sex": [1, 2, 9]})
    frame.to_parquet(tmp_path / "old.parquet")
    assert read_public(public("old.parquet"), columns, tmp_path).tolist() == CODES


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path, columns) -> None:
    (tmp_path / "old").mkdir()
    head, *rows = TEXT.splitlines()
    for name, row in zip("cab", [rows[2], rows[0], rows[1]], strict=True):
        (tmp_path / "old" / f"{name}.csv").write_text(f"{head}\n{row}\n")
    assert read_public(public("old", format="csv"), columns, tmp_path).tolist() == CODES


def test_an_absolute_path_need_not_be_beside_the_spec(tmp_path, columns) -> None:
    (tmp_path / "old.csv").write_text(TEXT)
    elsewhere = Path("/nowhere")
    assert read_public(public(str(tmp_path / "old.csv")), columns, elsewhere).tolist() == CODES


def test_null_markers_are_those_of_the_public_table(tmp_path, columns) -> None:
    marked = TEXT.replace("m,,2", "m,N,2")
    assert read(tmp_path, columns, marked, null_markers=("N",)) == CODES
    (tmp_path / "old.csv").write_text(marked)
    assert refusal(tmp_path, columns, public()) == (
        "public_data.source: column age: 1 of 3 values cannot be read, first in record 2; fix "
        "the public table, or widen columns.age"
    )


def test_values_outside_go_where_the_columns_send_them(tmp_path, columns) -> None:
    """Ages below 15 and above 99 are clamped; sex 4 is another."""
    assert read(tmp_path, columns, "city,age,sex\nb,2,4\nb,120,1\n") == [[0, 0, 2], [0, 3, 0]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "city,age,sex\nb,17,1\nk,20,1\nx,20,1\n",
            "column city: 2 of 3 values lie outside the column's domain, first in record 2; fix "
            "the public table, or widen columns.city",
        ),
        (
            "city,age,sex\nb,old,1\nb,20.5,1\n",
            "column age: 2 of 2 values cannot be read, first in record 1; fix the public table, "
            "or widen columns.age",
        ),
        (
            "city,age,sex\nb,17,\nb,20,1\n",
            "column sex: 1 of 2 values are missing, but nulls are not allowed, first in record 1; "
            "fix the public table, or widen columns.sex",
        ),
    ],
    ids=["outside", "unreadable", "missing"],
)
def test_a_value_without_a_place_is_refused_and_not_shown(text, said, tmp_path, columns) -> None:
    (tmp_path / "old.csv").write_text(text)
    assert refusal(tmp_path, columns, public()) == f"public_data.source: {said}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "old.csv is empty; a header line is needed"),
        ("city,age,sex\n", "old.csv holds no record"),
        ("city,years,sex\nb,17,1\n", "the header of old.csv: it lacks the columns age"),
        ("town,years,sex\nb,17,1\n", "the header of old.csv: it lacks the columns city, age"),
        (
            "city,age,sex,age\nb,17,1,18\n",
            "the header of old.csv: it has the columns age more than once",
        ),
        (
            "city,age,sex\nb,17,1,9\n",
            "old.csv cannot be read as csv (Expected 3 columns, got 4); check the delimiter "
            "and quotes, and that lines have as many fields as the header",
        ),
    ],
    ids=["no header", "no record", "a column lacks", "columns lack", "twice", "a long line"],
)
def test_a_broken_file_is_refused_with_its_mend(text, said, tmp_path, columns) -> None:
    (tmp_path / "old.csv").write_text(text)
    assert refusal(tmp_path, columns, public()) == f"public_data.source: {said}"


def test_text_that_is_no_utf8_is_refused(tmp_path, columns) -> None:
    (tmp_path / "old.csv").write_bytes(TEXT.encode().replace(b"m", b"\xff"))
    assert refusal(tmp_path, columns, public()).startswith(
        "public_data.source: old.csv is not written in utf-8; say public_data.encoding, such as"
    )


def test_a_table_that_is_not_there_is_refused(tmp_path, columns) -> None:
    said = f"public_data.source: nothing is at {tmp_path}/old.csv; fix the path or URL"
    assert refusal(tmp_path, columns, public()) == said


def test_a_parquet_file_that_is_none_empty_or_damaged_is_refused(tmp_path, columns) -> None:
    table, file = public("old.parquet"), tmp_path / "old.parquet"
    file.write_text(TEXT)
    assert refusal(tmp_path, columns, table) == (
        "public_data.source: old.parquet is not a Parquet file; check public_data.format"
    )
    frame = pd.DataFrame({"city": ["b"] * 0, "age": [1] * 0, "sex": [1] * 0})
    frame.to_parquet(file)
    assert refusal(tmp_path, columns, table) == "public_data.source: old.parquet holds no record"
    file.write_bytes(file.read_bytes()[:-9])
    assert refusal(tmp_path, columns, table).startswith(
        "public_data.source: old.parquet cannot be read as parquet"
    )


def test_a_refusal_is_made_for_people_and_keeps_its_cause(tmp_path, columns) -> None:
    with pytest.raises(SafeError) as caught:
        read_public(public(), columns, tmp_path)
    assert isinstance(caught.value.__cause__, SourceError)


def test_as_many_rows_are_read_as_asked_for(tmp_path, columns) -> None:
    assert read(tmp_path, columns, TEXT, rows=2) == CODES[:2]


def test_a_wrong_delimiter_is_to_be_mended_where_it_stands(tmp_path, columns) -> None:
    (tmp_path / "old.csv").write_text(TEXT.replace(",", ";"))
    assert refusal(tmp_path, columns, public()).endswith("; say public_data.delimiter: ';'")
