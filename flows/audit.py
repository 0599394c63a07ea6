"""Audit a published release: its folder, as anybody can, and the ledger, as only the agency can."""

from pathlib import Path

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from hallmark.tasks.audit import audit_release
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.places import given, release_folder
from hallmark.tasks.installation.priority import run_yields
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.rendering.markdown import plain, table
from hallmark.tasks.verification import Verification


class AuditFailed(SafeError):
    """The release is not what it claims."""


@flow(name="audit")
def audit(folder: str, key: str | None = None, file: str | None = None) -> Verification:
    """Check a published release again: signature, files, claims, data, decisions and ledger.

    Args:
        folder: the release folder; a relative path starts in the folder `HALLMARK_RELEASES`.
        key: path of the agency's public key, to check who signed.
        file: path of the file that a certificate is about, to check that it is this one.
    Raises:
        AuditFailed: a check failed; the artifact of the run lists all of them.
    """
    run_yields()
    found = audit_release(
        release_folder(folder),
        given("key", key) if key else None,
        ledger_url(),
        given("file", file) if file else None,
    )
    rows = ((check.name, "ok" if check.ok else "WRONG", check.detail) for check in found.checks)
    create_markdown_artifact(
        key=f"audit-of-{Path(folder).name}",
        markdown="\n".join(
            [f"# Audit of {plain(folder)}", "", *table(("Check", "Result", "Found"), rows)]
        ),
        description="Every check of a published release",
    )
    if not found.ok:
        wrong = "; ".join(f"{check.name}: {check.detail}" for check in found.checks if not check.ok)
        raise AuditFailed(f"{folder} is not what it claims: {wrong}")
    return found
