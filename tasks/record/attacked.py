"""What attacks on a spec's mechanism came to, kept from `hallmark audit-privacy` until a report.

It is found by the digest of all that the questions to the private table depend on, so an audit of
another mechanism, budget or domain is never shown.
"""

from pathlib import Path

from hallmark.schemas.documents.audit_attacks import AttackAudit
from hallmark.tasks.installation.workspace import home, private_folder, whole


def keep_audit(binding: str, audit: AttackAudit) -> None:
    """Keep an audit of the spec with this digest, in place of an earlier one."""
    with whole(_file(binding)) as draft:
        draft.write_text(audit.model_dump_json(), encoding="utf-8")


def kept_audit(binding: str) -> AttackAudit | None:
    """The latest audit of the spec with this digest."""
    file = _file(binding)
    return AttackAudit.model_validate_json(file.read_bytes()) if file.exists() else None


def _file(binding: str) -> Path:
    return private_folder(home() / "audits") / f"{binding}.json"
