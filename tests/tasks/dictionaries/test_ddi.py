"""DDI codebooks: what is taken of a variable, what never is, and hostile files."""

import tracemalloc
from pathlib import Path

import pytest

from hallmark.schemas.given_dictionary import DictionaryError, GivenColumn
from hallmark.tasks.dictionaries import read_dictionary

CANARY = "canary-7319"
STUDY = (
    "<stdyDscr><citation><titlStmt><titl>Labour Force\n Survey 2024</titl></titlStmt></citation>"
    "<relMat><titl>another</titl></relMat></stdyDscr>"
)
VARIABLES = f"""
<varGrp name="not a variable"/>
<var ID="V1" name="age" intrvl="contin" dcml="0" measUnit="years">
  <location width="3"/><labl>Age <emph>in</emph>
   years</labl><qstn><qstnLit>{CANARY}</qstnLit></qstn>
  <valrng><range UNITS="INT" min="15" max="99"/></valrng><invalrng><item VALUE="-9"/></invalrng>
  <sumStat type="min">17317</sumStat><sumStat type="max">94319</sumStat>
  <catgry missing="Y"><catValu>-8</catValu><labl>refused</labl></catgry></var>
<var name="sex" intrvl="discrete"><labl>Sex</labl>
  <catgry><catValu>1</catValu><labl>male</labl><catStat type="freq">17317</catStat></catgry>
  <catgry><catValu>2</catValu></catgry><catgry><labl>no code</labl></catgry></var>
<var name="school" nature="ordinal"><catgry><catValu>1</catValu><labl>low</labl></catgry></var>
<var name="born"><varFormat type="character" category="date"/></var>
<var name="pay" dcml="2"><valrng><range min="0"/></valrng></var>
<var name="code" nature="nominal"/>
<var name="weight" nature="ratio"><valrng><range min="0" max="1"/><range min="5"/></valrng></var>
<var name="note"><valrng><range min="a" max="z"/></valrng><varFormat type="character"/></var>
"""


def codebook(folder: Path, variables: str = VARIABLES, head: str = "", space: str = "") -> Path:
    file = folder / "study.xml"
    root = f'<codeBook{space} version="2.5">'
    file.write_text(f"{head}{root}{STUDY}<dataDscr>{variables}</dataDscr></codeBook>")
    return file


@pytest.mark.parametrize("space", ["", ' xmlns="ddi:codebook:2_5"', ' xmlns="ddi:codebook:2_6"'])
def test_a_codebook_says_what_its_variables_are(space: str, tmp_path: Path) -> None:
    found = read_dictionary(codebook(tmp_path, space=space))
    where = "DDI codebook study.xml (Labour Force Survey 2024), variable "
    assert found.columns == {
        "age": GivenColumn(
            description="Age in years", type="numeric", integer=True, minimum="15", maximum="99",
            unit="years", missing=("-9", "-8"), nullable=True, where=f"{where}age",
        ),
        "sex": GivenColumn(
            description="Sex", type="nominal", codes={"1": "male", "2": "2"}, where=f"{where}sex"
        ),
        "school": GivenColumn(type="ordinal", codes={"1": "low"}, where=f"{where}school"),
        "born": GivenColumn(type="date", where=f"{where}born"),
        "pay": GivenColumn(type="numeric", integer=False, minimum="0", where=f"{where}pay"),
        "code": GivenColumn(type="nominal", where=f"{where}code"),
        "weight": GivenColumn(type="numeric", where=f"{where}weight"),
        "note": GivenColumn(minimum="a", maximum="z", where=f"{where}note"),
    }  # fmt: skip


def test_nothing_that_was_counted_in_the_data_is_taken(tmp_path: Path) -> None:
    told = repr(read_dictionary(codebook(tmp_path)))
    assert all(found not in told for found in ("17317", "94319", CANARY))


LAUGHS = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(9))
HOSTILE = {
    "a billion laughs": f'<!DOCTYPE codeBook [<!ENTITY l0 "ha">{LAUGHS}]>',
    "a file of the machine": '<!DOCTYPE codeBook [<!ENTITY l9 SYSTEM "file:///etc/passwd">]>',
    "another server": '<!DOCTYPE codeBook SYSTEM "http://127.0.0.1:1/codebook.dtd">',
}


@pytest.mark.parametrize("head", HOSTILE.values(), ids=HOSTILE)
def test_no_document_type_is_read_and_no_entity_expanded(head: str, tmp_path: Path) -> None:
    file = codebook(tmp_path, '<var name="x"><labl>&l9;</labl></var>', head)
    tracemalloc.start()
    with pytest.raises(DictionaryError, match="declares a document type or entities, which are"):
        read_dictionary(file)
    assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is not sound XML on line 1"),
        (f"<codeBook>\n<{CANARY}", "is not sound XML on line 2; export the codebook again"),
        ("<codeBook>&l9;</codeBook>", "is not sound XML on line 1"),
        ("<codeBook/>", "describes no variables; give a DDI codebook with the section dataDscr"),
        ("<DDIInstance/>", "is no DDI codebook: it begins with <DDIInstance>, and not with <code"),
        ("<codeBook>" + "<a>" * 60, "has more than 50 elements in each other"),
        ('<?xml version="1.0" encoding="x-none"?><codeBook/>', "study.xml: "),
        (b"\xff\xfe\x00", "study.xml: "),
        ("<codeBook><dataDscr><var/></dataDscr></codeBook>", "variable 1 has no name"),
        (
            f'<codeBook><dataDscr><var name="{CANARY}"/><var name="{CANARY}"/></dataDscr>'
            "</codeBook>",
            "variable 2 has the name of an earlier one; keep one",
        ),
        (
            "<codeBook><dataDscr>"
            + "".join(f'<var name="{CANARY}{i}"/>' for i in range(10_001))
            + "</dataDscr></codeBook>",
            "lists more than 10,000 columns",
        ),
    ],
)
def test_what_is_no_codebook_is_refused_with_its_place(
    content: str | bytes, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "study.xml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DictionaryError, match=says) as told:
        read_dictionary(file)
    assert CANARY not in str(told.value)


def test_a_codebook_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    file = codebook(tmp_path)
    with file.open("r+b") as handle:
        handle.truncate(2**26 + 1)
    with pytest.raises(DictionaryError, match="and a codebook at most 67,108,864; leave out its"):
        read_dictionary(file)


def test_what_is_beside_the_variables_is_forgotten_as_it_is_read(tmp_path: Path) -> None:
    other = "<otherMat>" + "<txt>a</txt>" * 200_000 + "</otherMat>"
    file = codebook(tmp_path, '<var name="x"/>')
    file.write_text(file.read_text().replace("<dataDscr>", f"{other}<dataDscr>"))
    tracemalloc.start()
    assert list(read_dictionary(file).columns) == ["x"]
    assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    tracemalloc.stop()
