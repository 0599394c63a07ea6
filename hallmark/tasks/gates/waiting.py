"""The releases that wait: what each waits for, what was decided so far, and whether it may go on.

Whoever asks needs no stage of a release, nor the orchestrator: see `tasks.gates.gates` for those.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.approvals import Waiting
from hallmark.schemas.profile import Profile
from hallmark.tasks.gates.approvals import DecisionRefused, Standing, standing
from hallmark.tasks.gates.gate_history import History
from hallmark.tasks.installation.workspace import home

NOTE = "waiting.json"
"""The file in a release's workspace that says what it waits for."""


def standing_of(waiting: Waiting, ledger: Ledger, known: Profile) -> Standing:
    """What was decided about a release that waits at a gate."""
    assert waiting.gate != "embargo", "nobody decides about the end of an embargo"
    return standings([waiting], ledger, known)[waiting.release]


def standings(waiting: Iterable[Waiting], ledger: Ledger, known: Profile) -> dict[str, Standing]:
    """What was decided about each release that waits at a gate, from one snapshot of the ledger."""
    waiting = list(waiting)
    said = ledger.statements_of([one.release for one in waiting if one.gate != "embargo"])
    return {
        one.release: standing(
            History.of(one.release, said[one.release]),
            one.gate,
            required=one.required,
            approvers=known.approvers,
            blocking=one.blocking,
        )
        for one in waiting
        if one.gate != "embargo"
    }


def asked_now(waiting: Waiting, ledger: Ledger) -> dict[str, Any]:
    """What a decision about a release that waits has to say, beside who decides what and why.

    Raises:
        DecisionRefused: its gate was opened by an earlier version, in a form that is no longer
            decided about.
    """
    history = History.of(waiting.release, ledger.statements(waiting.release))
    if history.head is None:
        raise DecisionRefused(
            f"release {waiting.release!r} waits since an earlier version of Hallmark; run it again "
            "with --resume, so that its gate is opened in today's form"
        )
    return {
        "format": "hallmark-decision/2",
        "release": waiting.release,
        "gate": waiting.gate,
        "seen": dict(waiting.seen),
        "previous": history.head,
    }


def waiting_releases() -> list[Waiting]:
    """All releases that wait on this installation, the longest wait first."""
    found = []
    for path in (home() / "work").glob(f"*/{NOTE}"):
        try:
            found.append(Waiting.model_validate_json(path.read_bytes()))
        except (OSError, ValidationError):  # it went on at this moment, or is no file of ours
            continue
    return sorted(found, key=lambda waiting: waiting.since)


def waiting_of(release: str) -> Waiting:
    """What a release waits for at a gate.

    Raises:
        DecisionRefused: it waits at none.
    """
    found = {waiting.release: waiting for waiting in waiting_releases()}
    if release not in found or found[release].gate == "embargo":
        others = sorted(one.release for one in found.values() if one.gate != "embargo")
        raise DecisionRefused(
            f"release {release!r} waits at no gate here; "
            + (f"these do: {', '.join(others)}" if others else "none does")
        )
    return found[release]


def may_go_on(waiting: Waiting, ledger: Ledger, known: Profile) -> bool:
    """Whether running the release again would bring it further: through its gate, or to its end."""
    if waiting.gate == "embargo":
        assert waiting.until is not None, "an embargo has an end"
        return datetime.now(UTC) >= waiting.until
    return standing_of(waiting, ledger, known).passed
