"""Show a release's audit record in the dashboard: one artifact per run, with public figures only.

The artifact is a summary with a link to the whole report: the dashboard stores it in its own
database and shows Markdown, not pages.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from prefect.artifacts import create_markdown_artifact
from prefect.runtime import flow_run

from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.schemas.documents.manifest import REPORT_FILE
from hallmark.schemas.documents.privacy_claim import Amount
from hallmark.tasks.rendering.markdown import code, plain, table
from hallmark.tasks.rendering.wording import amount, moment, percent

REPORTS_VARIABLE = "HALLMARK_REPORTS_URL"
"""Where the agency serves release folders to its reviewers, such as https://desk/reports."""

_MOST_BOUNDS = 20  # rows; the report has all
_LARGEST = 300_000  # characters


def show_in_dashboard(record: AuditRecord, folder: Path) -> None:
    """Attach the summary to the current run; do nothing outside a run.

    Args:
        folder: where the report is at this time.
    """
    if flow_run.id is None:
        return
    create_markdown_artifact(
        summary(record, folder),
        key=artifact_key(record),
        description=f"Audit report of {plain(record.identity.title)}",
    )


def artifact_key(record: AuditRecord) -> str:
    """A key that the dashboard accepts: lowercase letters, digits and dashes."""
    return re.sub(r"[^a-z0-9-]+", "-", f"audit-{record.identity.release_id}".lower())


def summary(record: AuditRecord, folder: Path) -> str:
    """The record as a page of Markdown below 300 KB."""
    text = "\n".join(_lines(record, folder))
    assert len(text) < _LARGEST, "bounds, gaps and notes are few"
    return text


def _lines(record: AuditRecord, folder: Path) -> Iterator[str]:
    claim, account, certificate = (
        record.guarantee.claim,
        record.account,
        record.utility.certificate,
    )
    synthetic = f"n = {record.utility.rows:,} synthetic rows"
    yield f"# Audit report: {plain(record.identity.title)}"
    yield f"Release `{record.identity.release_id}`, {moment(record.identity.created)}."
    yield ""
    yield from table(
        ("What", "Figure", "Tag"),
        [
            ("Who is protected", claim.unit_in_words, "public"),
            ("Privacy loss, at most", amount(Amount.model_validate(claim)), "public"),
            ("Spent on the account before", amount(account.previously_spent), "public"),
            ("Left on the account", amount(account.remaining), "public"),
            ("Authorised on the account", amount(account.cap), "public"),
            ("Mechanism", record.mechanism.name, "public"),
            ("Released", synthetic, "public"),
            ("Joint confidence of the bounds", percent(certificate.confidence), "public"),
        ],
    )
    yield from _not_recorded(record)
    yield "## Certified losses"
    worst = sorted(certificate.bounds, key=lambda bound: -bound.value)[:_MOST_BOUNDS]
    yield from table(
        ("Compared", "Loss", f"At most (paid; {synthetic})"),
        [
            (bound.target, bound.metric, f"{percent(bound.value, up=True)} of {bound.share_of}")
            for bound in worst
        ],
    )
    if len(certificate.bounds) > len(worst):
        yield f"The {len(certificate.bounds) - len(worst)} smallest are only in the report."
    yield ""
    yield "## The whole report"
    address = os.environ.get(REPORTS_VARIABLE)
    if address:
        release = quote(record.identity.release_id)
        yield f"[Open the report]({address.rstrip('/')}/{release}/{REPORT_FILE})"
        yield ""
    yield f"Now in {code(str(folder / REPORT_FILE))}. Once published, check the folder with:"
    yield ""
    yield f"    hallmark verify {record.identity.release_id}"


def _not_recorded(record: AuditRecord) -> Iterator[str]:
    blocking, missing = record.blocking(), record.not_recorded()
    yield "## Not recorded"
    if not missing:
        yield "Every entry of the record is filled."
    elif blocking:
        yield f"{len(missing)} entries, of which {len(blocking)} " + (
            "block the disclosure gate:"
            if record.is_gated
            else "a reviewer would ask for; no gate was configured:"
        )
        yield ""
        yield from table(("Entry", "Fix"), [(gap.title, gap.mend) for gap in blocking])
    else:
        yield f"{len(missing)} entries, none of which blocks the disclosure gate."
    yield ""
