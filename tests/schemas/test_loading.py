"""Loading a spec: sound ones come back complete, broken ones get every message at once."""

import re
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from hallmark.schemas.loading import SpecError, load_spec, located
from tests.builders import wages
from tests.builders.wages import FILE, WAGES, edited, load

JARGON = re.compile(r"pydantic|Input should|valid dictionary|value_error|Value error|literal|field")


@dataclass(frozen=True)
class Broken:
    name: str
    old: str
    new: str
    messages: list[str]


ROWS = YAML(typ="safe").load(Path(__file__).with_name("broken_specs.yaml"))
BROKEN = [Broken(**row) for row in ROWS]
SOUND = load_spec(FILE)


def problems(folder: Path, text: str | bytes) -> list[str]:
    return wages.problems(wages.written(folder, text))


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_a_broken_spec_gets_exactly_its_messages(broken, tmp_path):
    assert problems(tmp_path, edited((broken.old, broken.new))) == broken.messages


def test_no_message_speaks_in_the_words_of_a_library():
    said = [message for broken in BROKEN for message in broken.messages]
    assert not [message for message in said if JARGON.search(message)]
    assert JARGON.search("Input should be a valid dictionary")


def test_problems_of_several_sections_are_told_at_once_in_the_order_of_lines(tmp_path):
    text = (
        WAGES.replace("epsilon: 1", "epsilon: lots")
        .replace("maximum: 5000", "maximum: FILL_IN")
        .replace("columns: [wage, age, sex", "columns: [wage, age, sax")
        .replace("title: Wages", "title: Wages\ntitle: Pay")
    )
    told = [problem.split(" ")[:2] for problem in problems(tmp_path, text)]
    assert told == [
        ["4:", "title:"],
        ["16:", "privacy.epsilon:"],
        ["25:", "columns.wage.maximum:"],
        ["65:", "output.columns[2]:"],
    ]


def test_a_mistake_in_one_column_does_not_hide_a_contradiction_between_others(tmp_path):
    text = WAGES.replace("maximum: 5000", "maximum: high").replace("age < 18 =>", "age < x =>")
    assert [line.split(":")[0] for line in problems(tmp_path, text)] == ["24", "60"]


def test_a_missing_file_is_told_without_a_line(tmp_path):
    with pytest.raises(SpecError) as caught:
        load_spec(tmp_path / "none.yaml")
    assert caught.value.problems == [
        f"{tmp_path / 'none.yaml'}: there is no such file; check the path, or make a spec with "
        "`hallmark init`"
    ]


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(SpecError, match="is a folder; give the YAML file in it"):
        load_spec(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty; write a spec, or start from one made by `hallmark init`"),
        ("# only a comment\n", "is empty; write a spec, or start from one made by `hallmark init`"),
        (b"PAR1\x00\x00\x15", "is not UTF-8 text; give the spec, not the data"),
        (b"\xff\xfe\x80", "is not UTF-8 text; give the spec, not the data"),
        ("- a\n- b\n", "1: must be a mapping of keys to values, starting with hallmark: 1"),
        ("hello", "1: must be a mapping of keys to values, starting with hallmark: 1"),
        ("a: b: c", "1: a colon starts a second value on the line; put texts with a colon in"),
        ("a: @b", "1: a text starts with a character that YAML reserves; quote it"),
        ('a: "\\q"', "1: there is a backslash in double quotes; use single quotes"),
    ],
)
def test_a_file_that_is_no_spec_at_all_is_refused_in_plain_words(content, message, tmp_path):
    (said,) = problems(tmp_path, content)
    assert said.startswith(message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x: " + "[" * 300 + "]" * 300, "1: mappings and lists are nested more than 20"),
        ("x: " + "[" * 3000 + "]" * 3000, "mappings and lists are nested more than 20"),
        ("x: " + "{a: " * 30 + "1" + "}" * 30, "1: mappings and lists are nested"),
        pytest.param(
            "a: &a [" + "1," * 200_000 + "1]",
            "holds more than 200000 values",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["deep lists", "lists too deep to be read", "deep mappings", "a long list"],
)
def test_a_file_that_no_person_wrote_is_refused(content, message, tmp_path):
    (said,) = problems(tmp_path, content)
    assert said.startswith(message)


def test_aliases_of_aliases_are_refused_before_they_fill_the_memory(tmp_path):
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 8)}]\n" for i in range(1, 12)
    )
    (said,) = problems(tmp_path, bomb + WAGES)
    assert said.startswith("holds more than 200000 values, counting an alias (*) every time it is")


