"""Values changed in the text of a spec, of which all else stays as it is."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hallmark.schemas.text_edits import NotChanged, changed
from hallmark.schemas.yaml_document import FILL_IN, read_text

TEXT = f"""\
# of the agency
hallmark: 1   # the version
title: 'It''s "ours"'   # for people
population: {{account: people, description: "all # of them"}} # flow

columns: # every one
  # the first
  age:
    type: {FILL_IN} # numeric, ordinal, nominal, boolean or date
    description: ''
  "own: rent":   # odd
    type: nominal
    categories:   # of the codebook
      # none is left out
      '01': yes   # as text
      no: 1.0
    nulls: true
    description: >-
      two
      lines
  pay: {{type: numeric, minimum: 0,   # at least
    maximum: 10, edges: [0, 5,
      10]}}
constraints:
- rule: a < b   # why
  source: the book
# the end
"""
COLUMN = ("columns", "own: rent")


def content(text: str) -> dict[str, Any]:
    return read_text(text)[0].content


def comments(text: str) -> list[str]:
    bare = re.sub(r'"(\\.|[^"\\])*"', "", text)
    return re.findall(r"(?<=\s)# .*|^# .*", bare)


def test_a_value_takes_the_place_of_a_marker_beside_its_comment():
    found = changed(TEXT, {("columns", "age", "type"): "numeric"})
    assert found == TEXT.replace(f"type: {FILL_IN} #", "type: numeric #")


def test_new_keys_follow_the_one_that_is_named_before_them():
    found = changed(
        TEXT,
        {
            ("columns", "age", "type"): "numeric",
            ("columns", "age", "minimum"): "0",
            ("columns", "age", "maximum"): "1e-6",
            ("columns", "age", "bound_source", "kind"): "law",
            ("columns", "age", "bound_source", "reference"): "§ 1: all",
        },
    )
    assert found == TEXT.replace(
        f"type: {FILL_IN} # numeric, ordinal, nominal, boolean or date\n",
        "type: numeric # numeric, ordinal, nominal, boolean or date\n"
        "    minimum: 0\n    maximum: 1e-6\n"
        '    bound_source:\n      kind: law\n      reference: "§ 1: all"\n',
    )


def test_categories_keep_their_comments_and_the_quotes_of_their_labels():
    new = {"01": "yes", "02": "true", "no": "1.0", "": " x "}
    found = changed(TEXT, {(*COLUMN, "categories"): new})
    assert found == TEXT.replace("# as text\n", '# as text\n      "02": true\n').replace(
        "no: 1.0\n", 'no: 1.0\n      "": " x "\n'
    )
    other = changed(TEXT, {(*COLUMN, "categories"): {"no": "1.0", "01": "yes"}})
    assert list(content(other)["columns"]["own: rent"]["categories"]) == ["no", "01"]
    assert set(comments(TEXT)) - set(comments(other)) <= {"# as text"}  # of what was moved


def test_a_mapping_in_braces_stays_one():
    pay = ("columns", "pay")
    found = changed(TEXT, {(*pay, "maximum"): "20", (*pay, "unit"): "€", (*pay, "edges"): None})
    assert found == TEXT.replace("maximum: 10, edges: [0, 5,\n      10]", 'maximum: 20, unit: "€"')
    assert changed("a: {}", {("a", "b"): ["c", "1"]}) == 'a:\n  b: ["c", 1]'


def test_a_value_in_lines_makes_room_and_takes_it():
    found = changed(TEXT, {(*COLUMN, "categories"): {"file": "codes.csv"}})
    assert '# of the codebook\n      # none is left out\n      file: "codes.csv"\n' in found
    found = changed(TEXT, {(*COLUMN, "description"): "one\nword"})
    assert found == TEXT.replace(">-\n      two\n      lines", '"one\\nword"')
    many = {(*COLUMN, "null_markers"): [f"the marker {i}" for i in range(9)]}
    assert '\n    null_markers:\n      - "the marker 0"\n' in changed(TEXT, many)
    assert "null_markers" not in changed(changed(TEXT, many), {(*COLUMN, "null_markers"): None})


def test_items_of_a_list_come_and_go():
    rules = content(TEXT)["constraints"]
    added = [*rules, {"rule": 'x = "1"', "source": "it"}]
    found = changed(TEXT, {("constraints",): added})
    line = '- {rule: "x = \\"1\\"", source: it}\n'
    assert found == TEXT.replace("the book\n", f"the book\n{line}")
    assert changed(found, {("constraints",): rules}) == TEXT
    assert changed(found, {("constraints",): added[1:]}) == TEXT.replace(
        "- rule: a < b   # why\n  source: the book\n", line
    )


def test_a_section_goes_with_its_last_key():
    text = "a:\n  b:\n    c: 1  # gone\n# stays\nd: 2\n"
    assert changed(text, {("a", "b", "c"): None, ("a", "x"): None}) == "# stays\nd: 2\n"
    assert changed(text, {("a", "b", "c"): None, ("a", "b", "e"): "3"}) == text.replace(
        "c: 1  # gone", "e: 3"
    )


def test_what_is_so_already_changes_nothing():
    assert changed(TEXT, {(*COLUMN, "nulls"): "true", ("nothing",): None}) == TEXT


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\nb: [1", "line 2: a list . is not closed"),
        ("a: 1\nb:\n\t- x", "line 3: the line is indented with a tab"),
        ("- a", "line 1: must be a mapping"),
        ("a: 1\na: 2\n", "occurs twice"),
        ("x: &a {b: 1}\na: *a\nc: &d 5\ne: *d\na: {}", "occurs twice"),
        ("c: &d {a: 1}\ne: *d\na: {<<: *d}\n", "change it in the text"),
    ],
)
def test_what_cannot_be_changed_is_refused_with_its_line(text: str, says: str):
    with pytest.raises(NotChanged, match=says):
        changed(text, {("a", "b"): "1", ("c", "a"): "2"})


def test_a_code_that_no_spec_can_hold_is_refused():
    with pytest.raises(NotChanged, match="cannot change"):
        changed(TEXT, {(*COLUMN, "categories"): {"<<": "merged"}})


def test_keys_that_begin_with_a_question_mark_keep_their_form():
    text = '? "\\n"\n: a  # one\nb: 1  # two\n'
    assert changed(text, {("b",): "2", ("c",): "3"}) == text.replace("b: 1", "b: 2") + "c: 3\n"
    assert changed(text, {("\n",): "x"}) == text.replace(": a", ": x")


def test_an_alias_is_written_out_where_its_value_changes_and_nowhere_else():
    text = "a: &x {b: 1}  # one\nc: *x  # two\nd: 1\n"
    found = changed(text, {("c", "b"): "2"})
    assert content(found) == {"a": {"b": "1"}, "c": {"b": "2"}, "d": "1"}
    assert comments(found) == comments(text)
    assert changed(text, {("d",): "2"}) == text.replace("d: 1", "d: 2")
    with pytest.raises(NotChanged, match="repeated elsewhere"):
        changed(text, {("a", "b"): "2"})


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["01", "no", "1.0", "null", "~", "", " ", "#", "a: b", "- a", "*a", "&a", "\u2028", "\ufeff",
     "\x85", "'", '"', "\\", "{period}", "1_0", "0x1", "true", "<<", "=", "---", "😀", "\x7f"]
)  # fmt: skip
values = (
    texts
    | st.lists(texts, max_size=3)
    | st.dictionaries(texts.filter(lambda one: one != "<<"), texts, max_size=4)
)
places = st.sampled_from(
    [("title",), ("population", "account"), ("population", "new"), ("columns", "age", "type"),
     ("columns", "age", "new"), (*COLUMN, "categories"), (*COLUMN, "description"), ("new",),
     (*COLUMN, "nulls"), ("columns", "pay", "edges"), ("columns", "pay", "minimum"),
     ("columns", "new: one", "type"), ("columns", "age", "deep", "er"), ("constraints",)]
)  # fmt: skip


@given(place=places, value=values)
def test_a_change_reads_back_and_leaves_all_else(place: tuple[str, ...], value: Any):
    found = changed(TEXT, {place: value})
    assert without(found, place) == (value, without(TEXT, place)[1])
    inside = {"# none is left out", "# as text", "# why"}  # the values that are replaced
    assert set(comments(TEXT)) - set(comments(found)) <= inside


def without(text: str, place: tuple[str, ...]) -> tuple[Any, dict[str, Any]]:
    """What a text says at a place, and all else."""
    whole = section = content(text)
    for key in place[:-1]:
        section = section.setdefault(key, {})
    return section.pop(place[-1], None), whole


@given(one=st.tuples(places, texts), other=st.tuples(places, texts))
def test_two_changes_at_once_are_as_one_after_the_other(one: Any, other: Any):
    at_once = dict([one, other])
    if any(a != b and a[: len(b)] == b for a in at_once for b in at_once):
        return
    assert content(changed(TEXT, at_once)) == content(
        changed(changed(TEXT, dict([one])), dict([other]))
    )
