"""Questions that a spec leaves open, by what they are about, each with its input."""

import json
from pathlib import Path

import pytest

from hallmark.schemas.given_dictionary import from_json
from hallmark.schemas.loading import SpecError, load_spec
from hallmark.schemas.section import Problem
from hallmark.schemas.skeleton import skeleton_from_columns, skeleton_from_dictionary
from hallmark.schemas.spec_questions import Questions, questions_about
from hallmark.schemas.yaml_document import read_text


def asked(text: str, folder: Path) -> Questions:
    file = folder / "spec.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as error:
        load_spec(file)
    assert len(error.value.found) == len(error.value.problems)
    return questions_about(read_text(text)[0].content, error.value.found)


def test_every_marker_of_a_skeleton_is_answered_in_an_input(tmp_path: Path):
    dictionary = tmp_path / "dictionary.json"
    entries = {
        "age": {"values": {"min": 0, "max": 99}},
        "sex": {"values": {"1": "m", "2": "f", "9": "N/A"}},
        "note": {},
    }
    dictionary.write_text(json.dumps(entries))
    for text in (
        skeleton_from_dictionary(from_json(dictionary)),
        skeleton_from_columns(["age", "a.b: c", ""], source="t.csv"),
    ):
        found = asked(text, tmp_path)
        every = [*found.release, *found.table, *(q for qs in found.columns.values() for q in qs)]
        assert found.number == len(every) >= text.count(": FILL_IN") - 2  # two keys, one input
        assert [question.what for question in every if question.input is None] == []
        assert found.complete == 0
        assert found.columns.keys() == read_text(text)[0].content["columns"].keys()


def test_columns_come_in_turn_until_all_are_complete():
    content = {"columns": {"a": {}, "b": {"type": "numeric"}, "c": {}}}
    found = questions_about(
        content,
        [
            Problem(("columns", "b", "minimum"), "is missing; add it"),
            Problem(("columns", "b", "edges", 0), "is 5, but the minimum is 0"),
            Problem(("columns", "b"), "the interval has no cells"),
            Problem(("columns", "c"), "has no type"),
        ],
    )
    assert (found.number, found.complete) == (4, 1)
    assert [found.after(name) for name in (None, "a", "b", "c", "gone")] == [
        "b",
        "b",
        "c",
        "b",
        "b",
    ]
    minimum, edges, cells = found.columns["b"]
    assert minimum.input is not None
    assert (minimum.input.name, minimum.what) == ("minimum", "")
    assert edges.input is not None
    assert (edges.input.name, edges.what) == ("cells", "is 5, but the minimum is 0")
    assert (cells.input, cells.what) == (None, "the interval has no cells")
    done = questions_about({"columns": {"a": {}}}, [])
    assert (done.number, done.complete, done.after("a")) == (0, 1, None)


def test_what_no_form_answers_is_told_with_its_place():
    found = questions_about(
        {},
        [
            Problem(("mechanism", "name"), "is unknown"),
            Problem(("mechanism", "depth"), "is odd"),
            Problem(("constraints", 1, "rule"), "is none"),
            Problem(("columns",), "is missing; add every column"),
            Problem(("columns", "gone", "type"), "is odd"),
        ],
    )
    assert [one.what for one in found.release] == [
        "constraints.1.rule: is none",
    ]
    named, other = found.mechanism
    assert (named.what, named.input and named.input.name) == ("is unknown", "mechanism.name")
    assert (other.what, other.input) == ("mechanism.depth: is odd", None)
    assert found.number == 5
    assert found.rules == {1: ["is none"]}
    assert [one.what for one in found.table] == [
        "columns: is missing; add every column",
        "columns.gone.type: is odd",
    ]
