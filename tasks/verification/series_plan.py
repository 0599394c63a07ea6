"""Whether a release is one that the plan of its series covers, which was approved once."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from hallmark.mechanisms.privacy.accountant import rho
from hallmark.mechanisms.privacy.events import events_from_json
from hallmark.schemas.documents.decisions import ApprovalsFile, Opening
from hallmark.schemas.documents.manifest import SERIES_PLAN_FILE, SPEC_FILE
from hallmark.schemas.documents.series_plan import SERIES_PLAN, SeriesPlan
from hallmark.tasks.gates.covered import misfits, who_approved
from hallmark.tasks.verification.approvals import read_approvals
from hallmark.tasks.verification.documents import Check, Documents, Unsound, plain_bytes, sound

_NAME = "series plan"


def series_plan(folder: Path, told: Documents) -> Iterator[Check]:
    """Whether the plan of the series is the one that was approved and, where its approval took the
    place of one of the release's own, whether the release is what it covers; no check without.

    Whether the approval itself counts, its statements tell (`tasks.verification.approvals`).
    """
    opening = _asked(folder)
    if opening is None or SERIES_PLAN not in opening.seen:
        if SERIES_PLAN_FILE in told.manifest.files:
            yield Check(_NAME, False, f"nobody was asked about {SERIES_PLAN_FILE}")
        return
    try:
        plan = sound(folder / SERIES_PLAN_FILE, SeriesPlan.model_validate_json)
        content = plain_bytes(folder / SERIES_PLAN_FILE)
        text = plain_bytes(folder / SPEC_FILE).decode("utf-8", "replace")
    except Unsound as error:
        yield Check(_NAME, False, str(error))
        return
    if sha256(content).hexdigest() != opening.seen[SERIES_PLAN]:
        yield Check(_NAME, False, f"{SERIES_PLAN_FILE} is not what was approved")
        return
    if opening.series is None:
        yield Check(_NAME, True, "approved with this release, for all periods that have a share")
        return
    try:
        events = events_from_json(dict(event) for event in told.record.mechanism.events)
    except (KeyError, TypeError, ValueError):
        yield Check(_NAME, False, "the recorded events cannot be read")
        return
    faults = list(misfits(plan, text, told.spec, rho=rho(events)))
    at = f"approved once, at the gate of {opening.series.release}, by "
    yield Check(
        _NAME,
        not faults,
        "; ".join(faults)
        or f"{at}{who_approved(opening.series)}; this release is its template, within its share",
    )


def _asked(folder: Path) -> Opening | None:
    """The last opening of the gate of the plan."""
    file = read_approvals(folder)
    said = file.said if isinstance(file, ApprovalsFile) else ()
    opened = [one for one in said if isinstance(one, Opening) and one.gate == "plan"]
    return opened[-1] if opened else None
