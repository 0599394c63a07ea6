"""What may stand in a column, said in one line: read, shown again, refused where it is unclear."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hallmark.schemas.code_lines import Unclear
from hallmark.schemas.columns.number_marks import NumberMarks
from hallmark.schemas.one_line import Said, Writing, line_of, said_in
from hallmark.schemas.spec_answers import answers_about, edits, shown_in

PLAIN = Writing()
FRENCH = Writing(NumberMarks(",", "."), "%d/%m/%Y")


def said(line: str, writing: Writing = PLAIN) -> tuple[str, dict[str, str], int | None]:
    found = said_in(line, writing)
    return found.type, {name: text for name, text in found.typed.items() if text}, found.values


@pytest.mark.parametrize(
    ("line", "type_", "typed", "values"),
    [
        ("0 to 8", "numeric", {"minimum": "0", "maximum": "8", "integer": "true"}, 9),
        ("-3 to 1e3", "numeric", {"minimum": "-3", "maximum": "1e3"}, None),
        ("0.0 to 60.0 or  missing", "numeric",
         {"minimum": "0.0", "maximum": "60.0", "nulls": "true"}, None),
        ("2000-02-28 to 2000-03-01", "date",
         {"minimum": "2000-02-28", "maximum": "2000-03-01"}, 3),
        ("01067, 04109", "nominal", {"categories": "01067\n04109"}, None),
        ("1 = homme, 2 = femme or missing", "nominal",
         {"categories": "1 = homme\n2 = femme", "nulls": "true"}, None),
        ("low < middle < high", "ordinal", {"categories": "low\nmiddle\nhigh"}, None),
        ("1 = true, 0 = false, J = true", "boolean", {"values": "1\nJ", "values.false": "0"}, None),
        ('"a, b" = x, "c < d"', "nominal", {"categories": "a, b = x\nc < d"}, None),
        ("north to south", "nominal", {"categories": "north to south"}, None),
        ('"x or missing"', "nominal", {"categories": "x or missing"}, None),
        ("true, false", "boolean", {"values": "true", "values.false": "false"}, None),
    ],
)  # fmt: skip
def test_a_line_says_the_type_and_what_its_form_holds(
    line: str, type_: str, typed: dict[str, str], values: int | None
):
    assert said(line) == (type_, typed, values)


def test_numbers_and_days_may_be_written_as_the_file_writes_them():
    assert said("0,0 to 1.500,00", FRENCH)[1] == {"minimum": "0.0", "maximum": "1500.00"}
    assert said("1.000 to 2.000", FRENCH)[1]["maximum"] == "2000"  # thousands, as in the file
    assert said("0.5 to 3.5", Writing(NumberMarks(",")))[1]["minimum"] == "0.5"
    assert said("31/12/2018 to 31/12/2019", FRENCH) == (
        "date", {"minimum": "2018-12-31", "maximum": "2019-12-31"}, 366,
    )  # fmt: skip
    with pytest.raises(Unclear, match="two numbers or two days"):
        said_in("0 to 31/12/2019", FRENCH)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "nothing before or after"), ("a,,b", "nothing before or after"),
        ("a, b <", "nothing before or after"), ("a < b, c", "commas between"),
        ("a, a", "repeats the code 'a'"), ('"a, b', "quote that is not closed"),
        ("0 to many", "two numbers or two days"),
    ],
)  # fmt: skip
def test_a_line_that_does_not_say_it_is_refused(line: str, says: str):
    with pytest.raises(Unclear, match=says):
        said_in(line, PLAIN)


@pytest.mark.parametrize(
    "line",
    [
        "0 to 8", "0.0 to 60.5 or missing", "0.0 to 60.0", "2000-02-28 to 2000-03-01",
        "01067, 04109", "1 = homme, 2 = femme or missing", "low < middle < high",
        "1 = true, 0 = false",
        '"a, b" = x, "c < d"', '"x or missing" or missing',
    ],
)  # fmt: skip
def test_a_column_that_was_said_in_a_line_is_shown_by_the_same_line(line: str):
    assert shown(said_in(line, PLAIN)) == line


def shown(one: Said) -> str | None:
    """The line of a column that says what another line said."""
    answers = answers_about(one.type)
    section = {keys[0]: v for keys, v in edits(answers, {}, one.typed | {"type": one.type}).items()}
    return line_of(one.type, shown_in(answers, {k: v for k, v in section.items() if v is not None}))


def test_a_column_of_which_nothing_is_said_has_an_empty_line():
    assert line_of("", shown_in(answers_about(""), {"type": "FILL_IN"})) == ""
    assert line_of("numeric", shown_in(answers_about("numeric"), {"type": "numeric"})) == ""


@given(
    st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=8), min_size=1, max_size=5),
    st.sampled_from(["nominal", "ordinal"]),
)
@example({"00": '0"', "0": ""}, "ordinal")
@example({"00": '0"', "0": ""}, "nominal")
def test_any_codes_and_labels_are_shown_by_a_line_that_says_them(
    categories: dict[str, str], type_: str
):
    answers = answers_about(type_)
    line = line_of(type_, shown_in(answers, {"type": type_, "categories": categories}))
    assert line is not None
    found = said_in(line, PLAIN)
    if found.type == type_:  # one category alone has no order, and truths are truths
        assert edits(answers, {}, found.typed)[("categories",)] in (
            categories, list(categories),
        )  # fmt: skip
    else:
        assert len(categories) == 1 or set(categories.values()) <= {"true", "false"}


@pytest.mark.parametrize(
    ("type_", "section"),
    [
        ("numeric", {"minimum": "0"}), ("nominal", {"categories": {"file": "public/codes.csv"}}),
        ("nominal", {"categories": [["a"]]}), ("places", {"categories": {}}),
        ("numeric", {"minimum": "0.5", "maximum": "3", "integer": "true"}),
    ],
)  # fmt: skip
def test_what_no_line_can_say_is_left_to_its_own_form(type_: str, section: dict[str, object]):
    assert line_of(type_, shown_in(answers_about(type_), {"type": type_, **section})) is None
