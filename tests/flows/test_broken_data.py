"""What a user meets when the data are broken: a table of files, messages and exit codes.

Every message is whole, as `hallmark release` prints it and with exit code 3, but for the folders of
the file (`HERE`) and of the workspace (`HOME`). None holds a value of the data: many cases hold the
same canary, which is searched for.
"""

import gzip
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from hallmark.flows.cli.exits import ExitCode, exit_code_of
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.validate import check_table, refuse_failures
from tests.example import SOURCE, open_account
from tests.flows.conftest import Hallmark

CANARY = "73193"
HEADER = "age,wage,grade,born,person\n"
GOOD = "41,10.5,a,31/12/1999,p1\n"
ROW = f"17,9.25,b,01/02/1980,p{CANARY}\n"
PUBLIC = {"nulls": False, "outside": "refuse", "bound_source": SOURCE}

SPEC: dict[str, Any] = {
    "hallmark": 1,
    "release": "broken",
    "title": "A broken table",
    "population": {"account": "test-people"},
    "data": {"null_markers": ["NA"], "expected_rows": 10, "record": "one job"},
    "privacy": {
        "neighbours": "add_remove",
        "unit": {"person": "person", "max_records": 2},
        "epsilon": "1",
        "delta": "1e-5",
    },
    "mechanism": {"name": "privpgd"},
    "columns": {
        "age": {
            "type": "numeric", "integer": True, "minimum": 0, "maximum": 99, "cells": 4, **PUBLIC,
        },
        "wage": {"type": "numeric", "minimum": 0, "maximum": 50, "cells": 4, **PUBLIC},
        "grade": {"type": "ordinal", "categories": ["a", "b"], **PUBLIC},
        "born": {
            "type": "date", "minimum": "1920-01-01", "maximum": "2019-12-31", "cells": 5,
            "format": "%d/%m/%Y", **PUBLIC,
        },
    },
}  # fmt: skip


def frame(**columns: list[Any]) -> pd.DataFrame:
    text = pd.read_csv(io.StringIO(HEADER + GOOD + ROW), dtype={"age": int, "wage": float})
    return text.assign(**columns)


def parquet(table: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.to_parquet(buffer)
    return buffer.getvalue()


def floats(*values: float) -> bytes:
    """A Parquet file whose wages hold NaN as a number, which pandas would write as a null."""
    table = pa.Table.from_pandas(frame()).set_column(1, "wage", pa.array(values))
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


@dataclass(frozen=True)
class Broken:
    """A broken table: its files by name, and the refusal."""

    name: str
    files: dict[str, str | bytes]
    says: str
    source: str = "t.csv"
    data: dict[str, Any] = field(default_factory=dict)  # other keys of the section
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)  # other keys of columns


def cell(name: str, column: str, text: str, says: str, **keys: Any) -> Broken:
    """A sound table but for one cell, refused by a rule of the spec; `keys` are of its column."""
    row = dict(zip(HEADER.strip().split(","), ROW.strip().split(","), strict=True))
    row[column] = text
    return Broken(
        name,
        {"t.csv": HEADER + GOOD + ",".join(row.values()) + "\n"},
        rule(says),
        columns={column: keys},
    )


def rule(*broken: str) -> str:
    return (
        f"the data break {len(broken)} rule(s) of the spec:\n"
        + "".join(f"  columns.{one}\n" for one in broken)
        + "The values that break them, with counts (confidential, do not publish): "
        "HOME/work/broken/validation.html"
    )


WHOLE = (
    "age: not all rows are whole numbers or null; correct the data, state their format by "
    "decimal_mark and thousands, or list the text under null_markers"
)
NUMBER = WHOLE.replace("age", "wage").replace("whole numbers", "numbers")
DATE = (
    "born: not all rows are dates written as %d/%m/%Y or null; correct the data or the column's "
    "format, or list the text under its null_markers"
)
GIVEN = "{}: not all rows have a value (nulls: false); set nulls: true"
WIDEN = "widen the public interval if a public source allows it, or set outside: clamp"
PERSON = (
    "person: not all rows name a person; records without a person cannot be protected as "
    "a person's; drop them first"
)
CSV = "check the delimiter and quotes, and that lines have as many fields as the header"
CHARACTERS = (
    "data.source: t.csv is not written in {}; say data.encoding, such as latin-1, windows-1252 or "
    "utf-8"
)
INDEX = (
    "data.source: the header of {}: it has a column that holds the index of a pandas frame; write "
    'the table without it (index=False), or say data.ignore: ["{}"]'
)
UNKNOWN = (
    "it has {} columns that the spec does not name (list them under columns, or under data.ignore; "
    "their names are not shown, since without a header line they would be a record)"
)
PARQUET = "it may be truncated or damaged; copy or write it again"

