"""Notes about releases: files of one kind, at most one in the workspace of each release.

A note may vanish at any moment, be that of another version, or be no file of ours; then there is
none.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol, Self, TypeVar

from hallmark.tasks.installation.workspace import Workspace, workspaces_place


class Note(Protocol):
    """What a note holds: word about a release, written as JSON."""

    @property
    def release(self) -> str: ...

    @classmethod
    def model_validate_json(cls, json_data: bytes, /) -> Self: ...


N = TypeVar("N", bound=Note)


def read_note(kind: type[N], file: Path) -> N | None:
    """The note in a file; None where there is none."""
    with suppress(OSError, ValueError):
        return kind.model_validate_json(file.read_bytes())
    return None


def note_about(kind: type[N], release: str, name: str) -> N | None:
    """The note about a release; None where there is none.

    Args:
        release: as somebody wrote it: no path leads to a note about another.
        name: of the notes' files.
    """
    found = read_note(kind, Workspace.at(release).path / name)
    return found if found is not None and found.release == release else None


def notes(kind: type[N], name: str, which: Callable[[str], bool] | None = None) -> Iterator[N]:
    """All notes of a kind, in no order.

    Args:
        name: of the notes' files.
        which: of those releases alone of whose names this is true.
    """
    for file in workspaces_place().glob(f"*/{name}"):
        is_asked = which is None or which(file.parent.name)
        if is_asked and (found := read_note(kind, file)) is not None:
            yield found
