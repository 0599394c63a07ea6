"""Reading private tables: every format gives the same text, and no message tells a cell."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hallmark.tasks.sources import Source, SourceError, batches, parquet_files, parts

SECRET = "73193-canary"


def table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": pd.array([3, 41, None, 99], dtype="Int64"),
            "code": ["01", "7", None, SECRET],
            "income": [0.0, 12.5, np.nan, 1e6],
        }
    )


def source(location: Path, **changes: object) -> Source:
    fields: dict[str, object] = {
        "location": str(location),
        "null_markers": ("N", ""),
        "columns": ("age", "code", "income"),
    }
    return Source(**(fields | changes))  # type: ignore[arg-type]


def read(location: Path, **changes: object) -> list[list[str | None]]:
    frames = [b for part in parts(source(location, **changes)) for b in batches(part)]
    frame = pd.concat(frames).astype(object)
    return frame.where(frame.notna(), None).to_numpy().tolist()


EXPECTED = [["3", "01", "0"], ["41", "7", "12.5"], [None, None, None], ["99", SECRET, "1000000"]]


def test_csv_and_parquet_read_alike(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "t.csv", index=False, na_rep="N")
    table().to_parquet(tmp_path / "t.parquet")
    as_csv = read(tmp_path / "t.csv")
    assert read(tmp_path / "t.parquet") == EXPECTED
    assert [[r[0], r[1]] for r in as_csv] == [[r[0], r[1]] for r in EXPECTED]
    assert [r[2] and float(r[2]) for r in as_csv] == [r[2] and float(r[2]) for r in EXPECTED]


def test_a_folder_of_parts_is_their_concatenation_in_order_of_name(tmp_path: Path) -> None:
    for index in (1, 0):
        table().iloc[2 * index : 2 * index + 2].to_parquet(tmp_path / f"part-{index}.parquet")
    (tmp_path / "_SUCCESS").touch()
    assert read(tmp_path) == EXPECTED


def test_parquet_row_groups_become_parts_that_cover_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "PART_ROWS", 40)
    frame = pd.concat([table()] * 50, ignore_index=True)
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=7)
    pieces = parts(source(tmp_path / "t.parquet", batch_rows=10))
    assert len(pieces) > 1
    assert sum(len(b) for p in pieces for b in batches(p)) == len(frame)


def test_quoted_newlines_and_delimiters_belong_to_the_cell(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('age;code;income\n3;"a;\nb";1\n')
    assert read(tmp_path / "t.csv", delimiter=";") == [["3", "a;\nb", "1"]]


def test_ignored_columns_are_not_read(tmp_path: Path) -> None:
    table().assign(secret=SECRET).to_csv(tmp_path / "t.csv", index=False)
    frame = next(batches(parts(source(tmp_path / "t.csv", ignored=("secret",)))[0]))
    assert list(frame.columns) == ["age", "code", "income"]


def test_categorical_and_boolean_parquet_columns_become_text(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"age": [True, False], "code": pd.Categorical(["x", "y"]), "income": [1, 2]}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet") == [["true", "x", "1"], ["false", "y", "2"]]


BROKEN = [
    ("nothing.csv", None, "nothing is at"),
    ("t.csv", "", "is empty; a header line is needed"),
    ("t.csv", "age,code\n3,01\n", "lacks the columns income"),
    ("t.csv", "age,code,income,code\n3,01,1,2\n", "has the columns code more than once"),
    ("t.csv", f"41,{SECRET},7.5\n42,02,8\n", "has 3 columns that the spec does not name"),
    ("t.csv", f"age,code,income\n3,{SECRET},1,9\n", "Expected 3 columns, got 4"),
    ("t.csv", f"age,code,income\n3,{SECRET}\n", "Expected 3 columns, got 2"),
    (
        "t.csv",
        f"age,code,income\n3,{SECRET}\xff,1\n",
        "t.csv is not written in utf-8; say data.encoding, such as latin-1",
    ),
    ("t.parquet", f"age,code,income\n3,{SECRET},1\n", "is not a Parquet file"),
    ("t.txt", f"age,code,income\n3,{SECRET},1\n", "cannot tell the format"),
]


@pytest.mark.parametrize(("name", "content", "message"), BROKEN)
def test_a_broken_source_is_refused_without_telling_a_cell(
    tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(SourceError, match=re.escape(message)) as caught:
        read(tmp_path / name)
    told = f"{caught.value!r} {caught.value.__context__!r} {caught.value.__cause__!r}"
    assert SECRET not in told


def test_a_folder_that_mixes_formats_is_refused(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "a.csv", index=False)
    table().to_parquet(tmp_path / "b.parquet")
    with pytest.raises(SourceError, match="mixes CSV and Parquet"):
        parts(source(tmp_path))


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no \.csv or \.parquet file"):
        parts(source(tmp_path))


def test_a_float_that_is_not_a_number_is_a_null(tmp_path: Path) -> None:
    """As text it would be one name, and all who bear it would be truncated as one person."""
    column = pa.array([1.0, float("nan")], from_pandas=False)
    pq.write_table(
        pa.table({"age": column, "code": ["a", "b"], "income": column}), tmp_path / "t.parquet"
    )
    assert read(tmp_path / "t.parquet") == [["1", "a", "1"], [None, "b", None]]
