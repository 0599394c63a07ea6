"""What the command line shows of operations: what waits, rehearsals, calendars."""

import os
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from mechanisms.privacy.ledger_book import shown
from schemas.approvals import Waiting
from schemas.calendar import Scheduled
from tasks.approvals import Standing
from tasks.instances import Instance
from tasks.rehearsal import Rehearsal

_out = Console(highlight=False)


def print_waiting(found: Sequence[tuple[Waiting, Standing | None]]) -> None:
    """Releases that wait; each with what was decided, or None where only time must pass."""
    if not found:
        _out.print("Nothing waits.")
    for waiting, there in found:
        _out.print(f"[bold]{waiting.release}[/]  {waiting.title}")
        _out.print(f"  waits at   {waiting.gate}, since {waiting.since:%Y-%m-%d %H:%M %Z}")
        if there is None:
            _out.print(f"  until      {waiting.until}")
            continue
        for signed in there.counted:
            said = signed.decision
            _out.print(f"  {said.decision:9}  {said.person} ({said.role}): {said.reason}")
        for signed, fault in there.void:
            said = signed.decision
            _out.print(f"  [yellow]void[/]       {said.person} ({said.role}): {fault}")
        if there.missing:
            _out.print(f"  missing    {', '.join(there.missing)}")
        for gap in there.blocking:
            _out.print(f"  [yellow]blocked[/]    {gap}")
        for name, digest in waiting.seen.items():
            _out.print(f"  seen       {name}: {digest[:16]}…")


def print_rehearsal(result: Rehearsal) -> None:
    """How a rehearsal went."""
    folder = os.path.relpath(result.folder)
    _out.print(f"[bold]Rehearsed[/]  {result.release} in {result.seconds} s")
    _out.print(f"[bold]Records[/]    {result.rows}, {result.records}")
    _out.print(f"[bold]Report[/]     hallmark report {folder}")
    _out.print("An approval of the plan is bound to this rehearsal until spec or code change.")


def print_calendar(entries: Sequence[tuple[str, Scheduled, Instance]]) -> None:
    """The entries of a calendar, with the release that is due now."""
    table = Table("entry", "runs at", "period's budget", "release now due", "published from")
    for name, entry, due in entries:
        table.add_row(
            name,
            f"{entry.cron} {entry.timezone}",
            shown(due.allowance.budget),
            due.prepared.spec.release,
            str(due.prepared.spec.embargo or "at once"),
        )
    _out.print(table)
