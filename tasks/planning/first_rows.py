"""The first rows of an uploaded file, read once and kept for whoever brought it.

A process of its own reads them, which takes a second. What it told is kept in the home folder, for
its owner alone, as long as the file is the one that was read: it is thrown away before the file is
replaced, removed or moved (`uploads`), and written only while none of that is done. Who may see it
is for the caller to decide, each time.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hallmark.tasks.installation.code import code_digest
from hallmark.tasks.installation.workspace import whole
from hallmark.tasks.planning.uploads import Place, unchanging
from hallmark.tasks.sources.look import look

if TYPE_CHECKING:
    from hallmark.tasks.sources.beginning import Look


def first_rows(place: Place, form: Mapping[str, Any] | None) -> "Look":
    """What the beginning of an uploaded file shows, as `look` does.

    Args:
        form: keys of the section `data` that say how it is written; guessed where there are none.
    Raises:
        LookRefused: it took too much memory or time, or broke the reader.
    """
    read = _what_is_read(place, form)
    if (kept := _kept(place, read)) is not None:
        return kept
    seen = look(place.file, form)
    if not seen.refusal:  # which may have been for want of memory
        with suppress(OSError):  # without room on the disk, the page is made all the same
            _keep(place, read, form, seen)
    return seen


def _what_is_read(place: Place, form: Mapping[str, Any] | None) -> dict[str, Any]:
    """A file as it is, how it is read, and by which code; in plain JSON values."""
    file = place.file.stat()
    version = (file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns)
    return {
        "file": list(version),
        "form": None if form is None else dict(form),
        "code": code_digest(),
    }


def _kept(place: Place, read: Mapping[str, Any]) -> "Look | None":
    from hallmark.tasks.sources.beginning import Look

    try:
        told = json.loads(place.first_rows.read_bytes())
        return Look(**told["seen"]) if told["read"] == read else None
    except (OSError, ValueError, KeyError):  # there is none, or not all of one
        return None


def _keep(
    place: Place, read: Mapping[str, Any], form: Mapping[str, Any] | None, seen: "Look"
) -> None:
    with unchanging():
        if not place.file.is_file() or _what_is_read(place, form) != read:
            return
        for kept in place.first_rows.parent.glob("[!.]*"):
            if not Place(place.kind, kept.name.removesuffix(".json")).file.is_file():
                kept.unlink(missing_ok=True)  # of a file that was taken away past the desk
        with whole(place.first_rows) as draft:
            draft.touch(mode=0o600)
            draft.write_text(json.dumps({"read": read, "seen": asdict(seen)}))
