"""Which tables are private here, so that none is taken for a public one.

Every run of a release notes where its private table lies and by what a copy is known, keyed by the
installation's secret, in its workspace. Whatever a spec or a person calls public is held against
the spec's own private table and against all that were noted, by place and by content. In the home
of a rehearsal nothing is private: its table may well be the public one of the spec.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.section import Section
from hallmark.tasks.installation.errors import PrivateFact
from hallmark.tasks.installation.workspace import (
    Workspace,
    is_rehearsal_home,
    whole,
    workspaces_place,
)
from hallmark.tasks.planning.likeness import Likeness
from hallmark.tasks.sources import overlap
from hallmark.tasks.sources.secret import keyed_digest

_FILE = "private-tables.json"


class CopyRefused(PrivateFact):
    """Something declared public contains the private records; the message reveals no more."""


class Noted(Section):
    """A private table of this installation."""

    release: str
    location: str
    files: frozenset[str] = frozenset()  # keyed digests
    records: str | None = None  # likewise


@dataclass(frozen=True)
class PublicTable:
    """A table, or another file, that is taken for public."""

    where: str  # in the spec or on the command line, and what it is called there
    like: Likeness


def note(workspace: Workspace, spec: ReleaseSpec, folder: Path, like: Likeness | None) -> None:
    """Note the private table of a release: that it lies there, and if known by what a copy is told.

    What was noted stays noted, also where the release was given another table since.
    """
    if is_rehearsal_home():
        return
    table = Noted(release=spec.release, location=spec.data.located(folder))
    if like is not None:
        table = table.model_copy(update=keyed(like))
    earlier = _read(workspace.path / _FILE)
    if table not in earlier:
        with whole(workspace.path / _FILE) as draft:
            draft.write_bytes(_LIST.dump_json([*earlier, table], indent=1))


def private_at(location: str, spec: ReleaseSpec, folder: Path) -> str | None:
    """The release whose private table is at a location, or a part of it; the spec's own first.

    None where no private table is known to be there.
    """
    if is_rehearsal_home():
        return None
    own = spec.data.located(folder)
    if not spec.data.in_database and overlap(location, own):
        return spec.release
    return next((one.release for one in noted() if overlap(location, one.location)), None)


def private_like(like: Likeness) -> str | None:
    """The release of whose private table, as noted, something is a copy; None where of none."""
    known = [one for one in noted() if one.files or one.records]
    under_key = Likeness(**keyed(like)) if known else like
    return next((one.release for one in known if _likeness(one).is_of(under_key)), None)


def refuse_copies(tables: Iterable[PublicTable], own: Likeness, release: str) -> None:
    """Refuse a release in which something declared public is a copy of the private table.

    Where a table lies is known beforehand (`private_at`); what it holds, once it has been read.

    Args:
        tables: all that the release takes for public.
        own: what its private table is known by.
    Raises:
        CopyRefused: one of the tables is a copy.
    """
    for table in tables:
        if not is_rehearsal_home() and table.like.is_of(own):
            raise CopyRefused(
                f"{table.where} is a copy of the private table, but public tables may be released "
                "unchanged; the private table was asked nothing. Name a published table, or give "
                f"the budget back with: hallmark ledger cancel {release} --reason WHY"
            )


def releases_like(release: str) -> list[str]:
    """The other releases whose private table, as noted, is a copy of this release's, by name."""
    known = list(noted())
    own = [_likeness(one) for one in known if one.release == release]
    others = {
        one.release
        for one in known
        if one.release != release and any(_likeness(one).is_of(like) for like in own)
    }
    return sorted(others)


def tables_of(release: str) -> list[Noted]:
    """The private tables that runs of a release were given."""
    return [one for one in _read(Workspace.at(release).path / _FILE) if one.release == release]


def whose(release: str, spec: ReleaseSpec) -> str:
    """The release, in the words of a message about the spec."""
    return "this release" if release == spec.release else f"release {release}"


_LIST = TypeAdapter(list[Noted])


def _likeness(table: Noted) -> Likeness:
    return Likeness(table.files, table.records)


def keyed(like: Likeness) -> dict[str, Any]:
    """The fields of `Noted` by which a copy of a table is known."""
    records = None if like.records is None else _key(like.records)
    return {"files": frozenset(map(_key, like.files)), "records": records}


def _key(digest: str) -> str:
    return keyed_digest(bytes.fromhex(digest))


def noted() -> Iterator[Noted]:
    """All private tables of this installation, as they were noted."""
    for path in sorted(workspaces_place().glob(f"*/{_FILE}")):
        yield from _read(path)


def _read(path: Path) -> list[Noted]:
    with suppress(OSError, ValidationError):  # there is none, or another version wrote it
        return _LIST.validate_json(path.read_bytes())
    return []
