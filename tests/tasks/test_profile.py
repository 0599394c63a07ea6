"""The installation's profile: found where it is named, empty where there is none."""

from pathlib import Path

import pytest

from schemas.loading import SpecError
from schemas.profile import Profile
from tasks.profile import profile
from tests.tasks.statements import write_profile


def test_an_installation_without_a_profile_says_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HALLMARK_PROFILE", raising=False)
    assert profile() == Profile()


def test_the_profile_in_the_home_folder_is_read(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HALLMARK_PROFILE", raising=False)
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
    with pytest.raises(SpecError, match=r"agency\.phone: is no key"):
        profile()
