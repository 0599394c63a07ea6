"""Files that were uploaded at the desk: who brought each, and how it is written.

Beside the folder of tables lies a note about each file. Whoever brought a file knows what is in it,
so it is shown to that person, and to nobody else: a note is written after its file, and taken away
before the file changes, so it never tells of a file that somebody else brought. A file without a
note, such as one from before there were notes, is nobody's. The same holds of first rows that are
kept (`first_rows`).
"""

import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import AwareDatetime, ValidationError

from hallmark.schemas.section import Section
from hallmark.schemas.table_sections import DataSource, FileFormat, format_by_name
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import home, private_folder, whole
from hallmark.tasks.planning.places import PUBLIC, public_folder, tables_folder

Kind = Literal["private", "public"]

FORM_KEYS = (
    "sheet", "delimiter", "encoding", "decimal_mark", "thousands", "date_format", "null_markers",
)  # fmt: skip
"""Keys of the section `data` that say how a file is written."""


_KEYS_OF: dict[FileFormat | None, tuple[str, ...]] = {
    "csv": FORM_KEYS[1:],
    "xlsx": ("sheet", "date_format", "null_markers"),
    None: ("date_format", "null_markers"),  # any other, which holds numbers and characters as such
}


class UploadRefused(SafeError):
    """Something is not done with an uploaded file."""


class Upload(Section):
    """What is known of a file beside its bytes."""

    by: str
    at: AwareDatetime
    form: Mapping[str, Any] | None = None
    """keys of `data` as that person confirmed them; None as long as nobody has"""


@dataclass(frozen=True)
class Place:
    """An uploaded file, which need not exist."""

    kind: Kind
    name: str

    @property
    def folder(self) -> Path:
        """Where files of its kind are."""
        return public_folder() if self.kind == "public" else tables_folder()

    @property
    def file(self) -> Path:
        """Where it is."""
        return self.folder / self.name

    @property
    def source(self) -> str:
        """What a spec of the desk calls it."""
        return f"{PUBLIC}/{self.name}" if self.kind == "public" else self.name

    @property
    def note(self) -> Path:
        """Where the note about it is."""
        return private_folder(home() / "uploads" / self.kind) / f"{self.name}.json"

    @property
    def first_rows(self) -> Path:
        """Where its first rows are kept, for whoever brought it."""
        folder = private_folder(private_folder(home() / "uploads" / "first-rows") / self.kind)
        return folder / f"{self.name}.json"

    @property
    def upload(self) -> Upload | None:
        """What is known of it."""
        with suppress(OSError, ValueError):  # there is none, or another version wrote it
            if self.file.is_file():
                return Upload.model_validate_json(self.note.read_bytes())
        return None

    @property
    def is_table(self) -> bool:
        """Whether it has rows and a form, as far as its name says."""
        return format_by_name(self.name) is not None


def places() -> list[Place]:
    """All files that were uploaded."""
    found: list[Place] = []
    for place in (Place("private", "x"), Place("public", "x")):
        names = sorted(one.name for one in place.folder.iterdir() if one.is_file())
        found += [Place(place.kind, name) for name in names if not name.startswith(".")]
    return found


@contextmanager
def changing() -> Iterator[None]:
    """Change uploaded files, while no run is ordered that might read them."""
    with _held(fcntl.LOCK_EX):
        yield


@contextmanager
def unchanging() -> Iterator[None]:
    """Order a run, or keep what is told of a file, while none is replaced or taken away."""
    with _held(fcntl.LOCK_SH):
        yield


@contextmanager
def _held(how: int) -> Iterator[None]:
    with (private_folder(home() / "uploads") / "lock").open("a") as lock:
        fcntl.flock(lock, how)  # the system lets go when the process ends, even killed
        yield


def keep(place: Place, draft: Path, by: str, *, replace: bool) -> None:
    """Put a whole file in its place; call it while `changing`.

    Args:
        by: login of whoever brought it.
        replace: whether it takes the place of an earlier one; how that was written is forgotten.
    Raises:
        UploadRefused: there is one already, or none to replace.
    """
    if place.file.exists() != replace:
        raise UploadRefused(
            f"there is no file {place.name!r} any more; upload it as a new one"
            if replace
            else f"there is a file {place.name!r} already; replace it on its own page, or rename "
            "the new one"
        )
    _forget(place)
    draft.replace(place.file)
    _write(place, Upload(by=by, at=datetime.now(UTC)))


def remove(place: Place) -> None:
    """Delete a file and all that is known of it; call it while `changing`."""
    _forget(place)
    place.file.unlink()


def make_private(place: Place) -> Place:
    """Move a file that was uploaded as public to the private ones; call it while `changing`.

    Raises:
        UploadRefused: it is private, or another private file has its name.
    """
    there = Place("private", place.name)
    if place.kind != "public":
        raise UploadRefused(f"{place.name!r} is private already")
    if there.file.exists():
        raise UploadRefused(
            f"there is a private file {place.name!r} already; remove one of the two, or upload "
            "this one under another name"
        )
    known = place.upload
    _forget(place)
    place.file.rename(there.file)
    if known is not None:
        _write(there, known)
    return there


def confirm(place: Place, form: Mapping[str, Any], by: str) -> None:
    """Keep how a file is written, as whoever brought it says; call it while `changing`.

    Raises:
        UploadRefused: somebody else brought it, or the form is not sound; line by line.
    """
    known = place.upload
    if known is None or known.by != by:
        raise UploadRefused(f"only who uploaded {place.name!r} says how it is written")
    _write(place, known.model_copy(update={"form": sound(place, form)}))


def sound(place: Place, form: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a form, of which each is as a spec would accept it.

    Raises:
        UploadRefused: one is not; line by line.
    """
    keys = _KEYS_OF.get(format_by_name(place.name), _KEYS_OF[None])
    given = {key: form[key] for key in keys if form.get(key) not in (None, "", ())}
    try:
        DataSource.model_validate(
            {"source": place.source, "expected_rows": 1, "record": "a row", **given}
        )
    except ValidationError as error:
        lines = [f"{one['loc'][0]}: {one['msg']}" for one in error.errors()]
        raise UploadRefused("\n".join(lines)) from None
    return given


def _forget(place: Place) -> None:
    """Take away all that is known of a file, before it changes."""
    place.note.unlink(missing_ok=True)
    place.first_rows.unlink(missing_ok=True)
    for half in place.first_rows.parent.glob(".*"):  # written by a process that was killed
        half.unlink(missing_ok=True)


def _write(place: Place, upload: Upload) -> None:
    with whole(place.note) as draft:
        draft.touch(mode=0o600)
        draft.write_text(upload.model_dump_json())
