"""Revisions of periods: which one a run of the calendar is that is to release a period again.

A revision draws anew, at a charge of its own. So the same order given twice must not begin two: one
with the same reason is the same revision, which is continued, or left alone once it is published.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from hallmark.schemas.documents.manifest import MANIFEST_FILE
from hallmark.schemas.loading import SpecError, load_spec
from hallmark.schemas.series import siblings
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.planning.instances import (
    Revision,
    entry_of,
    kept_revisions,
    period_of,
    release_in,
)
from hallmark.tasks.withdrawals import withdrawal

_LEAST_REASON, _MOST_REASON = 3, 1_000  # characters, as of `series.revised`


class RevisionRefused(SafeError):
    """A period cannot be released again like this."""


def revision(
    calendar: Path, name: str, moment: datetime, period: str | None, *, reason: str, out: Path
) -> Revision:
    """The revision of a period that a run is: a new one, or one that was begun for the same reason.

    Args:
        calendar, name, moment, period: as of `instance`.
        reason: why the period is released again, which is published.
        out: folder of published releases.
    Raises:
        SpecError: the calendar is wrong.
        CalendarRefused: there is no such entry or period.
        RevisionRefused: no reason is given, the period was never published, or another revision of
            it is not finished.
    """
    reason = " ".join(reason.split())
    if not _LEAST_REASON <= len(reason) <= _MOST_REASON:
        raise RevisionRefused(
            f"say in {_LEAST_REASON} to {_MOST_REASON:,} characters why the period is released "
            "again; everybody who uses the release reads it"
        )
    period = period_of(calendar, name, moment, period)
    release = release_in(calendar.parent / entry_of(calendar, name).spec, period)
    published = _published(release, period, out)
    if not published:
        raise RevisionRefused(
            f"{release} is not published in {out}, and only what is published can be revised; run "
            "it without --revision, or name the folder of releases with --out"
        )
    kept = {number: _reason(file) for number, file in kept_revisions(name, period).items()}
    for number, before in sorted(kept.items(), reverse=True):
        if withdrawal(Workspace.at(f"{release}-r{number}")) is not None:
            continue
        if before == reason:
            return Revision(number, reason)
        if number not in published:
            raise RevisionRefused(
                f"{release}-r{number} was begun for another reason ({before}), and is not "
                "published; continue it for that reason, or give it up first"
            )
        break
    return Revision(max([*published, *kept]) + 1, reason)


def _published(release: str, period: str, out: Path) -> Mapping[int, Path]:
    """Published releases of a period, by the number of the revision; 0 for the first."""
    form = siblings(release, period)
    return {
        int(found["revision"] or 0): folder
        for folder in (out.iterdir() if out.is_dir() else ())
        if (found := form.fullmatch(folder.name)) is not None
        and found["period"] == period
        and (folder / MANIFEST_FILE).is_file()
    }


def _reason(spec: Path) -> str | None:
    """Why a revision was begun; None where its spec can no longer be read."""
    try:
        series = load_spec(spec).series
    except SpecError:
        return None
    return None if series is None else series.revised