BROKEN = [
    Broken("missing", {}, "data.source: nothing is at HERE/t.csv; fix the path or URL"),
    Broken("empty", {"t.csv": ""}, "data.source: t.csv is empty; a header line is needed"),
    Broken(
        "a header and no row",
        {"t.csv": HEADER},
        "data.source: the table has no rows; nothing can be released",
    ),
    Broken(
        "no header",
        {"t.csv": GOOD + ROW},
        "data.source: the header of t.csv: it lacks the columns age, wage, grade, born, person; "
        + UNKNOWN.format(5),
    ),
    Broken(
        "another delimiter",
        {"t.csv": (HEADER + GOOD + ROW).replace(",", ";")},
        "data.source: the header of t.csv is a single field when split at ','; say "
        "data.delimiter: ';'",
    ),
    Broken(
        "a delimiter that nobody would guess",
        {"t.csv": (HEADER + GOOD + ROW).replace(",", "~")},
        "data.source: the header of t.csv is a single field when split at ','; fix data.delimiter",
    ),
    Broken(
        "a column too few",
        {"t.csv": f"age,wage,grade,person\n17,9.25,b,p{CANARY}\n"},
        "data.source: the header of t.csv: it lacks the columns born",
    ),
    Broken(
        "a column too many",
        {"t.csv": HEADER.strip() + f",{CANARY}\n" + ROW.strip() + ",1\n"},
        "data.source: the header of t.csv: " + UNKNOWN.format(1),
    ),
    Broken(
        "a column twice",
        {"t.csv": HEADER.strip() + ",age\n" + ROW.strip() + ",1\n"},
        "data.source: the header of t.csv: it has the columns age more than once",
    ),
    Broken(
        "a row with a field too many",
        {"t.csv": HEADER + GOOD + ROW.strip() + ",1\n"},
        f"data.source: t.csv cannot be read as csv (Expected 5 columns, got 6); {CSV}",
    ),
    Broken(
        "a row with a field too few",
        {"t.csv": HEADER + GOOD + f"17,9.25,b,p{CANARY}\n"},
        f"data.source: t.csv cannot be read as csv (Expected 5 columns, got 4); {CSV}",
    ),
    Broken(
        "Latin-1",
        {"t.csv": (HEADER + GOOD + ROW.replace(",b,", ",é,")).encode("latin-1")},
        CHARACTERS.format("utf-8"),
    ),
    Broken(
        "Latin-1 in the header",
        {"t.csv": (HEADER.strip() + ",größe\n" + ROW.strip() + ",1\n").encode("latin-1")},
        CHARACTERS.format("utf-8"),
    ),
    Broken(
        "Latin-1 far behind the header",
        {"t.csv": (HEADER + GOOD * 200_000 + ROW.replace(",b,", ",é,")).encode("latin-1")},
        CHARACTERS.format("utf-8"),
    ),
    Broken(
        "a byte that the encoding lacks",
        {"t.csv": (HEADER + GOOD + ROW).encode().replace(b",b,", b",\x81,")},
        CHARACTERS.format("windows-1252"),
        data={"encoding": "windows-1252"},
    ),
    Broken(
        "a byte that the encoding lacks, far behind the header",
        {"t.csv": (HEADER + GOOD * 200_000 + ROW).encode().replace(b",b,", b",\x81,")},
        CHARACTERS.format("windows-1252"),
        data={"encoding": "windows-1252"},
    ),
    Broken(
        "UTF-16",
        {"t.csv": (HEADER + GOOD + ROW).encode("utf-16")},
        "data.source: t.csv is written in UTF-16; say data.encoding: utf-16",
    ),
    Broken(
        "UTF-8 with its mark, called something else",
        {"t.csv": "\ufeff" + HEADER + GOOD + ROW},
        "data.source: t.csv begins with the mark of UTF-8, but data.encoding is latin-1; correct "
        "that",
        data={"encoding": "latin-1"},
    ),
    Broken(
        "a workbook called CSV",
        {"t.csv": b"PK\x03\x04" + CANARY.encode()},
        "data.source: t.csv is an archive, such as a workbook of Excel; let its name end in .xlsx",
    ),
    Broken(
        "a compressed file whose name does not say so",
        {"t.csv": gzip.compress((HEADER + GOOD + ROW).encode())},
        "data.source: t.csv is compressed; let its name end in .gz",
    ),
    Broken(
        "the index of a pandas frame",
        {"t.csv": frame().to_csv(date_format="%d/%m/%Y")},
        INDEX.format("t.csv", ""),
    ),
    Broken(
        "the index of a pandas frame in Parquet",
        {"t.parquet": parquet(frame().set_index(pd.Index(["x", CANARY])))},
        INDEX.format("t.parquet", "__index_level_0__"),
        source="t.parquet",
    ),
    Broken(
        "no header and an empty first field",
        {"t.csv": f",9.25,b,01/02/1980,p{CANARY}\n" + GOOD},
        "data.source: the header of t.csv: it lacks the columns age, wage, grade, born, person; "
        + UNKNOWN.format(5),
    ),
    Broken(
        "a column twice but for spaces",
        {"t.csv": HEADER.strip() + ",age \n" + ROW.strip() + ",1\n"},
        "data.source: the header of t.csv: it has the columns age more than once",
    ),
    Broken(
        "a compressed file that is cut",
        {"t.csv.gz": gzip.compress((HEADER + GOOD + ROW).encode())[:-12]},
        f"data.source: t.csv.gz cannot be read as csv (EOFError); {CSV}",
        source="t.csv.gz",
    ),
    Broken(
        "a compressed file that is not",
        {"t.csv.gz": HEADER + GOOD + ROW},
        f"data.source: t.csv.gz cannot be read as csv (BadGzipFile); {CSV}",
        source="t.csv.gz",
    ),
    Broken(
        "CSV called Parquet",
        {"t.parquet": HEADER + GOOD + ROW},
        "data.source: t.parquet is not a Parquet file; check data.format",
        source="t.parquet",
    ),
    Broken(
        "Parquet called CSV",
        {"t.csv": parquet(frame())},
        "data.source: t.csv is a Parquet file; check data.format",
    ),
    Broken(
        "a Parquet file that is cut",
        {"t.parquet": parquet(frame())[:-20]},
        f"data.source: t.parquet cannot be read as parquet (ArrowInvalid); {PARQUET}",
        source="t.parquet",
    ),
    Broken(
        "Parquet with a column too few",
        {"t.parquet": parquet(frame().drop(columns="born"))},
        "data.source: the header of t.parquet: it lacks the columns born",
        source="t.parquet",
    ),
    Broken(
        "Parquet with lists in a column",
        {"t.parquet": parquet(frame(grade=[["a"], [CANARY]]))},
        "data.source: t.parquet: column grade holds lists or structures; write texts or numbers",
        source="t.parquet",
    ),
    Broken(
        "Parquet with NaN, which counts as a null",
        {"t.parquet": floats(1.5, float("nan"))},
        rule(GIVEN.format("wage")),
        source="t.parquet",
    ),
    Broken(
        "Parquet with an infinity",
        {"t.parquet": floats(1.5, float("inf"))},
        rule(NUMBER),
        source="t.parquet",
    ),
    Broken(
        "a folder without a part",
        {"parts/readme.txt": "nothing"},
        "data.source: no .csv or .parquet file in folder HERE/parts",
        source="parts",
    ),
    Broken(
        "a folder of CSV and Parquet",
        {"parts/a.csv": HEADER + GOOD, "parts/b.parquet": parquet(frame())},
        "data.source: the folder mixes CSV and Parquet; set data.format, or split",
        source="parts",
    ),
    Broken(
        "a folder with one broken part",
        {"parts/a.csv": HEADER + GOOD, "parts/b.csv": ROW + GOOD},
        "data.source: the header of b.csv: it lacks the columns age, wage, grade, born, person; "
        + UNKNOWN.format(5),
        source="parts",
    ),
    Broken(
        "a protocol that nobody knows",
        {},
        "data.source: nfs9://store/t.csv cannot be opened: Protocol not known: nfs9",
        source="nfs9://store/t.csv",
    ),
    cell("a text for a number", "wage", f"x{CANARY}", NUMBER),
    cell("a decimal comma", "wage", f'"7,{CANARY}"', NUMBER),
    cell("a decimal point where the comma is the mark", "wage", "9.25", NUMBER, decimal_mark=","),
    cell("thousands parted at the wrong place", "wage", "1 73 193", NUMBER, thousands=" "),
    cell("thousands parted by another sign", "wage", "1'073", NUMBER, thousands=" "),
    cell("a null marker of other columns", "wage", "NA", NUMBER, null_markers=["-9"]),
    cell("a null marker of the column where nulls are refused", "wage", "-9", GIVEN.format("wage"), null_markers=["-9"]),  # noqa: E501  # one case a line
    cell("NaN as a text", "wage", "NaN", NUMBER),
    cell("infinity as a text", "wage", "inf", NUMBER),
    cell("a fraction for a whole number", "age", f"17.{CANARY}", WHOLE),
    cell("a digit too many for any number", "age", CANARY * 99, WHOLE),
    cell("a huge whole number", "age", CANARY + "0" * 20, f"age: not all rows lie between 0 and 99; {WIDEN}"),  # noqa: E501  # one case a line
    cell("below the interval", "wage", "-0.01", f"wage: not all rows lie between 0 and 50; {WIDEN}"),  # noqa: E501  # one case a line
    cell("an unknown category", "grade", CANARY, "grade: not all rows are one of the 2 categories; add the category if it is public, or set outside: catch_all"),  # noqa: E501  # one case a line
    cell("a category in capitals", "grade", "A", "grade: not all rows are one of the 2 categories; add the category if it is public, or set outside: catch_all"),  # noqa: E501  # one case a line
    cell("no such day", "born", "31/02/1980", DATE),
    cell("a date in another order", "born", "12/31/1980", DATE),
    cell("a day outside", "born", "01/01/2020", f"born: not all rows lie between 1920-01-01 and 2019-12-31; {WIDEN}"),  # noqa: E501  # one case a line
    cell("a null marker where nulls are refused", "wage", "NA", GIVEN.format("wage")),
    cell("an empty field that is no null marker", "wage", "", NUMBER),
    cell("no person", "person", "NA", PERSON),
    Broken(
        "several rules at once",
        {"t.csv": HEADER + GOOD + f"x,NA,{CANARY},01/02/1980,NA\n"},
        rule(
            WHOLE,
            GIVEN.format("wage"),
            "grade: not all rows are one of the 2 categories; add the category if it is public, "
            "or set outside: catch_all",
            PERSON,
        ),
    ),
]  # fmt: skip