def test_a_number_of_thousands_of_digits_is_not_repeated_in_full(tmp_path):
    (said,) = problems(tmp_path, WAGES.replace("epsilon: 1\n", f"epsilon: {'9' * 5000}\n"))
    assert said.startswith("15: privacy.epsilon: must be a number such as")
    assert len(said) < 200


def test_a_byte_order_mark_is_no_part_of_the_spec(tmp_path):
    assert load(tmp_path, "\ufeff" + WAGES).release == "wages-2026"


def test_categories_stay_exactly_as_written(tmp_path):
    text = WAGES.replace("[01, 02, 03]", "[01, 01-01301, 1.0, 007, no, on, 1e3, 0x1F, 1_000, true]")
    assert load(tmp_path, text).columns["grade"].codes == (
        "01", "01-01301", "1.0", "007", "no", "on", "1e3", "0x1F", "1_000", "true",
    )  # fmt: skip


def test_category_keys_stay_exactly_as_written(tmp_path):
    text = WAGES.replace('{"1": male, "2": female, "9": other}', "{01: male, 1: female, 9: other}")
    assert load(tmp_path, text).columns["sex"].codes == ("01", "1", "9")


def test_budgets_are_exact(tmp_path):
    privacy = load(tmp_path, WAGES.replace("epsilon: 1\n", "epsilon: 0.1\n")).privacy
    assert (privacy.epsilon, privacy.delta) == (Fraction(1, 10), Fraction(1, 100_000))
    assert load(tmp_path, WAGES.replace("epsilon: 1\n", "epsilon: 1/3\n")).privacy.epsilon * 3 == 1


def test_dates_are_days():
    assert SOUND.columns["hired"].minimum == date(1970, 1, 1)


def test_null_markers_may_be_quoted_or_not():
    assert SOUND.data.null_markers == ("NA", "")


def test_parameters_of_the_mechanism_are_typed_by_how_they_are_written(tmp_path):
    text = WAGES.replace(
        "name: privpgd",
        'name: privpgd\n  generator: {steps: 200, rate: 1e-2, fast: true, code: "01"}',
    )
    parameters = load(tmp_path, text).mechanism.parameters["generator"]
    assert parameters == {"steps": 200, "rate": 0.01, "fast": True, "code": "01"}
    assert type(parameters["steps"]) is int


def test_an_alias_repeats_what_its_anchor_says():
    columns = SOUND.columns
    assert columns["age"].bound_source == columns["wage"].bound_source


def test_a_mistake_behind_an_anchor_is_told_once(tmp_path):
    assert len(problems(tmp_path, WAGES.replace("kind: law", "kind: lore"))) == 1


PLANNED = """\
release: a
mechanism:
  name: privpgd
  generator:
    method: particles
    penalties:
      - {weights: [0],
         strength: 1}
columns:
  own rent: &same
    cells: 9
  age: *same
"""


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        ("mechanism.generator.penalties[0].strength: 1; give", 8),
        ("mechanism.generator.penalties[0].steepness: 1; give", 7),
        ("mechanism.generator.descent.epochs: -1; give", 4),
        ("mechanism.name, columns.age: they", 3),
        ("columns.age.cells: 9 are", 11),
        ("columns.own rent.cells: 9 are", 11),
        ("columns.age: there", 12),
        ("mechanism: nothing", 2),
        ("nothing is said of a key", 1),
    ],
)
def test_a_problem_of_a_loaded_spec_is_told_with_its_line(problem, line, tmp_path):
    file = tmp_path / "spec.yaml"
    file.write_text(PLANNED)
    assert located(file, problem) == f"{file}:{line}: {problem}"
    file.unlink()
    with pytest.raises(SpecError, match="no such file"):
        located(file, problem)


def test_parameters_that_a_mechanism_has_not_are_told_but_not_of_a_published_spec(tmp_path):
    """A release of another version, whose mechanism had others, can still be read and verified."""
    text = WAGES.replace("name: privpgd", "name: privpgd\n  steps: 200\n  selection: mtt")
    (line, other) = problems(tmp_path, text)
    assert "mechanism.steps: is no parameter of privpgd; it knows selection, generator" in line
    assert "mechanism.selection.method: is 'mtt'; choose all, strongest, mst, aim or mwem" in other
    broken = problems(tmp_path, text.replace("epsilon: 1\n", "epsilon: -1\n"))
    assert len(broken) == 3
    (tmp_path / "spec.yaml").write_text(text)
    spec = load_spec(tmp_path / "spec.yaml", is_published=True)
    assert spec.mechanism.parameters == {"steps": 200, "selection": "mtt"}
