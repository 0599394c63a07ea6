"""Answers of forms beside what a spec says: shown, read again, written where they differ."""

from typing import Any

import pytest

from hallmark.schemas.code_lines import Unclear
from hallmark.schemas.columns.columns import COLUMN_TYPES
from hallmark.schemas.spec_answers import (
    Answer,
    Input,
    answers_about,
    answers_about_release,
    edits,
    has_form,
    misfits,
    shown_in,
)
from hallmark.schemas.yaml_document import FILL_IN

FORMS = [type_ for type_ in COLUMN_TYPES if has_form(type_)]
COLUMNS: dict[str, dict[str, Any]] = {
    "numeric": {"type": "numeric", "minimum": "0", "maximum": "9", "edges": ["0", "5", "9"],
                "integer": FILL_IN, "outside": "clamp", "null_markers": ["-9", ""]},
    "date": {"type": "date", "minimum": "2000-01-01", "cell_days": "7", "outside": "refuse"},
    "nominal": {"type": "nominal", "categories": {"01": "a", " x": "=", "no": "no"}, "other": "",
                "groups": [{"g": ["01"], "h": [" x", "no"]}, {"i": ["01", " x", "no"]}],
                "recode": {"codes": {"1": "01", "no": "no", "a=b": " x", " c": "01"}}},
    "ordinal": {"type": "ordinal", "categories": {"file": "public/codes.csv"},
                "recode": {"codes": {"file": "public/codes.csv", "column": "group"}}},
    "places": {"type": "places", "categories": {"01": "Leipzig", "a=b": "Dresden"},
               "coordinates": {"01": ["51.34", "12.37"], "a=b": ["51.05", "13.74"]},
               "distances": [["0", "1.5"], ["1.5", "0"]], "unit": "km"},
    "boolean": {"type": "boolean", "values": {"j": "true", "n": "false"}, "other": "false"},
}  # fmt: skip


def inputs(answers: tuple[Answer, ...]) -> list[Input]:
    return [one for answer in answers for one in answer.inputs]


def test_all_types_have_a_form():
    assert list(COLUMN_TYPES) == FORMS
    assert has_form("")
    assert not has_form("text")


def test_places_are_said_by_coordinates_or_distances():
    answers = answers_about("places")
    found = edits(answers, {}, {"coordinates": "01 = 51.34, 12.37\n02 = 51.05,13.74"})
    assert found[("coordinates",)] == {"01": ["51.34", "12.37"], "02": ["51.05", "13.74"]}
    found = edits(answers, {}, {"distances": "0 1,5\n\n1; 0 2", "unit": "minutes"})
    assert found[("distances",)] == [["0", "1", "5"], ["1", "0", "2"]]
    assert found[("unit",)] == "minutes"
    for typed in ("01", "01 = 51.34", "01 = 1, 2, 3"):
        with pytest.raises(Unclear, match="'01' has no latitude and longitude"):
            edits(answers, {}, {"coordinates": typed})


@pytest.mark.parametrize("type_", FORMS)
def test_every_input_has_a_name_of_its_own_and_the_models_words(type_: str):
    names = [one.name for one in inputs(answers_about(type_))]
    assert len(names) == len(set(names))
    model = COLUMN_TYPES[type_]
    asked = {keys[0] for answer in answers_about(type_) for keys in answer.keys}
    by_text = {"decimal_mark", "thousands"}  # which the whole file says
    assert {info.alias or name for name, info in model.model_fields.items()} - asked <= by_text
    assert any(one.help in " ".join(model.meanings()["outside"].split())
               for one in inputs(answers_about(type_)) if one.name == "outside")  # fmt: skip


@pytest.mark.parametrize("type_", FORMS)
def test_what_is_shown_says_the_same_when_it_is_read(type_: str):
    column, answers = COLUMNS[type_], answers_about(type_)
    shown = shown_in(answers, column)
    for answer in answers:
        said = answer.read(shown)
        for keys in answer.keys:
            found = column.get(keys[0]) if len(keys) == 1 else None
            assert said[keys] == (None if found == FILL_IN else found), keys
    kept = edits(answers, column, shown)
    assert kept == {(key,): value for key, value in column.items()}