def written(
    folder: Path,
    files: dict[str, str | bytes],
    source: str,
    data: Mapping[str, Any] = MappingProxyType({}),
    columns: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    spec = folder / "spec.yaml"
    with spec.open("w") as handle:
        known = SPEC["columns"]
        changed = {name: {**known[name], **columns.get(name, {})} for name in known}
        section = {**SPEC["data"], "source": source, **data}
        YAML().dump({**SPEC, "data": section, "columns": changed}, handle)
    return spec


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_broken_data_get_exactly_their_message(broken: Broken, home: Path, tmp_path: Path) -> None:
    spec = written(tmp_path, broken.files, broken.source, broken.data, broken.columns)
    prepared = prepare(spec)
    with pytest.raises(SafeError) as refused:
        refuse_failures(
            check_table(prepared.spec, prepared.source), Workspace.of("broken").offending
        )
    told = str(refused.value).replace(f"{home}", "HOME").replace(f"{tmp_path}", "HERE")
    assert told == broken.says
    assert exit_code_of(refused.value) == ExitCode.DATA
    chain = f"{refused.value!r} {refused.value.__cause__!r} {refused.value.__context__!r}"
    assert CANARY not in chain


# One of a file that cannot be read, and one of rows that break rules.
@pytest.mark.parametrize("broken", [BROKEN[10], BROKEN[-1]], ids=lambda broken: broken.name)
def test_a_release_of_broken_data_ends_in_the_same_message_and_publishes_nothing(
    broken: Broken, hallmark: Hallmark, home: Path, tmp_path: Path
) -> None:
    open_account(adjacency=Adjacency(neighbours=Neighbours.ADD_REMOVE, records=2, person="person"))
    spec = written(tmp_path, broken.files, broken.source, broken.data, broken.columns)
    done = hallmark("release", spec, "--out", tmp_path / "out")
    told = done.error.replace(f"{home}", "HOME").replace(f"{tmp_path}", "HERE")
    assert [line.strip() for line in told.splitlines()] == [
        line.strip() for line in broken.says.splitlines()
    ]
    assert done.code == ExitCode.DATA
    assert CANARY not in done.out + done.err
    assert not (tmp_path / "out").exists()
    assert Ledger(ledger_url()).account("test-people").reserved == (0, 0)


@dataclass(frozen=True)
class Sound:
    """A table that only looks broken."""

    name: str
    content: str | bytes
    file: str = "t.csv"
    data: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)


