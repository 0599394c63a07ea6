"""How the command line shows a release: findings in its table, its result, its checks."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hallmark.flows.screen import line, table

if TYPE_CHECKING:  # what is only shown is imported by whoever made it
    from hallmark.tasks.publish import Published
    from hallmark.tasks.reading import Finding
    from hallmark.tasks.verification import Verification

_FAR = 2  # a factor more or fewer rows than expected: perhaps the wrong table


def print_findings(findings: "Sequence[Finding]", *, expected_rows: int) -> None:
    """Print the internal findings of a validation, for the steward only."""
    table(
        ("column", "rule", "rows", "failing"),
        (
            [
                (cell, _style(finding))
                for cell in (
                    finding.rule.column,
                    finding.rule.rule,
                    str(finding.rows),
                    str(finding.failing),
                )
            ]
            for finding in findings
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
