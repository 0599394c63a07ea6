"""The form of a spec: all but its columns, and back again."""

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from hallmark.schemas.loading import SpecError, load_spec
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.spec_form import LEFT_TO_THE_FILE, SpecForm, filled_in, form_of
from tests import example


@pytest.fixture
def spec(tmp_path: Path) -> ReleaseSpec:
    return load_spec(example.write(tmp_path))


def reloaded(content: dict[str, object], folder: Path) -> ReleaseSpec:
    path = folder / "filled-in.yaml"
    YAML().dump(content, path)
    return load_spec(path)


def test_an_unchanged_form_gives_the_same_spec(spec: ReleaseSpec, tmp_path: Path):
    # A database that keeps forms may keep no order of keys.
    form = json.loads(json.dumps(form_of(spec), sort_keys=True))
    again = reloaded(filled_in(spec, form), tmp_path)
    assert again == spec
    assert again.digest() == spec.digest()


def test_what_the_form_changes_changes_the_spec(spec: ReleaseSpec, tmp_path: Path):
    form = form_of(spec)
    form["privacy"]["epsilon"] = "1/3"
    form["description"] = None  # left empty
    changed = reloaded(filled_in(spec, form), tmp_path)
    assert str(changed.privacy.epsilon) == "1/3"
    assert changed.columns == spec.columns


def test_a_wrong_form_is_refused_in_the_words_of_a_spec(spec: ReleaseSpec, tmp_path: Path):
    form = form_of(spec)
    form["privacy"]["epsilon"] = "-1"
    with pytest.raises(SpecError, match=r"privacy\.epsilon: is -1; give a number above 0"):
        reloaded(filled_in(spec, form), tmp_path)


def test_the_form_cannot_touch_what_is_left_to_the_file(spec: ReleaseSpec):
    assert not set(LEFT_TO_THE_FILE) & set(SpecForm.model_fields)
    form = form_of(spec) | {"columns": {}, "constraints": []}
    assert filled_in(spec, form)["columns"] == spec.content()["columns"]


def test_who_starts_a_release_does_not_say_whose_table_it_is_nor_what_is_public(spec: ReleaseSpec):
    sent = form_of(spec) | {
        "population": {"account": "other-people"},
        "data": {"source": "other.csv"},
        "cluster": {"address": "tcp://elsewhere:8786"},
        "approvals": {},
        "rehearsal": {"source": "table.csv", "kind": "public", "reference": "none"},
        "public_data": {"source": "table.csv", "reference": "none"},
    }
    assert filled_in(spec, sent) == filled_in(spec, form_of(spec))


def test_the_cluster_of_the_file_is_kept(tmp_path: Path):
    spec = load_spec(example.write(tmp_path, cluster={"address": "tcp://inside:8786"}))
    again = reloaded(filled_in(spec, form_of(spec)), tmp_path)
    assert again.cluster == spec.cluster is not None


def test_every_section_of_a_spec_is_in_the_form_or_left_to_the_file():
    assert set(SpecForm.model_fields) | set(LEFT_TO_THE_FILE) == set(ReleaseSpec.model_fields)


def test_the_form_says_what_every_section_means():
    told = SpecForm.model_json_schema()["properties"]
    assert {key: one["description"] for key, one in told.items()}.items() <= (
        ReleaseSpec.meanings().items()
    )
