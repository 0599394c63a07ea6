"""Dictionaries in sheets: what rows say, in many spellings, and what is refused without a quote."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from hallmark.schemas.given_dictionary import DictionaryError, GivenColumn, GivenDictionary
from hallmark.tasks.dictionaries import read_dictionary, sheets

CANARY = "canary-7319"
Rows = Sequence[Sequence[Any]]

COLUMNS: Rows = [
    ["Variable name", "Label", "Type", "Min", "Max", "Unit", "Missing values", "Interviewer"],
    ["age", "Age in years", "integer", 0, 120, "years", "-9; -8 = refused", "x"],
    ["sex", "Sex", "nominal", None, None, None, None, None],
    [],
    ["pay", "Monthly pay", "float", 0, "open", "euros", None, None],
    ["since", None, "Date", "1990-01-01", "2024-12-31", None, None, None],
    ["pension", "Pension", "yes/no", None, None, None, None, None],
    ["note", "Remarks", "text", None, None, None, None, None],
]
CODES: Rows = [
    ["variable", "value", "value label"],
    ["sex", 1, "male"],
    [None, 2, "female"],
    ["pension", "1", "Yes"],
    [None, "0", "no"],
    ["age", 0, "less than a year"],
]


def book(folder: Path, **by_title: Rows) -> Path:
    made = openpyxl.Workbook()
    made.remove(made.active)
    for title, rows in by_title.items():
        sheet = made.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    made.save(folder / "book.xlsx")
    return folder / "book.xlsx"


def as_csv(folder: Path, text: str, encoding: str = "utf-8") -> GivenDictionary:
    file = folder / "book.csv"
    file.write_bytes(text.encode(encoding))
    return read_dictionary(file)


def test_a_workbook_says_what_its_columns_are(tmp_path: Path) -> None:
    notes = [["Title", CANARY], ["name", "only"]]
    found = read_dictionary(book(tmp_path, Notes=notes, Variables=COLUMNS, Codes=CODES))
    assert (found.file, found.missing) == ("book.xlsx", ())
    where = "data dictionary book.xlsx, sheet Variables, row "
    assert found.columns == {
        "age": GivenColumn(
            description="Age in years", type="numeric", integer=True, minimum="0", maximum="120",
            unit="years", codes={"0": "less than a year"}, missing=("-9", "-8"), nullable=True,
            where=f"{where}2",
        ),
        "sex": GivenColumn(
            description="Sex", type="nominal", codes={"1": "male", "2": "female"}, where=f"{where}3"
        ),
        "pay": GivenColumn(
            description="Monthly pay", type="numeric", integer=False, minimum="0", maximum="open",
            unit="euros", where=f"{where}5",
        ),
        "since": GivenColumn(
            type="date", minimum="1990-01-01", maximum="2024-12-31", where=f"{where}6"
        ),
        "pension": GivenColumn(
            description="Pension", type="boolean", codes={"1": "Yes", "0": "no"}, where=f"{where}7"
        ),
        "note": GivenColumn(description="Remarks", where=f"{where}8"),
    }  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "windows-1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_csv_file_says_the_same_however_it_is_written(
    encoding: str, delimiter: str, tmp_path: Path
) -> None:
    text = 'name,CODES,missing\nvélo,"1 = a;2: b|3",9\n'.replace(",", delimiter)
    (given,) = as_csv(tmp_path, text, encoding).columns.items()
    assert given[0] == "vélo"
    assert given[1].codes == {"1": "a", "2": "b", "3": "3"}
    assert given[1].missing == ("9",)
    assert given[1].type == "nominal"
    assert given[1].where == "data dictionary book.csv, row 2"


@pytest.mark.parametrize(
    ("cell", "codes"),
    [
        ("1=a, b; 2=c", {"1": "a, b", "2": "c"}),
        ("1=a, 2=b", {"1": "a", "2": "b"}),
        ("1=a\n2 = b = c", {"1": "a", "2": "b = c"}),
        ("01|02|02", {"01": "01", "02": "02"}),
        ("a: ; b:x", {"a": "a", "b": "x"}),
    ],
)
def test_codes_of_a_cell_are_parted_as_people_part_them(
    cell: str, codes: dict[str, str], tmp_path: Path
) -> None:
    assert as_csv(tmp_path, f'name,codes\nx,"{cell}"\n').columns["x"].codes == codes


@pytest.mark.parametrize(
    ("row", "type_"),
    [
        ("numeric,,,", "numeric"), ("Scale,,,", "numeric"), ("Ordered factor,,,", "ordinal"),
        (",0,,", "numeric"), (",,9,", "numeric"), (",,,1=a", "nominal"), (",,,", ""),
        ("string,,,", ""), ("string,,,1=a", "nominal"), ("boolean,,,1=yes;0=no", "boolean"),
        ("boolean,,,1=big;0=small", "nominal"), ("boolean,,,1=yes", "nominal"),
    ],
)  # fmt: skip
def test_the_type_is_the_one_written_or_else_what_is_told_suggests(
    row: str, type_: str, tmp_path: Path
) -> None:
    found = as_csv(tmp_path, f"name,type,min,max,codes\nx,{row}\n")
    assert found.columns["x"].type == type_


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"name,label\n,{CANARY}\n", "row 2 names no column; write its name there"),
        (f"name,min\n{CANARY},1\n{CANARY},2\n", "row 3 gives its column another minimum than row"),
        (f"name,codes\n{CANARY},1=a\n{CANARY},1=a;1=b\n", "row 3 gives its column another codes"),
        (f"name,code,code label\n{CANARY},1,a\n,1,b\n", "row 3 gives a code another label than"),
        (f"name,min,minimum\n{CANARY},1,2\n", "row 1 has two headings for minimum; keep one"),
        (f"name,x\n{CANARY},1\n", "has no sheet whose first row names columns; write headings"),
        (f"{CANARY},label\n1,2\n", "has no sheet whose first row names columns; write headings"),
        ("", "has no sheet whose first row names columns"),
        (f"name,label\n{CANARY},{'a' * 20_000}\n", "row 2 has a text of more than 16,384 bytes"),
        ("name,label\n" + "".join(f"{CANARY}{i},x\n" for i in range(10_001)), "more than 10,000"),
        ("name,label\n" + " " * 2**24, "cannot be read"),
    ],
)
def test_what_is_no_dictionary_is_refused_with_its_row_and_no_text(
    text: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(DictionaryError, match=says) as told:
        as_csv(tmp_path, text)
    assert CANARY not in str(told.value)
    assert str(tmp_path / "book.csv") in str(told.value) or "book.csv" in str(told.value)


def test_a_workbook_of_too_many_cells_or_of_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = book(tmp_path, Variables=COLUMNS)
    monkeypatch.setattr(sheets, "_MOST_CELLS", 12)
    with pytest.raises(DictionaryError, match="it has more than 12 cells"):
        read_dictionary(file)
    file.write_bytes(CANARY.encode() * 99)
    with pytest.raises(DictionaryError, match="cannot be read as a workbook; it may be") as told:
        read_dictionary(file)
    assert CANARY not in str(told.value)


def test_a_file_of_another_kind_is_no_dictionary(tmp_path: Path) -> None:
    with pytest.raises(DictionaryError, match="is not named like a data dictionary; give a DDI"):
        read_dictionary(tmp_path / "book.docx")
