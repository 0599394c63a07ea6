"""Looks at private tables that no draw paid for: runs that read one and ended before their answers.

Whether a table breaks a rule is an exact fact about it, and whoever writes specs chooses the rules.
So a run notes that it looks before it reads anything, and strikes the note out once the curator has
answered it, which is charged. What is left counts: runs that were refused, failed, were stopped or
killed. Tables are told apart by place, and by content as soon as a look at one ended in a refusal:
neither another release, another spec nor another name of the file begins a new count.

Runs that were ordered at the desk have a limit, which the profile sets, and which somebody who
manages the installation may begin anew. Other runs are counted alike, but started by people who
have the machine, and so the table. In the home of a rehearsal nothing is private, nor counted.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from pydantic import AwareDatetime, TypeAdapter

from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.installation.errors import PrivateFact, SafeError
from hallmark.tasks.installation.guard import guarded
from hallmark.tasks.installation.operator import operator, order_number
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.installation.workspace import (
    Workspace,
    is_rehearsal_home,
    whole,
    workspaces_place,
)
from hallmark.tasks.planning.likeness import Likeness
from hallmark.tasks.planning.private_tables import Noted, keyed, noted, tables_of
from hallmark.tasks.sources import Source, file_hashes, overlap

RECENT = timedelta(days=30)
"""For how long a look counts, and is kept."""
_FILE, _MORE = "uncharged-looks.json", "more-looks.json"


class LooksUsedUp(PrivateFact):
    """A table was looked at too often without a draw; it is not read again for the desk."""


class Look(Noted):
    """A run that read a private table, or somebody's word that it may be looked at again."""

    at: AwareDatetime
    by: str  # login, or account on the machine
    is_open: bool = False  # the run is under way, or was killed


@dataclass(frozen=True)
class Looks:
    """What is known of the looks at a table.

    Attributes:
        uncharged: in the last days, the latest first.
        counted: those since somebody last allowed more.
        most: the limit of `counted`, from which on the desk starts no run.
    """

    uncharged: Sequence[Look]
    counted: int
    most: int

    @property
    def used_up(self) -> bool:
        """Whether the desk starts no more run on the table."""
        return self.counted >= self.most


@contextmanager
def looking(
    workspace: Workspace, spec: ReleaseSpec, folder: Path, source: Source, *, draws: bool = True
) -> Iterator[None]:
    """Note a look at the private table of a spec, which the block reads.

    Args:
        draws: whether the run goes on to draw, which strikes the look out; else the look counts,
            however the block ends.
    Raises:
        LooksUsedUp: the run was ordered at the desk, and the limit is reached.
    """
    if is_rehearsal_home():
        yield
        return
    if order_number() is not None:
        refuse_used_up(spec, folder)
    look = Look(
        release=spec.release,
        location=spec.data.located(folder),
        at=datetime.now(UTC),
        by=operator(),
        is_open=True,
    )
    earlier = [one.model_copy(update={"is_open": False}) for one in _recent(workspace.path)]
    _write(workspace, [*earlier, look])
    try:
        yield
    except PrivateFact:
        _write(workspace, [*earlier, _ended(look, workspace, source)])
        raise
    if not draws:
        _write(workspace, [*earlier, _ended(look, workspace, source)])


def _ended(look: Look, workspace: Workspace, source: Source) -> Look:
    """A look that told what it found, with what copies of its table are known by."""
    files, like = guarded("validate", workspace.path, file_hashes), {}
    with suppress(SafeError):  # it cannot be read: its place counts
        like = keyed(Likeness(frozenset(files(source).values())))
    return look.model_copy(update={**like, "is_open": False})


def answered(workspace: Workspace) -> None:
    """Strike out the look of the run under way: the curator answered, and charged, or read back
    what an earlier run of the release was answered about the very same table."""
    _write(workspace, [one for one in _recent(workspace.path) if not one.is_open])


def refuse_used_up(spec: ReleaseSpec, folder: Path) -> None:
    """Refuse to look at the private table of a spec once more.

    Raises:
        LooksUsedUp: the limit is reached.
    """
    found = _looks([Noted(release=spec.release, location=spec.data.located(folder))])
    if found.used_up:
        releases = sorted({one.release for one in found.uncharged})
        raise LooksUsedUp(
            f"data.source: {found.counted} runs read this table and ended without a draw in the "
            f"last {RECENT.days} days, and each told an exact fact about it at no budget; the "
            f"profile allows {found.most}. An administrator can allow more at the desk, on the "
            f"page of {' or '.join(releases) or spec.release}"
        )


def looks_at_table_of(release: str) -> Looks:
    """The looks at the private table of a release, or at all that it was given."""
    return _looks(tables_of(release))


def allow_more(release: str, by: str) -> None:
    """Begin the count of looks at the private table of a release anew.

    Raises:
        SafeError: no run of the release has read any table yet.
    """
    tables = tables_of(release)
    if not tables:
        raise SafeError(f"no run of release {release!r} has read a private table yet")
    now = datetime.now(UTC)
    with whole(Workspace.of(release).path / _MORE) as draft:
        draft.write_bytes(
            _LIST.dump_json([Look(**one.model_dump(), at=now, by=by) for one in tables], indent=1)
        )


def _looks(tables: Sequence[Noted]) -> Looks:
    """The looks at any of some tables."""
    looks = [one for path in workspaces_place().glob(f"*/{_FILE}") for one in _recent(path.parent)]
    if not looks:
        return Looks([], 0, profile().uncharged_looks)
    is_same = _one_of(tables, [*looks, *noted()])
    uncharged = sorted(filter(is_same, looks), key=lambda one: one.at, reverse=True)
    allowed = [one for path in workspaces_place().glob(f"*/{_MORE}") for one in _read(path)]
    since = max(
        (one.at for one in allowed if is_same(one)), default=datetime.min.replace(tzinfo=UTC)
    )
    counted = sum(one.at > since for one in uncharged)
    return Looks(uncharged, counted, profile().uncharged_looks)


def _one_of(tables: Iterable[Noted], known: Sequence[Noted]) -> Callable[[Noted], bool]:
    """Whether something is about one of the tables, or a copy of it.

    Args:
        known: by what is noted of them, places lead to contents and these to other places.
    """
    places = {one.location for one in tables}

    @cache
    def is_there(location: str) -> bool:
        return location in places or any(overlap(location, place) for place in places)

    files = frozenset().union(*(one.files for one in known if is_there(one.location)))
    places |= {one.location for one in known if one.files & files}
    is_there.cache_clear()
    return lambda one: is_there(one.location) or bool(one.files & files)


_LIST = TypeAdapter(list[Look])


def _recent(workspace: Path) -> list[Look]:
    limit = datetime.now(UTC) - RECENT
    return [one for one in _read(workspace / _FILE) if one.at > limit]


def _read(path: Path) -> list[Look]:
    with suppress(OSError, ValueError):  # there is none, or another version wrote it
        return _LIST.validate_json(path.read_bytes())
    return []


def _write(workspace: Workspace, looks: Sequence[Look]) -> None:
    with whole(workspace.path / _FILE) as draft:
        draft.write_bytes(_LIST.dump_json(list(looks), indent=1))
