"""Excel workbooks as private tables: what is read, and hostile ones."""

import zipfile
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path

import pandas as pd
import pytest
from openpyxl import Workbook

from hallmark.tasks.sources import Source, SourceError, batches, parts, workbooks

SECRET = "canary-73193"
COLUMNS = ("age", "code", "born", "income")
ROWS = [
    [3, "01067", date(2019, 12, 31), 1.5],
    [41.0, "NA", datetime(2019, 1, 2, 13, 30), 1e6],
    [None, None, None, None],
    [None, f" {SECRET} ", "31/12/2019", 0.25],
]
READ = [
    ["3", "01067", "2019-12-31", "1.5"],
    ["41", None, "2019-01-02", "1000000"],
    [None, SECRET, "31/12/2019", "0.25"],
]


def book(file: Path, *sheets: str) -> Path:
    made = Workbook()
    for name in sheets or ("data",):
        sheet = made.create_sheet(name)
        for row in [COLUMNS, *ROWS]:
            sheet.append(list(row))
    del made["Sheet"]
    made.save(file)
    return file


def read(file: Path, **changes: object) -> list[list[str | None]]:
    fields: dict[str, object] = {
        "location": str(file), "null_markers": ("NA",), "columns": COLUMNS,
    }  # fmt: skip
    source = Source(**(fields | changes))  # type: ignore[arg-type]
    frames = [frame for part in parts(source) for frame in batches(part)]
    whole = pd.concat(frames).astype(object)
    return whole.where(whole.notna(), None).to_numpy().tolist()


def test_cells_are_read_as_in_every_format(tmp_path: Path):
    file = book(tmp_path / "t.xlsx")
    assert read(file) == READ
    assert read(file, sheet="data") == READ
    columns = ("income", "age")
    swapped = read(file, columns=columns, ignored=("code", "born"))
    assert swapped == [[row[3], row[0]] for row in READ]


def test_rows_come_in_batches_that_fit(tmp_path: Path):
    assert read(book(tmp_path / "t.xlsx"), batch_rows=2) == READ


def test_of_several_sheets_the_spec_names_one(tmp_path: Path):
    file = book(tmp_path / "t.xlsx", "notes", SECRET)
    assert read(file, sheet=SECRET) == READ
    with pytest.raises(SourceError, match=r"t\.xlsx has 2 sheets; say data\.sheet") as told:
        read(file)
    assert SECRET not in str(told.value)
    with pytest.raises(SourceError, match=r"has no sheet .other.; fix data\.sheet"):
        read(file, sheet="other")
    with file.open("rb") as handle:
        assert workbooks.sheets(handle) == ["notes", SECRET]


def test_a_missing_column_is_named(tmp_path: Path):
    with pytest.raises(SourceError, match="it lacks the columns wage"):
        read(book(tmp_path / "t.xlsx"), columns=("age", "wage"), others_ignored=True)


def rewritten(file: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Change one text of the archive."""
    with zipfile.ZipFile(file) as archive:
        content = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    content[name] = change(content.get(name, b""))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, data in content.items():
            archive.writestr(entry, data)


SHEET = "xl/worksheets/sheet1.xml"
ENTITY = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;">]>'
FOREIGN = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
LONG = b"<row><c t='inlineStr'><is><t>" + b"x" * 20_000 + b"</t></is></c></row>"
FAR = b"<row r='1048576'><c r='XFD1048576'><v>1</v></c></row>"


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        (SHEET, lambda text: text[: len(text) // 2], "no sound workbook|OSError"),
        (SHEET, lambda text: ENTITY + text, "OSError"),
        (SHEET, lambda text: FOREIGN + text, "OSError"),
        ("xl/workbook.xml", lambda text: FOREIGN + text, "OSError"),
        ("xl/styles.xml", lambda text: text.replace(b"<fonts", b"<fonts" + b" " * 2**26), "stand"),
        (SHEET, lambda text: text.replace(b"</sheetData>", LONG + b"</sheetData>"), "16,384 bytes"),
        (SHEET, lambda text: text.replace(b"<v>3</v>", b"<v>canary</v>"), "OSError"),
    ],
)
def test_a_hostile_workbook_is_refused_without_a_word_of_it(
    name: str, change: Callable[[bytes], bytes], says: str, tmp_path: Path
):
    file = book(tmp_path / "t.xlsx")
    rewritten(file, name, change)
    with pytest.raises(SourceError, match=says) as told:
        read(file)
    assert SECRET not in str(told.value)
    assert "canary" not in repr((told.value.__cause__, told.value.__context__))


def test_a_cell_far_away_costs_no_memory(tmp_path: Path):
    file = book(tmp_path / "t.xlsx")
    rewritten(file, SHEET, lambda text: text.replace(b"</sheetData>", FAR + b"</sheetData>"))
    assert read(file) == READ


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\xd0\xcf\x11\xe0 an older one", b"a,b"])
def test_what_is_no_workbook_is_refused(content: bytes, tmp_path: Path):
    file = tmp_path / "t.xlsx"
    file.write_bytes(content)
    with pytest.raises(SourceError, match=r"cannot be read as xlsx .* save it again as \.xlsx"):
        read(file)


def test_an_archive_that_unpacks_to_more_than_it_says_is_cut_off(tmp_path: Path):
    file = book(tmp_path / "t.xlsx")
    rewritten(file, "xl/styles.xml", lambda text: text + b" " * 2**20)
    bytes_of = bytearray(file.read_bytes())
    stated = (len(zipfile.ZipFile(file).read("xl/styles.xml"))).to_bytes(4, "little")
    assert bytes_of.count(stated) >= 2
    file.write_bytes(bytes(bytes_of).replace(stated, (100).to_bytes(4, "little")))
    with pytest.raises(SourceError, match="OSError"):
        read(file)
