"""Releases that were given up: what was reserved goes back, and no run goes on with them."""

from datetime import UTC, datetime

from pydantic import AwareDatetime

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.section import Section
from hallmark.tasks.gates.waiting import NOTE
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.notes import read_note
from hallmark.tasks.installation.operator import end_standing_order
from hallmark.tasks.installation.workspace import Workspace, whole

_FILE = "withdrawn.json"


class GivenUp(SafeError):
    """A release was given up, so nothing is done for it any more."""


class Withdrawal(Section):
    """Word that a release was given up."""

    release: str
    by: str
    at: AwareDatetime
    reason: str


def withdraw(release: str, ledger: Ledger, *, by: str, reason: str) -> None:
    """Give a release up for ever. Its budget is given back if nothing was drawn, else stays spent.

    Raises:
        SafeError: no reason is given.
        AlreadyRunning: a run of it is under way.
    """
    if len(reason.strip()) < 3:
        raise SafeError("give a reason of at least 3 characters; it stays with the release")
    workspace = Workspace.of(release)
    with workspace.held():
        there = ledger.reservation(release)
        if there is not None and there.state == "reserved" and not ledger.calls(release):
            ledger.cancel(release, by=by, reason=reason)
        note = Withdrawal(release=release, by=by, at=datetime.now(UTC), reason=reason.strip())
        with whole(workspace.path / _FILE) as draft:
            draft.write_text(note.model_dump_json(indent=1))
        # It waits no longer, so neither a decision nor the end of an embargo lets it go on.
        (workspace.path / NOTE).unlink(missing_ok=True)
        end_standing_order(release)


def withdrawal(workspace: Workspace) -> Withdrawal | None:
    """Word that the release of a workspace was given up; None where it was not."""
    return read_note(Withdrawal, workspace.path / _FILE)


def refuse_given_up(workspace: Workspace) -> None:
    """Refuse to go on with a release that was given up.

    Raises:
        GivenUp: the release of this workspace was.
    """
    said = withdrawal(workspace)
    if said is not None:
        raise GivenUp(
            f"release {said.release!r} was given up by {said.by} on {said.at:%Y-%m-%d} "
            f"({said.reason}); choose another name for a new one"
        )
