"""Pages for people: the public audit report and the internal review, each from its record alone."""

from tasks.rendering.html import render_audit_report, render_internal_review

__all__ = ["render_audit_report", "render_internal_review"]
