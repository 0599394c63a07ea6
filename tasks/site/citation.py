"""How a release is cited: in a text, and for programs that keep references."""

import re

from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.schemas.documents.labels import NOT_RECORDED
from hallmark.schemas.documents.manifest import MANIFEST_FILE
from hallmark.schemas.visible import visible

_MARKS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}", **{mark: f"\\{mark}" for mark in "$%&#_"},
}  # fmt: skip


def citation(record: AuditRecord, digest: str) -> str:
    """A line for a list of references.

    Args:
        digest: SHA-256 of the manifest, by which a reader knows that they have the same files.
    """
    identity = record.identity
    title, year = visible(identity.title), identity.created.year
    if identity.curator == NOT_RECORDED:
        named = f"{title} ({year})"
    else:
        named = f"{visible(identity.curator)} ({year}). {title}"
    return (
        f"{named} [{identity.product}]. "
        f"Release {identity.release_id} of {identity.created.date()}. "
        f"SHA-256 of {MANIFEST_FILE}: {digest}."
    )


def bibtex(record: AuditRecord, digest: str) -> str:
    """An entry of BibTeX; what was stated in the spec is set as it is, and obeyed by no program."""
    identity = record.identity
    fields = {
        "author": "" if identity.curator == NOT_RECORDED else f"{{{_literal(identity.curator)}}}",
        "title": f"{{{_literal(identity.title)}}}",
        "year": str(identity.created.year),
        "howpublished": _literal(identity.product).capitalize(),
        "note": f"Release {_literal(identity.release_id)} of {identity.created.date()}. SHA-256 of "
        f"{MANIFEST_FILE}: {digest}",
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    key = re.sub(r"[^0-9A-Za-z-]", "-", identity.release_id)
    return "\n".join([f"@misc{{{key},", *lines, "}"])


def _literal(text: str) -> str:
    return "".join(_MARKS.get(mark, mark) for mark in visible(text))
