"""The files of a release that are rendered from its audit record, and from nothing else."""

from schemas.audit_report import FIRST_FORMAT, AuditRecord
from schemas.manifest import PEOPLE_FILE, REGISTRY_FILE, REPORT_FILE
from tasks.rendering.html import render_audit_report, render_for_people
from tasks.rendering.registry import render_registry_record


def rendered_files(record: AuditRecord) -> dict[str, bytes]:
    """The content of each, by name. Equal records give equal bytes."""
    report = {REPORT_FILE: render_audit_report(record).encode()}
    if record.format == FIRST_FORMAT:  # which had nothing but the report
        return report
    report[PEOPLE_FILE] = render_for_people(record).encode()
    if not record.is_rehearsal:  # which no registry may list
        report[REGISTRY_FILE] = render_registry_record(record)
    return report
