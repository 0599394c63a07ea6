"""First rows that are kept: of the file that is there, and gone together with it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hallmark.tasks.planning import first_rows as module
from hallmark.tasks.planning.first_rows import first_rows
from hallmark.tasks.planning.uploads import Place, changing, keep, make_private, remove
from hallmark.tasks.sources.beginning import Look, beginning

ADA, EVE, SECRET = "ada", "eve", "canary-73193"
TABLE = f"a;b\n{SECRET};2\n"

Reader = Callable[[Path, Any], Look]


@pytest.fixture
def place(home: Path) -> Place:
    found = Place("public", "t.csv")
    put(found, TABLE, replace=False)
    return found


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Files that were read, here instead of in a process of its own."""
    return reading(monkeypatch, lambda file, form: beginning(str(file), form))


def reading(monkeypatch: pytest.MonkeyPatch, reader: Reader) -> list[Path]:
    files: list[Path] = []

    def look(file: Path, form: Any = None) -> Look:
        files.append(file)
        return reader(file, form)

    monkeypatch.setattr(module, "look", look)
    return files


def put(place: Place, text: str, *, replace: bool, by: str = ADA) -> None:
    draft = place.folder / ".draft"
    draft.write_text(text)
    with changing():
        keep(place, draft, by, replace=replace)


def holding(home: Path) -> list[Path]:
    return [one for one in home.rglob("*") if one.is_file() and SECRET in one.read_text()]


def test_a_file_is_read_once_by_a_process_of_its_own(place: Place):
    seen = first_rows(place, None)
    assert seen.rows == [[SECRET, "2"]]
    assert first_rows(place, None) == seen == beginning(str(place.file), None)


def test_what_is_kept_is_for_the_owner_of_the_home_folder_alone(place: Place, home: Path, reads):
    for _ in range(3):
        assert first_rows(place, None).rows == [[SECRET, "2"]]
    assert len(reads) == 1
    assert set(holding(home)) == {place.file, place.first_rows}
    assert place.first_rows.stat().st_mode & 0o777 == 0o600
    within = place.first_rows.relative_to(home).parents
    assert all((home / folder).stat().st_mode & 0o777 == 0o700 for folder in within)


def test_a_file_that_is_another_one_is_read_again(place: Place, reads):
    first_rows(place, None)
    put(place, "c\n3\n", replace=True, by=EVE)
    assert first_rows(place, None).columns == ["c"]
    kept = place.file.stat()
    place.file.write_text("d\n3\n")  # past the desk, and dated back
    os.utime(place.file, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert first_rows(place, None).columns == ["d"]
    assert len(reads) == 3


def test_a_file_that_is_read_otherwise_is_read_again(
    place: Place, reads, monkeypatch: pytest.MonkeyPatch
):
    assert first_rows(place, {"delimiter": ","}).columns == ["a;b"]
    assert first_rows(place, {"delimiter": ";"}).columns == ["a", "b"]
    monkeypatch.setattr(module, "code_digest", lambda: "of another version")
    first_rows(place, {"delimiter": ";"})
    assert len(reads) == 3


@pytest.mark.parametrize("half", ["", "{", '{"read": {}}'])
def test_a_file_that_is_not_all_there_is_read_again(half: str, place: Place, reads):
    first_rows(place, None)
    place.first_rows.write_text(half)
    assert first_rows(place, None).rows == [[SECRET, "2"]]
    assert len(reads) == 2


def test_a_refusal_is_not_kept(place: Place, reads):
    for _ in range(2):
        assert first_rows(place, {"encoding": "utf-16"}).refusal
    assert len(reads) == 2
    assert not place.first_rows.exists()


@pytest.mark.parametrize("deed", ["replace", "remove", "make_private"])
def test_no_row_outlives_its_file(deed: str, place: Place, home: Path, reads):
    first_rows(place, None)
    half = place.first_rows.with_name(f".of-a-killed-process.{place.name}.json")
    half.write_text(json.dumps({"seen": SECRET}))
    match deed:
        case "replace":
            put(place, "c\n3\n", replace=True)
        case "remove":
            with changing():
                remove(place)
        case "make_private":
            with changing():
                there = make_private(place)
            assert holding(home) == [there.file]
            return
    assert holding(home) == []


def test_no_row_outlives_a_file_that_was_taken_away_past_the_desk(place: Place, home: Path, reads):
    first_rows(place, None)
    place.file.unlink()
    other = Place("public", "other.csv")
    put(other, "c\n3\n", replace=False)
    first_rows(other, None)
    assert holding(home) == []


def test_rows_of_a_file_that_was_replaced_meanwhile_are_not_kept(
    place: Place, home: Path, monkeypatch: pytest.MonkeyPatch
):
    def slowly(file: Path, form: Any) -> Look:
        seen = beginning(str(file), form)
        put(place, "c\n3\n", replace=True, by=EVE)
        return seen

    reading(monkeypatch, slowly)
    assert first_rows(place, None).rows == [[SECRET, "2"]]  # for who asked when it was theirs
    assert holding(home) == []


def test_without_room_on_the_disk_rows_are_shown_all_the_same(
    place: Place, home: Path, reads, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        assert first_rows(place, None).rows == [[SECRET, "2"]]
    assert holding(home) == [place.file]
