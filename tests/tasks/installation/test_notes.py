"""Notes in workspaces: what is none, and that no name leads to another's."""

from pathlib import Path

import pytest

from hallmark.schemas.section import Section
from hallmark.tasks.installation.notes import note_about, notes
from hallmark.tasks.installation.workspace import Workspace

FILE = "word.json"


class Word(Section):
    release: str
    said: int


@pytest.fixture(autouse=True)
def written(home: Path) -> None:
    for release, text in (
        ("first", '{"release": "first", "said": 1}'),
        ("second", '{"release": "second", "said": 2}'),
        ("later-version", '{"release": "later-version", "said": 3, "more": 4}'),
        ("half", '{"release": "ha'),
        ("none", ""),
    ):
        (Workspace.of(release).path / FILE).write_text(text)
    (Workspace.of("none").path / FILE).unlink()


def test_what_is_no_note_of_the_kind_is_none() -> None:
    assert {word.release: word.said for word in notes(Word, FILE)} == {"first": 1, "second": 2}
    assert note_about(Word, "second", FILE) == Word(release="second", said=2)
    for release in ("later-version", "half", "none", "never"):
        assert note_about(Word, release, FILE) is None


def test_only_notes_about_the_releases_that_are_asked_for_are_read() -> None:
    assert [word.said for word in notes(Word, FILE, lambda name: name > "first")] == [2]


@pytest.mark.parametrize("name", ["../work/first", "second/../first", "first/", "fir\0st", ""])
def test_no_path_leads_to_a_note(name: str) -> None:
    assert note_about(Word, name, FILE) is None
