"""The installation's profile: found where it is named, empty where there is none."""

import base64
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from hallmark.schemas.loading import SpecError
from hallmark.schemas.profile import Profile
from hallmark.tasks.installation.profile import profile
from tests.tasks.statements import write_profile


def test_an_installation_without_a_profile_says_nothing(home: Path) -> None:
    assert profile() == Profile()


def test_the_profile_in_the_home_folder_is_read(home: Path) -> None:
    write_profile(home)
    assert profile().agency.name == "Statistical Office"


def test_the_variable_comes_first(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_profile(home)
    other = write_profile(tmp_path / "other", name="Another Office")
    monkeypatch.setenv("HALLMARK_PROFILE", str(other))
    assert profile().agency.name == "Another Office"


def test_a_variable_that_names_no_file_is_a_mistake(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALLMARK_PROFILE", str(tmp_path / "absent.yaml"))
    with pytest.raises(SpecError, match=r"absent\.yaml"):
        profile()


def test_a_wrong_key_is_told_with_its_place(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALLMARK_PROFILE", str(write_profile(home, phone="112")))
    with pytest.raises(SpecError, match=r"agency\.phone: is not a key"):
        profile()


KEYS = [base64.b64encode(bytes([i]) * 32).decode() for i in range(2)]
ADA: dict[str, Any] = {"name": "Ada Example", "roles": ["methodologist"], "key": KEYS[0]}
BO: dict[str, Any] = {"name": "Bo Example", "roles": ["methodologist"], "key": KEYS[1]}


def with_approvers(home: Path, *approvers: dict[str, Any]) -> None:
    home.mkdir(exist_ok=True)
    with (home / "profile.yaml").open("w") as handle:
        YAML().dump({"approvers": [dict(person) for person in approvers]}, handle)


@pytest.mark.parametrize(
    ("two", "why"),
    [
        (BO | {"key": KEYS[0]}, r"yaml:9: approvers\[1\]\.key: is also the key of Ada Example"),
        (BO | {"name": "Ada Example"}, r"yaml:6: approvers\[1\]\.name: is 'Ada Example', which"),
        (BO | {"name": "ada  EXAMPLE"}, r"approvers\[1\]\.name: .* list each person once"),
        (BO | {"name": "Ada\u200b Example"}, r"approvers\[1\]\.name"),
        (BO | {"name": "\uff21da Example"}, r"approvers\[1\]\.name"),
        (BO | {"login": "ada example"}, r"approvers\[1\]\.login"),
        (BO | {"key": KEYS[1][:42] + "F="}, r"approvers\[1\]\.key: is not an Ed25519 public key"),
    ],
    ids=["key", "name", "spelling", "unseen", "full width", "login", "spare bits"],
)
def test_nobody_counts_as_two_persons(two: dict[str, Any], why: str, home: Path) -> None:
    with_approvers(home, ADA, two)
    with pytest.raises(SpecError, match=why):
        profile()


def test_persons_with_a_key_each_are_taken(home: Path) -> None:
    with_approvers(home, ADA | {"login": "Ada Example"}, BO | {"login": "bo"})
    assert len(profile().approvers) == 2
