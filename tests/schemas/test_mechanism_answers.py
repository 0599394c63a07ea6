"""The form of a mechanism: shown, read again, and written into the text of a spec."""

from typing import Any

import pytest

from hallmark.mechanisms.catalogue import CATALOGUE
from hallmark.schemas.code_lines import Unclear
from hallmark.schemas.mechanism_answers import (
    answers_about_mechanism,
    choices,
    mechanism_edits,
    with_methods,
)
from hallmark.schemas.spec_answers import shown_in
from hallmark.schemas.text_edits import changed
from hallmark.schemas.yaml_document import read_text


def rewritten(text: str, name: str, **typed: str) -> str:
    """The text after its form was answered so; `__` stands for a dot."""
    said = {f"mechanism.{key.replace('__', '.')}": value for key, value in typed.items()}
    return changed(text, mechanism_edits(name, read_text(text)[0].content, said))


def test_all_mechanisms_that_make_records_can_be_chosen_and_have_inputs_of_their_own():
    assert {name for name, _ in choices()} == {
        name for name, entry in CATALOGUE.items() if entry.makes_records
    }
    for name, sentence in choices():
        assert sentence
        names = [one.name for a in answers_about_mechanism(name) for one in a.inputs]
        assert len(names) == len(set(names))
        assert {one.label for a in answers_about_mechanism(name) for one in a.inputs if one.label}


@pytest.mark.parametrize(
    ("before", "name", "typed", "after"),
    [
        ("{name: pmm}", "pmm", {"depth": "7"}, "{name: pmm, depth: 7}"),
        ("{name: pmm, depth: 7}", "pmm", {"depth": "auto"}, "{name: pmm, depth: auto}"),
        ("{name: pmm, depth: 7}", "pmm", {"depth": ""}, "{name: pmm}"),
        ("{name: pmm, depth: 7}", "pmm", {}, "{name: pmm, depth: 7}"),
        ("{name: pmm, depth: 7}", "pmm-h", {}, '{name: "pmm-h", depth: 7}'),
        ("{name: pmm, depth: 7}", "psmm", {"cells": "4"}, "{name: psmm, cells: 4}"),
        ("{name: dpfw}", "dpfw", {"cliquewise": "true", "alpha": "0.25"},
         "{name: dpfw, alpha: 0.25, cliquewise: true}"),
        ("{name: dpfw}", "dpfw", {"certificate_share": "1/10"},
         "{name: dpfw, certificate_share: 1/10}"),
        ("{name: dpfw}", "dpfw", {"queries": "1, 2", "queries__where": "AGE >= 18\nSEX = '2'"},
         "{name: dpfw, queries: [{marginals: {ways: 1}}, {marginals: {ways: 2}}, "
         '{where: "AGE >= 18"}, {where: "SEX = \'2\'"}]}'),
        ("{name: privpgd, selection: aim}", "privpgd", {}, "{name: privpgd, selection: aim}"),
        ("{name: privpgd, selection: aim}", "privpgd", {"selection__method": ""},
         "{name: privpgd}"),
        ("{name: privpgd, selection: aim}", "privpgd", {"selection__ways": "3"},
         "{name: privpgd, selection: {method: aim, ways: 3}}"),
        ("{name: privpgd, selection: {priorities: {columns: [a]}}}", "privpgd",
         {"selection__coarse": "0.2"},
         "{name: privpgd, selection: {priorities: {columns: [a]}, coarse: 0.2}}"),
        ("{name: privpgd, generator: {method: particles, particles: 9}}", "privpgd",
         {"generator__method": "noise-aware"},
         '{name: privpgd, generator: {method: "noise-aware", particles: 9}}'),
        ("{name: privpgd, selection: aim}", "pmm", {}, "{name: pmm}"),
        ("{name: FILL_IN}", "mst", {}, "{name: mst}"),
    ],
)  # fmt: skip
def test_a_saved_form_changes_its_keys_alone(
    before: str, name: str, typed: dict[str, str], after: str
):
    text = f"a: 1  # one\nmechanism: {before}  # ours\nb: 2\n"
    assert rewritten(text, name, **typed) == f"a: 1  # one\nmechanism: {after}  # ours\nb: 2\n"


def test_a_spec_without_a_mechanism_gets_one():
    assert read_text(rewritten("a: 1\n", "pmm", depth="3"))[0].content == {
        "a": "1", "mechanism": {"name": "pmm", "depth": 3},
    }  # fmt: skip


@pytest.mark.parametrize(
    "section",
    [
        {"name": "dpfw", "queries": [{"marginals": {"columns": [["a", "b"]]}}]},
        {"name": "dpfw", "queries": [{"marginals": {"ways": 2}, "where": "a = 1"}]},
        {"name": "sparse-lipschitz", "blocks": [["a", "b"]]},
        {"name": "privpgd", "selection": {"priorities": {"columns": ["a"]}}},
        {"name": "pmm", "depth": [3]},
    ],
)
def test_what_no_input_can_show_stays(section: dict[str, Any]):
    content = {"mechanism": section}
    answers = answers_about_mechanism(section["name"])
    odd = [one for one in answers if one.shown(with_methods(content)) is None]
    assert len(odd) == 1
    kept = mechanism_edits(section["name"], content, {})
    assert kept[odd[0].keys[0]] == next(v for k, v in _leaves(section) if k == odd[0].keys[0][1:])


def _leaves(section: dict[str, Any]) -> list[tuple[tuple[str, ...], Any]]:
    inner = [((k, x), y) for k, v in section.items() if isinstance(v, dict) for x, y in v.items()]
    return [*(((key,), value) for key, value in section.items()), *inner]


def test_numbers_and_words_are_shown_as_they_stand():
    content = {"mechanism": {"name": "dpfw", "alpha": 0.25, "rounds": 7, "cliquewise": False}}
    shown = shown_in(answers_about_mechanism("dpfw"), content)
    assert {key: value for key, value in shown.items() if value} == {
        "mechanism.name": "dpfw", "mechanism.alpha": "0.25", "mechanism.rounds": "7",
        "mechanism.cliquewise": "false",
    }  # fmt: skip


def test_what_says_nothing_is_unclear():
    with pytest.raises(Unclear, match="'two' is no number of columns"):
        rewritten("mechanism: {name: dpfw}\n", "dpfw", queries="two")
