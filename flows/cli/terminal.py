"""How the command line shows what it found: releases, accounts, what waits and what recurs."""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hallmark.flows.screen import line, table
from hallmark.schemas.documents.series_plan import SERIES_PLAN
from hallmark.tasks.ledger import words

if TYPE_CHECKING:  # what is only shown is imported by whoever made it
    from hallmark.mechanisms.privacy.ledger.history import Step
    from hallmark.mechanisms.privacy.ledger.ledger import AccountState
    from hallmark.schemas.calendar import Scheduled
    from hallmark.schemas.documents.approvals import Waiting
    from hallmark.tasks.gates.approvals import Standing
    from hallmark.tasks.gates.rehearsal import Rehearsal
    from hallmark.tasks.planning.instances import Instance
    from hallmark.tasks.publish import Published
    from hallmark.tasks.reading import Finding
    from hallmark.tasks.verification import SeriesVerification, Verification

_FAR = 2  # a factor more or fewer rows than expected: perhaps the wrong table


def print_findings(findings: "Sequence[Finding]", *, expected_rows: int) -> None:
    """Print the internal findings of a validation, for the steward only."""
    table(
        ("column", "rule", "rows", "failing"),
        (
            [
                (cell, _style(one))
                for cell in (one.rule.column, one.rule.rule, f"{one.rows}", f"{one.failing}")
            ]
            for one in findings
        ),
        title="Validation (internal, do not publish)",
    )
    rows = max(finding.rows for finding in findings)
    if not expected_rows / _FAR <= rows <= expected_rows * _FAR:
        line(
            f"The table has {rows:,} rows, but the spec expects {expected_rows:,}: is it the right "
            "table? Forecasts are based on data.expected_rows."
        )


def _style(finding: "Finding") -> str:
    if not finding.failing:
        return ""
    return "red" if finding.rule.refuses else "yellow"


def print_published(published: "Published") -> None:
    """Print where a release is, what it cost, what it guarantees, and how to check it."""
    folder = os.path.relpath(published.folder)
    if published.earlier:
        line("This release was published before; nothing was drawn or charged again.")
    line(("Release", "bold"), f"      {folder}")
    line(
        ("Budget", "bold"),
        f"       spent epsilon {published.epsilon}, delta {published.delta} of account "
        f"{published.account}; left: epsilon {published.left[0]}, delta {published.left[1]}",
    )
    line(("Certificate", "bold"), f"  {published.certificate}")
    line(("Report", "bold"), f"       hallmark report {folder}")
    line(("Check it", "bold"), f"     hallmark verify {folder}")
    line(
        ("Internal", "bold"),
        f"     {published.review} (confidential; not part of the release)",
    )
    for warning in published.warnings:
        line(("warning", "yellow"), f"      {warning}")


def print_verification(verification: "Verification") -> None:
    """Print every check of a release folder, and whether all of them passed."""
    for check in verification.checks:
        mark = ("ok   ", "green") if check.ok else ("WRONG", "red")
        line(mark, f"  {check.name}: {check.detail}")
    line(
        ("The release is what it claims.", "green")
        if verification.ok
        else ("Do not use this release.", "red")
    )


def print_verified_series(found: "SeriesVerification") -> None:
    """Print what is wrong with each release of a series, and every check of all together."""
    for name, one in found.releases.items():
        wrong = [check for check in one.checks if not check.ok]
        mark = ("WRONG", "red") if wrong else ("ok   ", "green")
        faults = "; ".join(f"{check.name}: {check.detail}" for check in wrong)
        line(mark, f"  {name}: {faults or f'{len(one.checks)} checks'}")
    for check in found.checks:
        mark = ("ok   ", "green") if check.ok else ("WRONG", "red")
        line(mark, f"  {check.name}: {check.detail}")
    line(
        ("The series is what it claims.", "green")
        if found.ok
        else ("Do not rely on this series.", "red")
    )


def print_accounts(states: "Sequence[AccountState]") -> None:
    """Print accounts with their balances."""
    if not states:
        line("There are no accounts yet; see: hallmark ledger open --help")
        return
    table(
        ("account", "cap", "spent", "reserved", "left"),
        (
            (
                [state.name, words.unit(state)],
                words.cap(state),
                words.spent(state),
                [words.reserved(state), *_both(state)],
                words.left(state),
            )
            for state in states
        ),
    )


def _both(state: "AccountState") -> list[str]:
    """What is spent and reserved comes to, where budgets do not just add up."""
    return [f"both together {words.together(state)}"] if words.together(state) else []


def print_account(state: "AccountState") -> None:
    """Print one account: its terms and its balance."""
    line(("account    ", "bold"), f"{state.name}; {words.unit(state)}")
    line(("cap        ", "bold"), words.cap(state))
    composed = "" if state.composition == "sum" else ", budgets added up"
    line(("spent      ", "bold"), words.spent(state), composed)
    line(("reserved   ", "bold"), words.reserved(state), composed)
    if state.composition == "zcdp":
        line(("together   ", "bold"), words.together(state))
    line(("left       ", "bold"), words.left(state))
    if state.presence is not None:
        print_series(state)


def print_series(state: "AccountState") -> None:
    """Print what the periods of a series have, and have taken."""
    from hallmark.tasks.ledger.series import periods_of

    periods = periods_of(state)
    if not periods:
        line("No period has a share yet; see: hallmark ledger plan --help")
        return
    table(
        ("period", "planned", "taken"),
        (
            (period, words.share(state, planned), words.share(state, taken))
            for period, (planned, taken) in periods.items()
        ),
        plain=True,
    )


def print_history(steps: "Iterable[Step]") -> None:
    """Print the append-only entries of an account, each with the budget left after it."""
    table(
        ("#", "time (UTC)", "entry", "release, reason, hash", "budget", "left after it"),
        (
            (
                str(step.entry.seq),
                step.entry.at[:16].replace("T", " "),
                step.entry.kind,
                [text for text in (step.entry.release, step.reason) if text]
                + [(f"{step.entry.hash[:12]}…", "dim")],
                words.moved(step),
                words.left(step.state),
            )
            for step in steps
        ),
        plain=True,
    )


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
        if there.warning:
            line("  ", ("warning", "yellow"), f"    {there.warning}")
        if SERIES_PLAN in waiting.seen:
            line("  about      the plan of the whole series: later periods wait for no other")
        for reason in waiting.differs:
            line("  ", ("differs", "yellow"), f"    {reason}")
        for name, digest in waiting.seen.items():
            line(f"  seen       {name}: {digest[:16]}…")


def print_rehearsal(result: "Rehearsal") -> None:
    """Print the result of a rehearsal."""
    folder = os.path.relpath(result.folder)
    line(("Rehearsed", "bold"), f"  {result.release} in {result.seconds} s")
    line(("Records", "bold"), f"    {result.rows}, {result.records}")
    line(("Report", "bold"), f"     hallmark report {folder}")
    line("If the plan's gate is opened after this, its approvals name this rehearsal.")


def print_calendar(entries: "Sequence[tuple[str, Scheduled, Instance, str]]") -> None:
    """Print the entries of a calendar, with the release that is due now and its period's share."""
    from hallmark.mechanisms.privacy.ledger.terms import shown

    table(
        (
            "entry",
            "runs at",
            "period's budget",
            "release now due",
            "published from",
            "of the series",
        ),
        (
            (
                name,
                f"{entry.cron} {entry.timezone}",
                shown(due.allowance.budget),
                due.prepared.spec.release,
                str(due.prepared.spec.embargo or "at once"),
                share or "none",
            )
            for name, entry, due, share in entries
        ),
    )
