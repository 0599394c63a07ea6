"""Notes about uploaded files: they tell of the file that is there, wherever a process is killed."""

from contextlib import suppress
from pathlib import Path

import pytest

from hallmark.tasks.planning import uploads
from hallmark.tasks.planning.uploads import (
    Place,
    UploadRefused,
    changing,
    confirm,
    keep,
    make_private,
    places,
    remove,
    sound,
)

ADA, EVE = "ada", "eve"


@pytest.fixture
def place(home: Path, tmp_path: Path) -> Place:
    found = Place("public", "t.csv")
    keep(found, drafted(tmp_path, "a;b\n1;2\n"), ADA, replace=False)
    confirm(found, {"delimiter": ";"}, ADA)
    return found


def drafted(folder: Path, text: str) -> Path:
    file = folder / "draft"
    file.write_text(text)
    return file


def test_a_note_says_who_brought_a_file_and_how_it_is_written(place: Place):
    known = place.upload
    assert known is not None
    assert (known.by, known.form) == (ADA, {"delimiter": ";"})
    assert place.note.stat().st_mode & 0o077 == 0
    assert places() == [place]
    with pytest.raises(UploadRefused, match="only who uploaded"):
        confirm(place, {"delimiter": ","}, EVE)


def test_a_file_in_its_place_is_of_whoever_brought_that(place: Place, tmp_path: Path):
    with pytest.raises(UploadRefused, match="there is a file"):
        keep(place, drafted(tmp_path, "c\n3\n"), EVE, replace=False)
    assert place.file.read_text() == "a;b\n1;2\n"
    keep(place, drafted(tmp_path, "c\n3\n"), EVE, replace=True)
    known = place.upload
    assert known is not None
    assert (known.by, known.form, place.file.read_text()) == (EVE, None, "c\n3\n")


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("deed", ["keep", "remove", "make_private"])
@pytest.mark.parametrize("step", range(5))
def test_wherever_a_process_is_killed_no_note_tells_of_another_file(
    deed: str, step: int, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    left = [step]

    def killing(real):
        def call(*arguments, **more):
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return real(*arguments, **more)

        return call

    draft = drafted(tmp_path, "of eve\n")
    with monkeypatch.context() as patched, suppress(Killed):
        for name in ("unlink", "replace", "rename"):
            patched.setattr(Path, name, killing(getattr(Path, name)))
        match deed:
            case "keep":
                keep(place, draft, EVE, replace=True)
            case "remove":
                remove(place)
            case "make_private":
                make_private(place)
    for one in places():
        is_eves = one.file.read_text() == "of eve\n"
        known = one.upload
        assert known is None or known.by == (EVE if is_eves else ADA)
        assert one.name == "t.csv" or one.name.startswith(".")


def test_what_makes_no_sense_in_a_format_is_left_out(home: Path):
    given = {"delimiter": ";", "encoding": "latin-1", "sheet": "a", "null_markers": ["", "NA"]}
    assert sound(Place("private", "t.xlsx"), given) == {"sheet": "a", "null_markers": ["", "NA"]}
    assert "sheet" not in sound(Place("private", "t.csv"), given)
    with pytest.raises(UploadRefused, match="encoding: "):
        sound(Place("private", "t.csv"), {"encoding": "klingon"})


def test_files_change_one_after_the_other(home: Path):
    with uploads.unchanging(), uploads.unchanging():
        pass
    with changing():
        pass


def test_a_note_that_is_none_of_ours_says_nothing(place: Place):
    place.note.write_text('{"by": "ada", "of": "another version"}')
    assert place.upload is None
