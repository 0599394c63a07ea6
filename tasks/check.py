"""Check a private table against a spec without releasing it, and say later what was found.

A check asks the table what a run asks it before its first draw, so it counts as a look that nobody
paid for (`planning.looks`). What it found is a note in the restricted workspace, for people who
write specs or run releases: it names rules, no value and no count. It is good as long as neither
the spec nor the file has changed.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime

from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.section import Section
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.notes import note_about
from hallmark.tasks.installation.operator import Order, numbered, operator
from hallmark.tasks.installation.workspace import CHECKED, Workspace, whole
from hallmark.tasks.planning.looks import looking
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.private_tables import note
from hallmark.tasks.validate import check_table, refuse_failures

_ORDERED = "check-ordered.json"

Outcome = Literal["kept", "refused"]


class Checked(Section):
    """What the last check of a release's table found. Internal: an exact fact about the table."""

    release: str
    by: str
    at: AwareDatetime
    outcome: Outcome
    says: str = ""
    spec: str  # digest of what the table was checked against
    table: str  # what the file was
    page: str | None = None  # digest of the page of values that break rules, if there is one


@dataclass(frozen=True)
class Standing:
    """What a plan may say of the private table.

    Attributes:
        state: "missing" (there is no such file), "unchecked" (never, or spec or file have changed
            since), "kept", "refused", or "untold" to people who may not know.
        checked: the check that says so; one that is out of date where the state is "unchecked".
        ordered: the order of a check that has not ended.
    """

    state: Literal["missing", "unchecked", "kept", "refused", "untold"]
    checked: Checked | None = None
    ordered: Order | None = None


def check(prepared: Prepared) -> Checked:
    """Check the table that a spec names, and note what was found.

    Raises:
        AlreadyRunning: a run of the release is under way.
        LooksUsedUp: it was ordered at the desk, and the limit of looks is reached.
    """
    spec, folder = prepared.spec, prepared.folder
    workspace, refusal = Workspace.of(spec.release), ""
    with _no_longer_ordered(workspace), workspace.held():
        note(workspace, spec, folder, None)
        before = _file_of(spec, folder)
        workspace.offending.unlink(missing_ok=True)
        with looking(workspace, spec, folder, prepared.source, draws=False):
            try:
                refuse_failures(check_table(spec, prepared.source), workspace.offending)
            except SafeError as error:
                refusal = _without_place(str(error))
        if _file_of(spec, folder) != before:
            refusal = "data.source: the file was changed while it was checked; check it again"
        found = Checked(
            release=spec.release,
            by=operator(),
            at=datetime.now(UTC),
            outcome="refused" if refusal else "kept",
            says=refusal,
            spec=_digest(spec),
            table=before,
            page=_page_of(workspace),
        )
        with whole(workspace.checked) as draft:
            draft.touch(mode=0o600)
            draft.write_text(found.model_dump_json())
    return found


@contextmanager
def ordering_check(release: str, by: str) -> Iterator[str]:
    """Write somebody's order to check the table of a release, whose number the run must name.

    The block starts the run. If it raises, no check is ordered.
    """
    order = Order(release=release, what="check", by=by, at=datetime.now(UTC))
    file = Workspace.of(release).path / _ORDERED
    with whole(file) as draft:
        draft.touch(mode=0o600)
        draft.write_text(order.model_dump_json())
    try:
        yield numbered(order)
    except BaseException:
        file.unlink(missing_ok=True)
        raise


@contextmanager
def _no_longer_ordered(workspace: Workspace) -> Iterator[None]:
    try:
        yield
    finally:
        (workspace.path / _ORDERED).unlink(missing_ok=True)


def standing(spec: ReleaseSpec, folder: Path) -> Standing:
    """What is known of the private table of a spec; no byte of it is read.

    Args:
        folder: where relative sources of the spec start.
    """
    last = note_about(Checked, spec.release, CHECKED)
    ordered = note_about(Order, spec.release, _ORDERED)
    there = _file_of(spec, folder)
    if not there:
        return Standing("missing")
    if last is None or (last.spec, last.table) != (_digest(spec), there):
        return Standing("unchecked", last, ordered)
    return Standing(last.outcome, last, ordered)


def values_page(spec: ReleaseSpec, folder: Path) -> Path | None:
    """The page of values that broke rules in the last check, if the file is still the one that was
    checked; a run since may have read another."""
    last = note_about(Checked, spec.release, CHECKED)
    workspace = Workspace.at(spec.release)
    if last is None or last.page is None or last.table != _file_of(spec, folder):
        return None
    return workspace.offending if _page_of(workspace) == last.page else None


def _digest(spec: ReleaseSpec) -> str:
    """SHA-256 of the sections that a table is checked against."""
    content = spec.content()
    said = {key: content.get(key) for key in ("data", "columns", "lookups", "constraints")}
    unit = content["privacy"]["unit"]
    return sha256(json.dumps([said, unit], sort_keys=True).encode()).hexdigest()


def _file_of(spec: ReleaseSpec, folder: Path) -> str:
    """What a file, or a folder of parts, is, by sizes and times; empty where there is none."""
    if spec.data.in_database or "://" in spec.data.source:
        return "elsewhere"
    place = Path(spec.data.located(folder))
    told = []
    for file in sorted(_files(place)):
        with suppress(OSError):
            found = file.stat()
            told.append([str(file), found.st_size, found.st_mtime_ns, found.st_ino])
    return sha256(json.dumps(told).encode()).hexdigest() if told else ""


def _files(place: Path) -> Iterator[Path]:
    if not place.is_dir():
        yield place
        return
    for at, _, names in os.walk(place):
        yield from (Path(at, name) for name in names)


def _page_of(workspace: Workspace) -> str | None:
    with suppress(OSError):
        return sha256(workspace.offending.read_bytes()).hexdigest()
    return None


def _without_place(message: str) -> str:
    """The message without the place of the page: at the desk it is a link, for whom it is meant."""
    return message.partition("\nThe values that break them")[0]
