"""Pages for people and records for programs, each rendered from its record alone."""

from hallmark.tasks.rendering.files import files_for_users, rendered_files
from hallmark.tasks.rendering.html import (
    render_audit_report,
    render_for_people,
    render_internal_review,
)

__all__ = [
    "files_for_users",
    "render_audit_report",
    "render_for_people",
    "render_internal_review",
    "rendered_files",
]
