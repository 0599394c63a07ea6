"""The published JSON Schema: current, true of sound specs, and closed to unknown keys."""

import json
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from hallmark.schemas.json_schema import SCHEMA_FILE, release_spec_schema, schema_text

ROOT = Path(__file__).parents[2]
SOUND = [Path(__file__).parent / "wages.yaml", *(ROOT / "schemas/examples").glob("*.yaml")]


def as_editors_see(file: Path):
    """The YAML as plain JSON values, keys and days as text."""
    return json.loads(json.dumps(YAML(typ="safe").load(file), default=str))


SCHEMA = release_spec_schema()
VALIDATOR = Draft202012Validator(SCHEMA)


def test_the_file_is_current():
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), (
        "refresh it with: python -m hallmark.schemas.json_schema"
    )


def test_the_schema_is_a_json_schema():
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("file", SOUND, ids=lambda file: file.stem)
def test_it_accepts_sound_specs(file):
    assert [error.message for error in VALIDATOR.iter_errors(as_editors_see(file))] == []


def with_value(path, value):
    """A sound spec, but for one value or one more key."""
    spec = as_editors_see(SOUND[0])
    section = reduce(getitem, path[:-1], spec)
    section[path[-1]] = value
    return spec


@pytest.mark.parametrize(
    "path",
    [(), ("data",), ("privacy",), ("privacy", "unit"), ("columns", "wage"), ("columns", "sex"),
     ("columns", "wage", "bound_source"), ("output",), ("population",), ("constraints", 0)],
)  # fmt: skip
def test_it_refuses_unknown_keys(path):
    assert not VALIDATOR.is_valid(with_value((*path, "surprise"), 1))


def test_a_mechanism_may_have_parameters_of_its_own():
    assert VALIDATOR.is_valid(with_value(("mechanism", "steps"), 200))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("hallmark",), 2),
        (("privacy", "neighbours"), "both"),
        (("privacy", "unit"), "household"),
        (("privacy", "epsilon"), "lots"),
        (("data", "expected_rows"), 0),
        (("columns", "wage", "outside"), "ignore"),
        (("columns", "wage", "type"), "text"),
        (("output", "rows"), "all"),
        (("output", "rows"), 10**12),
    ],
)
def test_it_refuses_wrong_values(path, value):
    assert not VALIDATOR.is_valid(with_value(path, value))


def test_every_key_is_described():
    plain = [
        name
        for definition in [SCHEMA, *SCHEMA["$defs"].values()]
        for name, field in definition.get("properties", {}).items()
        if "description" not in field and name != "type"
    ]
    assert plain == []
