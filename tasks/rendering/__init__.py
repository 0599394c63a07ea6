"""Pages for people and records for programs, each rendered from its record alone."""

from tasks.rendering.files import rendered_files
from tasks.rendering.html import render_audit_report, render_for_people, render_internal_review

__all__ = ["render_audit_report", "render_for_people", "render_internal_review", "rendered_files"]
