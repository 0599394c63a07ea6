"""Open an audit report, or render it again from its JSON twin."""

import webbrowser
from pathlib import Path

from pydantic import ValidationError

from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.schemas.documents.manifest import RECORD_FILE, REPORT_FILE
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.rendering.html import render_audit_report


class ReportMissing(SafeError):
    """The folder has no audit report that this version can read."""


def open_report(folder: Path) -> tuple[Path, bool]:
    """Open the report of a release folder in the default browser, if there is one.

    Returns:
        The report's absolute path, and whether a browser opened it.
    """
    path = _existing(folder / REPORT_FILE).resolve()
    try:
        return path, webbrowser.open(path.as_uri())
    except webbrowser.Error:
        return path, False


def render_again(folder: Path, out: Path) -> None:
    """Render the report of a release folder into `out`, from its JSON twin alone."""
    path = _existing(folder / RECORD_FILE)
    try:
        record = AuditRecord.model_validate_json(path.read_bytes())
    except ValidationError:
        raise ReportMissing(
            f"{path} is not an audit record of this version; run: hallmark verify {folder}"
        ) from None
    out.write_text(render_audit_report(record), encoding="utf-8")


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise ReportMissing(f"{path} does not exist; give a release folder")
    return path
