"""How the command line shows operations: waiting releases, rehearsals, calendars."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hallmark.flows.screen import line, table

if TYPE_CHECKING:  # what is only shown is imported by whoever made it
    from hallmark.schemas.calendar import Scheduled
    from hallmark.schemas.documents.approvals import Waiting
    from hallmark.tasks.gates.approvals import Standing
    from hallmark.tasks.gates.rehearsal import Rehearsal
    from hallmark.tasks.planning.instances import Instance


def print_waiting(found: "Sequence[tuple[Waiting, Standing | None]]") -> None:
    """Print waiting releases, each with its decisions, or None if only time must pass."""
    if not found:
        line("Nothing is waiting.")
    for waiting, there in found:
        line((waiting.release, "bold"), f"  {waiting.title}")
        line(f"  waits at   {waiting.gate}, since {waiting.since:%Y-%m-%d %H:%M %Z}")
        if there is None:
            line(f"  until      {waiting.until}")
            continue
        for signed in there.counted:
            said = signed.decision
            line(f"  {said.decision:9}  {said.person} ({said.role}): {said.reason}")
        for signed, fault in there.idle:
            said = signed.decision
            decided = f"       {said.decision} by {said.person} ({said.role}): {fault}"
            line("  ", ("void", "yellow"), decided)
        if there.missing:
            line(f"  missing    {', '.join(there.missing)}")
        for gap in there.blocking:
            line("  ", ("blocked", "yellow"), f"    {gap}")
        for name, digest in waiting.seen.items():
            line(f"  seen       {name}: {digest[:16]}…")


def print_rehearsal(result: "Rehearsal") -> None:
    """Print the result of a rehearsal."""
    folder = os.path.relpath(result.folder)
    line(("Rehearsed", "bold"), f"  {result.release} in {result.seconds} s")
    line(("Records", "bold"), f"    {result.rows}, {result.records}")
    line(("Report", "bold"), f"     hallmark report {folder}")
    line("An approval of the plan is bound to this rehearsal until the spec or the code changes.")


def print_calendar(entries: "Sequence[tuple[str, Scheduled, Instance]]") -> None:
    """Print the entries of a calendar, with the release that is due now."""
    from hallmark.mechanisms.privacy.ledger.terms import shown

    table(
        ("entry", "runs at", "period's budget", "release now due", "published from"),
        (
            (
                name,
                f"{entry.cron} {entry.timezone}",
                shown(due.allowance.budget),
                due.prepared.spec.release,
                str(due.prepared.spec.embargo or "at once"),
            )
            for name, entry, due in entries
        ),
    )
