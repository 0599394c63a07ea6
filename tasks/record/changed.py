"""What changed in a series since the period before, beyond the noise of both releases.

Claim.   With `CONFIDENCE`, nothing that is said to have changed, to have risen or to have fallen
         did not, all columns and cells together. Noisy tables that are published are all that is
         looked at, so this is post-processing.
Proof.   Half of what may go wrong is left to the tests of whole columns, which are corrected
         together (Holm), the other half to the intervals of all cells of all columns
         (`tasks/changes/shifts.py`). Where noisy tables were chosen on answers, both are nominal.
Oracle.  tests/tasks/record/test_changed.py: the same as `hallmark compare` says of both folders,
         and false findings over drawn noise; docs/change.md has rates on real tables.
"""

from hashlib import sha256
from pathlib import Path

from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.schemas.documents.audit_changes import (
    Changed,
    ChangedCell,
    ComparedTable,
    NotCompared,
)
from hallmark.schemas.documents.manifest import MEASUREMENTS_FILE
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.changes.periods import about_the_tables, period_of, recoding_between
from hallmark.tasks.changes.shifts import MOST_CELLS, ShiftedTable, shifts
from hallmark.tasks.questions.questioning import Questioning
from hallmark.tasks.questions.release import OpenRelease

CONFIDENCE = 0.95
_HALF = (1 + CONFIDENCE) / 2  # of the tests alone, and of the intervals alone
_SHOWN = 10  # cells of a column, those that changed most
_WITHIN = 0.01  # is for notes that a report says in other words


def changed(spec: ReleaseSpec, now: Estimator | None, previous: Path | None) -> Changed | None:
    """What changed since the period before; None of a release that is about no period.

    Args:
        now: from the noisy tables of this release; None if these are not published.
        previous: folder of the release about the period before, if there is one.
    """
    if spec.series is None:
        return None
    period = spec.series.period
    if previous is None:
        return Changed(
            period=period,
            confidence=CONFIDENCE,
            why_not="there is no release of this series about an earlier period yet",
        )
    if now is None:
        return Changed(
            period=period,
            confidence=CONFIDENCE,
            why_not="the noisy tables of this release are not published",
        )
    before = OpenRelease.of(previous)
    return compared(
        (before.spec, Estimator(before.measurements.tables, before.measurements.total)),
        (spec, now),
        measurements=sha256((previous / MEASUREMENTS_FILE).read_bytes()).hexdigest(),
    )


def compared(
    before: tuple[ReleaseSpec, Estimator],
    after: tuple[ReleaseSpec, Estimator],
    *,
    measurements: str,
) -> Changed:
    """What changed between two releases of a series, each a spec with what its noisy tables tell.

    Args:
        measurements: SHA-256 of the file with the earlier release's noisy tables.
    """
    (old, was), (new, now) = before, after
    earlier = period_of(old, new)
    assert new.series is not None, "it is about a period"
    assert earlier is not None, "so is the release that was found by its name"
    recoding = recoding_between(old, new)
    found = shifts(
        Questioning(old, was),
        Questioning(new, now),
        recoding,
        confidence=_HALF,
        within=_WITHIN,
        most=MOST_CELLS,
    )
    notes = [*about_the_tables(old, new)]
    if recoding:
        notes.append(
            f"codes of {', '.join(recoding)} became those of this period by the public map in the "
            "spec (series.recode)"
        )
    return Changed(
        period=new.series.period,
        earlier_period=earlier,
        release=old.release,
        measurements=measurements,
        confidence=CONFIDENCE,
        tables=tuple(map(_compared, found.tables)),
        cells=tuple(cell for one in found.tables for cell in _told(one)[:_SHOWN]),
        untold=(
            *(NotCompared(column=name, why=why) for (name,), why in found.untold),
            *(
                NotCompared(column=name, why=f"the {which} release has no such column")
                for which, one, other in (("earlier", new, old), ("later", old, new))
                for name in one.released_columns
                if name not in other.released_columns
            ),
        ),
        notes=tuple(notes),
    )


def _compared(one: ShiftedTable) -> ComparedTable:
    (column,) = one.columns
    return ComparedTable(
        column=column,
        finding="changed" if one.changed or _told(one) else "nothing seen",
        probability=one.test.probability,
        cells=one.cells,
        told=len(_told(one)),
        unseen=one.hidden,
        seen_from=one.seen_from,
        not_compared="; ".join(one.apart),
        basis=one.basis,
    )


def _told(one: ShiftedTable) -> list[ChangedCell]:
    """The cells that rose or fell, those that changed most first."""
    (column,) = one.columns
    return [
        ChangedCell(
            column=column,
            cell=", ".join(cell.cell),
            told="rose" if cell.low > 0 else "fell",
            before=cell.before,
            after=cell.after,
            low=cell.low,
            high=cell.high,
        )
        for cell in one.largest
        if cell.is_told
    ]