TABLE = HEADER + GOOD + ROW
NULLS = {"nulls": True}
SOUND = [
    Sound("a byte-order mark", "\ufeff" + TABLE),
    Sound("carriage returns with line feeds", TABLE.replace("\n", "\r\n")),
    Sound("no line feed at the end", TABLE.rstrip()),
    Sound("empty lines between records", HEADER + GOOD + "\n\n" + ROW),
    Sound("columns in another order", "wage,age,born,person,grade\n1,2,31/12/1999,p1,a\n"),
    Sound("quotes and spaces around values", HEADER + '"41", 10.5 ,"a",31/12/1999,p1\n'),
    Sound("line feeds within quotes", HEADER + '41,10.5,a,31/12/1999,"p\n\n1"\n' + ROW),
    Sound(
        "a line feed within a quoted name",
        TABLE.replace("\n", ",1\n").replace("person,1", 'person,"a\nb"'),
        data={"ignore": ["a\nb"]},
    ),
    Sound("spaces around names", TABLE.replace(",grade,", ", grade ,")),
    Sound("names in quotes", TABLE.replace("age,wage", '"age","wage"')),
    Sound("another delimiter", TABLE.replace(",", ";"), data={"delimiter": ";"}),
    Sound(
        "the index of a pandas frame, ignored",
        frame().assign(born="01/02/1980").to_csv(),
        data={"ignore": [""]},
    ),
    Sound(
        "a delimiter at the end of every line, ignored",
        TABLE.replace("\n", ",\n"),
        data={"ignore": [""]},
    ),
    Sound(
        "columns of one name, ignored",
        "x,x," + TABLE.replace("\n", "\n1,2,").removesuffix("1,2,"),
        data={"ignore": ["x"]},
    ),
    Sound("compression", gzip.compress(TABLE.encode()), "t.csv.gz"),
    Sound(
        "Parquet dates",
        parquet(frame(born=pd.to_datetime(["1999-12-31", "1980-02-01"]))),
        "t.parquet",
    ),
    Sound("a whole number written as a float", HEADER + GOOD.replace("41", "41.0")),
    Sound("a whole number in scientific notation", HEADER + GOOD.replace("41", "4e1")),
    Sound(
        "Latin-1",
        (HEADER + GOOD + ROW.replace(",p", ",é")).encode("latin-1"),
        data={"encoding": "latin-1"},
    ),
    Sound(
        "windows-1252",
        (HEADER + GOOD + ROW.replace(",p", ",€")).encode("cp1252"),
        data={"encoding": "windows-1252"},
    ),
    Sound("UTF-16", TABLE.encode("utf-16"), data={"encoding": "utf-16"}),
    Sound(
        "a decimal comma",
        HEADER + GOOD.replace("10.5", '"10,5"'),
        columns={"wage": {"decimal_mark": ","}},
    ),
    Sound(
        "a decimal comma and thousands",
        HEADER + GOOD.replace("10.5", '"0.010,5"'),
        columns={"wage": {"decimal_mark": ",", "thousands": "."}},
    ),
    Sound(
        "thousands parted by a space that does not break",
        HEADER + GOOD.replace("10.5", "0\u00a0010.5"),
        columns={"wage": {"thousands": "\u00a0"}},
    ),
    Sound("thousands parted nowhere", HEADER + GOOD + ROW, columns={"wage": {"thousands": "'"}}),
    Sound(
        "a null marker of the column",
        HEADER + GOOD.replace("10.5", "-9"),
        columns={"wage": {"null_markers": ["-9"], **NULLS}},
    ),
    Sound(
        "the file's null marker as a category",
        HEADER + GOOD.replace(",a,", ",NA,"),
        columns={"grade": {"null_markers": [""], "categories": ["NA", "b"]}},
    ),
    Sound("carriage returns alone", TABLE.replace("\n", "\r")),
]


@pytest.mark.parametrize("sound", SOUND, ids=lambda sound: sound.name)
def test_what_only_looks_broken_is_read(sound: Sound, home: Path, tmp_path: Path) -> None:
    files = {sound.file: sound.content}
    prepared = prepare(written(tmp_path, files, sound.file, sound.data, sound.columns))
    refuse_failures(check_table(prepared.spec, prepared.source), Workspace.of("broken").offending)
