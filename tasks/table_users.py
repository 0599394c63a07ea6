"""Which releases depend on an uploaded file, so that it may be neither replaced nor taken away."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.profile import Profile
from hallmark.schemas.templates import PERIOD_MARK
from hallmark.schemas.yaml_document import Unreadable, read_document
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.planning.places import ordered_spec, specs_folder, tables_folder
from hallmark.tasks.planning.private_tables import tables_of
from hallmark.tasks.planning.recurring import recurring_calendars
from hallmark.tasks.releases import ReleaseState, State, releases
from hallmark.tasks.sources import overlap

_BEGUN: dict[State, str] = {
    "ordered": "a run of it was ordered; stop its runs first",
    "running": "a run of it is under way; wait until it ends, or stop it",
    "interrupted": "its run was interrupted, and can be resumed; give it up first",
    "waiting": "it waits for a decision; give it up first",
    "embargoed": "it is approved, and waits for its embargo; give it up first",
    "rejected": "it was rejected, and its gate can be reopened; give it up first",
}
"""States in which a release goes on with its files, and what would end that."""
_RESERVED = "its last run ended with its budget reserved or spent; resume it, or give it up first"


class TableUsed(SafeError):
    """A file stays as it is, since a release depends on it."""


@dataclass(frozen=True)
class Use:
    """A release, or a schedule, that depends on a file."""

    release: str
    why: str


def refuse_used(file: Path, ledger: Ledger, known: Profile) -> None:
    """Refuse to replace or take away a file that a release depends on.

    Raises:
        TableUsed: one does; each line names one, and what ends that.
    """
    if found := uses(file, ledger, known):
        lines = "\n".join(f"{use.release}: {use.why}" for use in found)
        raise TableUsed(f"{file.name} is needed as it is, so nothing was changed:\n{lines}")


def uses(file: Path, ledger: Ledger, known: Profile) -> list[Use]:
    """All that depends on an uploaded file."""
    found = list(_of_releases(file, ledger, known))
    for calendar in recurring_calendars():
        specs = calendar.parent.glob("*.yaml")
        if any(_names(spec, file) for spec in specs if spec != calendar):
            why = "it recurs; take it off the calendar first"
            found.append(Use(calendar.parent.name, why))
    return found


def drafts_naming(source: str) -> list[str]:
    """Names of the specs at the desk whose private table is called so."""
    return sorted(spec.stem for spec in specs_folder().glob("*.yaml") if _source_of(spec) == source)


def _of_releases(file: Path, ledger: Ledger, known: Profile) -> Iterator[Use]:
    every = [one for one in releases(ledger, known) if _reads(one, file)]
    drawn = ledger.records([one.release for one in every if one.state in ("failed", "stopped")])
    for one in every:
        record = drawn.get(one.release)
        if (why := _BEGUN.get(one.state)) is not None:
            yield Use(one.release, why)
        elif record is not None and (held := record.reservation) and held.state != "cancelled":
            yield Use(one.release, _RESERVED)


def _reads(one: ReleaseState, file: Path) -> bool:
    """Whether the last run of a release, or one that was ordered, reads a file."""
    if one.state == "draft":
        return False
    if any(overlap(str(file), table.location) for table in tables_of(one.release)):
        return True
    specs = [ordered_spec(one.release), *([] if one.waits is None else [Path(one.waits.spec)])]
    return any(_names(spec, file) for spec in specs)


def _names(spec: Path, file: Path) -> bool:
    """Whether a spec names a file, or a folder that it lies in, be it for some period."""
    start = tables_folder().resolve()
    at = file.resolve()
    for text in _told(spec).places:
        if "\0" in text or "\n" in text or len(text) > 4096:
            continue
        there = str((start / text).resolve())
        pattern = re.escape(there).replace(re.escape(PERIOD_MARK), "[^/]*")
        if re.fullmatch(f"{pattern}(/.*)?", str(at)) and there != str(start):
            return True
    return False


def _places(content: Any) -> Iterator[str]:
    """What a spec names files by, and some texts that name none."""
    if isinstance(content, list):
        for value in content:
            yield from _places(value)
    elif isinstance(content, dict):
        for key, value in content.items():
            if key in ("source", "file") and isinstance(value, str):
                yield value
            yield from _places(value)


def _source_of(spec: Path) -> str | None:
    return _told(spec).source


@dataclass(frozen=True)
class _Told:
    """What a spec says of files: its private table, and all places that it names."""

    source: str | None = None
    places: tuple[str, ...] = ()


def _told(spec: Path) -> _Told:
    try:
        kept = spec.stat()
    except OSError:  # there is none
        return _Told()
    return _told_by(spec, kept.st_mtime_ns, kept.st_size, kept.st_ino)


@lru_cache(maxsize=4096)  # reading YAML takes a hundredth of a second, and there are many specs
def _told_by(spec: Path, *_version: int) -> _Told:
    try:
        content = read_document(spec).content
    except Unreadable:
        return _Told()
    data = content.get("data")
    found = data.get("source") if isinstance(data, dict) else None
    return _Told(found if isinstance(found, str) else None, tuple(_places(content)))
