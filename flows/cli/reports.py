"""`hallmark report`: open an audit report, or render it again from its JSON twin."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from hallmark.flows.cli.options import ReleaseFolder
from hallmark.flows.screen import say
from hallmark.tasks.installation.errors import SafeError


class ReportMissing(SafeError):
    """The folder has no audit report that this version can read."""


def report(
    folder: ReleaseFolder,
    render: Annotated[
        Path | None,
        typer.Option(
            "--render", help="Render the report again from its JSON twin, into this file."
        ),
    ] = None,
) -> None:
    """Open the audit report in a browser, or render it again from its JSON twin."""
    from hallmark.schemas.documents.manifest import RECORD_FILE, REPORT_FILE

    if render is not None:
        render.write_text(_rendered(folder, _existing(folder / RECORD_FILE)), encoding="utf-8")
        say(f"Wrote {render}")
        return
    path = _existing(folder / REPORT_FILE).resolve()
    try:
        opened = webbrowser.open(path.as_uri())
    except webbrowser.Error:
        opened = False
    if opened:
        say(f"Opening {path}")
    else:
        say(f"The report is {path}")
        say("There is no browser here: copy that file to a machine that has one.")


def _rendered(folder: Path, record: Path) -> str:
    from pydantic import ValidationError

    from hallmark.schemas.documents.audit_report import AuditRecord
    from hallmark.schemas.given_files import MOST_DOCUMENT, bytes_of
    from hallmark.tasks.rendering.html import render_audit_report

    try:
        return render_audit_report(AuditRecord.model_validate_json(bytes_of(record, MOST_DOCUMENT)))
    except ValidationError:
        raise ReportMissing(
            f"{record} is not an audit record of this version; run: hallmark verify {folder}"
        ) from None


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise ReportMissing(f"{path} does not exist; give a release folder")
    return path
