"""Pages for people and records for programs, each rendered from its record alone."""

from hallmark.schemas.documents.audit_report import FIRST_FORMAT, AuditRecord
from hallmark.schemas.documents.data_dictionary import DataDictionary
from hallmark.schemas.documents.manifest import (
    LABEL_FILE,
    PEOPLE_FILE,
    README_FILE,
    REGISTRY_FILE,
    REPORT_FILE,
)
from hallmark.tasks.rendering.html import (
    render_audit_report,
    render_for_people,
    render_internal_review,
)
from hallmark.tasks.rendering.label import privacy_label
from hallmark.tasks.rendering.loading import loading_scripts
from hallmark.tasks.rendering.readme import render_readme
from hallmark.tasks.rendering.registry import render_registry_record
from hallmark.tasks.rendering.survey import survey_scripts

__all__ = [
    "files_for_users",
    "render_audit_report",
    "render_for_people",
    "render_internal_review",
    "rendered_files",
]


def rendered_files(record: AuditRecord) -> dict[str, bytes]:
    """What is made from the record, by name. Equal records give equal bytes."""
    report = {REPORT_FILE: render_audit_report(record).encode()}
    if record.format == FIRST_FORMAT:  # which had nothing but the report
        return report
    report[PEOPLE_FILE] = render_for_people(record).encode()
    report[LABEL_FILE] = privacy_label(record).encode()
    if not record.is_rehearsal:  # which no registry may list
        report[REGISTRY_FILE] = render_registry_record(record)
    return report


def files_for_users(record: AuditRecord, dictionary: DataDictionary) -> dict[str, bytes]:
    """What is made for data users, by name: the page that the folder opens with, and scripts."""
    texts = {README_FILE: render_readme(record, dictionary)}
    texts |= loading_scripts(dictionary) | survey_scripts(dictionary)
    return {name: text.encode() for name, text in texts.items()}
