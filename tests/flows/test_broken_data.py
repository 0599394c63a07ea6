"""What a user meets when the data are broken: a table of files, messages and exit codes.

Every message is whole, as `hallmark release` prints it and with exit code 3, but for the folders of
the file (`HERE`) and of the workspace (`HOME`). None holds a value of the data: many cases hold the
same canary, which is searched for.
"""

import gzip
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from flows.exits import ExitCode, exit_code_of
from mechanisms.privacy.adjacency import Adjacency, Neighbours
from mechanisms.privacy.ledger import Ledger
from tasks.errors import SafeError
from tasks.prepare import prepare
from tasks.validate import check_table, refuse_failures
from tasks.workspace import Workspace, ledger_url
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


def cell(name: str, column: str, text: str, says: str) -> Broken:
    """A sound table but for one cell, refused by a rule of the spec."""
    row = dict(zip(HEADER.strip().split(","), ROW.strip().split(","), strict=True))
    row[column] = text
    return Broken(name, {"t.csv": HEADER + GOOD + ",".join(row.values()) + "\n"}, rule(says))


def rule(*broken: str) -> str:
    return (
        f"the data break {len(broken)} rule(s) of the spec:\n"
        + "".join(f"  columns.{one}\n" for one in broken)
        + "How many rows break each (internal, do not publish): HOME/work/broken/validation.json"
    )


WHOLE = (
    "age: not all rows are whole numbers or null; mend the data, or list the text under "
    "data.null_markers"
)
NUMBER = WHOLE.replace("age", "wage").replace("whole numbers", "numbers")
DATE = WHOLE.replace("age", "born").replace("whole numbers", "dates written as %d/%m/%Y")
GIVEN = "{}: not all rows are given (nulls: false); or set nulls: true"
WIDEN = "widen the public interval if a public source allows it, or set outside: clamp"
PERSON = (
    "person: not all rows name a person; records without one cannot be protected as a person's; "
    "drop them first"
)
CSV = (
    "check the delimiter, quotes and encoding (UTF-8), and that lines have as many fields as the "
    "header"
)
UNKNOWN = (
    "it has {} columns that the spec does not name (list them under columns, or under data.ignore; "
    "their names are not shown, since without a header line they would be a record)"
)
PARQUET = "it may be truncated or damaged; copy or write it again"

BROKEN = [
    Broken("missing", {}, "data.source: nothing is at HERE/t.csv; mend the path or URL"),
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
        "data.source: the header of t.csv is a single field when split at ','; mend data.delimiter",
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
        f"data.source: t.csv cannot be read as csv (invalid UTF8); {CSV}",
    ),
    Broken(
        "UTF-16",
        {"t.csv": (HEADER + GOOD + ROW).encode("utf-16")},
        "data.source: the header of t.csv: it lacks the columns age, wage, grade, born, person; "
        + UNKNOWN.format(5),
    ),
    Broken(
        "carriage returns alone",
        {"t.csv": (HEADER + GOOD + ROW).replace("\n", "\r")},
        f"data.source: t.csv cannot be read as csv (Error); {CSV}",
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
        f"data.source: t.parquet cannot be read as parquet (ArrowNotImplementedError); {PARQUET}",
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


def written(folder: Path, files: dict[str, str | bytes], source: str) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    spec = folder / "spec.yaml"
    with spec.open("w") as handle:
        YAML().dump({**SPEC, "data": {**SPEC["data"], "source": source}}, handle)
    return spec


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_broken_data_get_exactly_their_message(broken: Broken, home: Path, tmp_path: Path) -> None:
    prepared = prepare(written(tmp_path, broken.files, broken.source))
    with pytest.raises(SafeError) as refused:
        refuse_failures(check_table(prepared), Workspace.of("broken").findings)
    told = str(refused.value).replace(f"{home}", "HOME").replace(f"{tmp_path}", "HERE")
    assert told == broken.says
    assert exit_code_of(refused.value) == ExitCode.DATA
    chain = f"{refused.value!r} {refused.value.__cause__!r} {refused.value.__context__!r}"
    assert CANARY not in chain


@pytest.mark.parametrize("broken", BROKEN[::8], ids=lambda broken: broken.name)
def test_a_release_of_broken_data_ends_in_the_same_message_and_publishes_nothing(
    broken: Broken, hallmark: Hallmark, home: Path, tmp_path: Path
) -> None:
    open_account(adjacency=Adjacency(neighbours=Neighbours.ADD_REMOVE, records=2, person="person"))
    spec = written(tmp_path, broken.files, broken.source)
    done = hallmark("release", spec, "--out", tmp_path / "out")
    assert done.error.replace(f"{home}", "HOME").replace(f"{tmp_path}", "HERE") == broken.says
    assert done.code == ExitCode.DATA
    assert CANARY not in done.out + done.err
    assert not (tmp_path / "out").exists()
    assert Ledger(ledger_url()).account("test-people").reserved == (0, 0)


SOUND: list[tuple[str, str, str | bytes]] = [
    ("a byte-order mark", "t.csv", "\ufeff" + HEADER + GOOD + ROW),
    ("carriage returns with line feeds", "t.csv", (HEADER + GOOD + ROW).replace("\n", "\r\n")),
    ("no line feed at the end", "t.csv", (HEADER + GOOD + ROW).rstrip()),
    ("empty lines between records", "t.csv", HEADER + GOOD + "\n\n" + ROW),
    ("columns in another order", "t.csv", "wage,age,born,person,grade\n1,2,31/12/1999,p1,a\n" * 1),
    ("quotes and spaces around values", "t.csv", HEADER + '"41", 10.5 ,"a",31/12/1999,p1\n'),
    ("compression", "t.csv.gz", gzip.compress((HEADER + GOOD + ROW).encode())),
    ("Parquet dates", "t.parquet", parquet(frame(born=pd.to_datetime(["1999-12-31", "1980-02-01"])))),  # noqa: E501  # one case a line
    ("a whole number written as a float", "t.csv", HEADER + GOOD.replace("41", "41.0")),
    ("a whole number in scientific notation", "t.csv", HEADER + GOOD.replace("41", "4e1")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "file", "content"), SOUND, ids=[name for name, _, _ in SOUND])
def test_what_only_looks_broken_is_read(
    name: str, file: str, content: str | bytes, home: Path, tmp_path: Path
) -> None:
    prepared = prepare(written(tmp_path, {file: content}, file))
    refuse_failures(check_table(prepared), Workspace.of("broken").findings)
