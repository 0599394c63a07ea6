"""Statements of people: optional, refused where they contradict, and no part of what is asked."""

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from hallmark.schemas.loading import SpecError, load_profile, load_spec
from hallmark.schemas.release_spec import ReleaseSpec
from tests import example
from tests.tasks.statements import ABOUT, PROFILE, write_profile


def _spec(folder: Path, **changes: Any) -> ReleaseSpec:
    return load_spec(example.write(folder, 10, **changes))


def test_a_spec_without_statements_keeps_its_digest(tmp_path: Path) -> None:
    spec = _spec(tmp_path)
    assert "about" not in spec.content()
    assert spec.digest() == _spec(tmp_path, about={}).digest()


def test_statements_are_part_of_the_spec_and_not_of_what_the_data_are_asked(
    tmp_path: Path,
) -> None:
    plain, stated = _spec(tmp_path), _spec(tmp_path, about=ABOUT)
    assert stated.digest() != plain.digest()
    assert stated.privacy_digest() == plain.privacy_digest()
    assert stated.content()["about"]["clearance"] == "DRB-2026-017"
    assert stated.about.tuning is not None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"schedule": "weekly"}, "about.schedule: must be one-shot or periodic"),
        ({"clearence": "1"}, "about.clearence: is not a key of the spec; did you mean clearance?"),
        ({"legal_basis": ""}, "about.legal_basis: is empty; write something"),
        ({"tuning": {"on": "private"}}, "about.tuning.details: is missing; say which parameters"),
        ({"tuning": "public"}, "about.tuning: must be a mapping"),
    ],
)
def test_a_wrong_statement_is_told_with_its_place(
    change: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises(SpecError) as refused:
        _spec(tmp_path, about=change)
    assert told in str(refused.value)


def test_a_profile_says_who_publishes_and_where(tmp_path: Path) -> None:
    agency = load_profile(write_profile(tmp_path)).agency
    assert agency.environment.network == PROFILE["agency"]["environment"]["network"]
    assert [one.actor for one in agency.actors] == ["operator", "data user"]


def test_the_statements_that_the_documentation_shows_are_sound_and_complete(
    tmp_path: Path,
) -> None:
    page = (Path(__file__).parents[2] / "docs/audit.md").read_text()
    about, profile = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    shown = YAML(typ="safe").load(about)["about"]
    assert set(shown) == set(ABOUT)
    spec = _spec(tmp_path, about={k: v if k == "tuning" else str(v) for k, v in shown.items()})
    assert spec.about.tuning is not None
    (tmp_path / "profile.yaml").write_text(profile)
    agency = load_profile(tmp_path / "profile.yaml").agency
    said = {name for name, value in agency if value}
    assert set(type(agency).model_fields) - said == {"vulnerabilities", "retention"}


def test_an_actor_says_what_they_see(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"agency\.actors\[0\]\.sees: is missing"):
        load_profile(write_profile(tmp_path, actors=[{"actor": "operator"}]))
