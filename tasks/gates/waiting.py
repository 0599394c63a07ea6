"""The releases that wait: what each waits for, what was decided so far, and whether it may go on.

Whoever asks needs no stage of a release, nor the orchestrator: see `tasks.gates.gates` for those.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.approvals import Waiting
from hallmark.schemas.profile import Profile
from hallmark.tasks.gates.approvals import DecisionRefused, Standing, standing
from hallmark.tasks.gates.gate_history import History
from hallmark.tasks.installation.notes import note_about, notes
from hallmark.tasks.installation.workspace import Workspace

NOTE = "waiting.json"
"""The file in a release's workspace that says what it waits for."""


def standing_of(waiting: Waiting, history: History, known: Profile) -> Standing:
    """What was decided about a release that waits at a gate."""
    assert waiting.gate != "embargo", "nobody decides about the end of an embargo"
    return standing(
        history,
        waiting.gate,
        required=waiting.required,
        approvers=known.approvers,
        blocking=waiting.blocking,
    )


def asked_now(waiting: Waiting, history: History) -> dict[str, Any]:
    """What a decision about a release that waits has to say, beside who decides what and why.

    Raises:
        DecisionRefused: its gate was opened by an earlier version, in a form that is no longer
            decided about.
    """
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
    return sorted(notes(Waiting, NOTE), key=lambda waiting: waiting.since)


def waits(release: str) -> Waiting | None:
    """What a release waits for; None where it does not."""
    return note_about(Waiting, release, NOTE)


def waiting_of(release: str) -> Waiting:
    """What a release waits for at a gate.

    Raises:
        DecisionRefused: it waits at none.
    """
    found = waits(release)
    if found is None or found.gate == "embargo":
        others = sorted(one.release for one in waiting_releases() if one.gate != "embargo")
        raise DecisionRefused(
            f"release {release!r} waits at no gate here; "
            + (f"these do: {', '.join(others)}" if others else "none does")
        )
    return found


def shown_folder(waiting: Waiting) -> Path:
    """The folder of what is to be decided about."""
    workspace = Workspace.of(waiting.release)
    return workspace.plan if waiting.gate == "plan" else workspace.staging


def may_go_on(waiting: Waiting, ledger: Ledger, known: Profile) -> bool:
    """Whether running the release again would bring it further: through its gate, or to its end."""
    if waiting.gate == "embargo":
        assert waiting.until is not None, "an embargo has an end"
        return datetime.now(UTC) >= waiting.until
    return standing_of(waiting, History.in_ledger(ledger, waiting.release), known).passed