def test_an_answer_changes_its_own_keys():
    answers, column = answers_about("numeric"), COLUMNS["numeric"]
    shown = shown_in(answers, column)
    found = edits(answers, column, shown | {"cells": "cell_width", "cells.value": "3 "})
    changes = {keys: value for keys, value in found.items() if column.get(keys[0]) != value}
    assert changes == {("cell_width",): "3", ("edges",): None}
    assert edits(answers, column, shown | {"integer": "true"})[("integer",)] == "true"
    assert (
        edits(answers, column, shown | {"bound_source.kind": "law"}).items()
        >= {("bound_source", "kind"): "law"}.items()
    )


def test_codes_that_are_their_own_labels_become_a_list():
    answers = answers_about("ordinal")
    assert edits(answers, {}, {"categories": "01\nno = no"})[("categories",)] == ["01", "no"]
    assert edits(answers, {}, {"categories": "01 = x"})[("categories",)] == {"01": "x"}
    with pytest.raises(Unclear):
        edits(answers, {}, {"categories": "a\na"})


@pytest.mark.parametrize(
    ("typed", "recode"),
    [
        ({"recode.first": "2"}, {"first": "2"}),
        ({"recode.first": "2", "recode.of": "5"}, {"first": "2", "of": "5"}),
        ({"recode.codes": "1 = a\n2 = a\na"}, {"codes": {"1": "a", "2": "a", "a": "a"}}),
        (
            {"recode.codes.file": "public/c.csv", "recode.codes.column": "group"},
            {"codes": {"file": "public/c.csv", "column": "group"}},
        ),
        (
            {"recode.codes.file": "public/c.csv"},
            {"codes": {"file": "public/c.csv", "column": FILL_IN}},
        ),
        ({}, None),
    ],
)
def test_a_recode_is_shown_and_read_again(typed: dict[str, str], recode: Any):
    answers = answers_about("nominal")
    written = edits(answers, {}, typed)
    assert written.get(("recode",)) == recode
    shown = shown_in(answers, {"recode": recode} if recode else {})
    assert {name: text for name, text in shown.items() if name.startswith("recode") and text} == {
        name: text for name, text in typed.items() if text
    }


def test_whom_the_guarantee_protects_is_said_with_what_is_missing():
    answers = [one for several in answers_about_release().values() for one in several]
    said = {"privacy.unit": "person", "privacy.unit.person": "id"}
    assert edits(answers, {}, said)[("privacy", "unit")] == {"person": "id", "max_records": FILL_IN}
    person = {"privacy": {"unit": {"person": "id", "max_records": FILL_IN}}}
    assert shown_in(answers, person)["privacy.unit"] == "person"
    assert shown_in(answers, person)["privacy.unit.max_records"] == ""
    assert shown_in(answers, {"privacy": {"unit": ["x"]}}).get("privacy.unit") is None


@pytest.mark.parametrize(
    "odd",
    [
        {"cells": "3", "edges": ["1"]}, {"categories": [["a"]]}, {"groups": [{"file": "f"}]},
        {"recode": {"first": ["2"]}}, {"recode": {"codes": ["a"]}}, {"recode": {"last": "2"}},
        {"values": {"a": "maybe"}}, {"minimum": ["1"]}, {"unit": "two\nlines"},
    ],
)  # fmt: skip
def test_what_no_input_can_show_stays(odd: dict[str, Any]):
    for type_ in FORMS:
        answers = answers_about(type_)
        (key,) = list(odd)[-1:]
        for answer in answers:
            if (key,) in answer.keys:
                assert answer.shown(odd) is None
                assert edits([answer], odd, {one.name: "x" for one in answer.inputs}) == {
                    (name,): value for name, value in odd.items() if (name,) in answer.keys
                }


def test_another_type_keeps_the_keys_that_it_has():
    assert misfits("ordinal", COLUMNS["nominal"]) == {("groups",): None}
    assert misfits("boolean", COLUMNS["ordinal"]) == {("categories",): None, ("recode",): None}
    assert set(misfits("boolean", COLUMNS["numeric"])) == {
        ("minimum",), ("maximum",), ("edges",), ("integer",),
    }  # fmt: skip
