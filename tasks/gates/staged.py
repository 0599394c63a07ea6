"""A staged release: finished, and not yet published, as a gate is closed or an embargo runs.

Meanwhile the ledger may be put back from a copy that has forgotten what the release drew. Then
nothing is published until the ledger has those charges again: a release that counts against no cap
would be one too many.
"""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.schemas.documents.labels import NOT_RECORDED
from hallmark.schemas.documents.manifest import APPROVALS_FILE, RECORD_FILE, SIGNATURE_FILES
from hallmark.tasks.installation.code import code_digest
from hallmark.tasks.installation.profile import approvals_of
from hallmark.tasks.installation.signing import digest, key_for
from hallmark.tasks.installation.workspace import STAGING, home, whole, workspaces_place
from hallmark.tasks.job import Job
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.ledger.rollback import LedgerRolledBack

_NOTE = "staged.json"


class RecordFile(NamedTuple):
    """An audit record, and the digest of its file, as SHA-256 in hexadecimal."""

    record: AuditRecord
    digest: str

    @classmethod
    def read(cls, folder: Path) -> "RecordFile":
        """The record of the release in `folder`. Raises `ValidationError` where it is none."""
        content = (folder / RECORD_FILE).read_bytes()
        return cls(AuditRecord.model_validate_json(content), sha256(content).hexdigest())

    @property
    def charges(self) -> frozenset[str]:
        """Digests of the ledger's entries that charged the release's draws; none where an earlier
        version did not record them."""
        entries = self.record.account.entries
        charges = {entry.digest for entry in entries if entry.entry == "charge"}
        return frozenset(charges - {NOT_RECORDED})


def mark_staged(job: Job) -> None:
    """Note that the staged release is complete, so that a later run need not make it again."""
    with whole(job.workspace.path / _NOTE) as draft:
        draft.write_text(json.dumps(_stage(job)))


def is_staged(job: Job) -> bool:
    """Whether the staged release is there, whole, and what this spec and this code make."""
    note = job.workspace.path / _NOTE
    return note.is_file() and json.loads(note.read_text()) == _stage(job)


def refuse_uncharged(job: Job) -> None:
    """Refuse a staged release of which the ledger has neither every charge nor what it proved to
    have spent.

    Raises:
        LedgerRolledBack: it has not, so the release may not be published.
    """
    book, account = open_ledger(job.ledger), job.prepared.spec.population.account
    told = RecordFile.read(job.workspace.staging)
    held = book.reservation(job.release)
    if held is not None and held.proved:
        charged = told.digest in {call.request for call in book.calls(job.release)}
    else:
        charged = bool(told.charges) and told.charges <= set(book.hashes(account))
    if not charged or held is None or held.state != "spent":
        raise LedgerRolledBack(
            f"release {job.release!r} is finished, but the ledger has no charge of what it drew: "
            f"account {account!r} was put back from a copy since, or HALLMARK_LEDGER names another "
            "ledger than before. Nothing was published or entered. Enter what it spent, with the "
            f"folder of all published releases: hallmark ledger restored {account} --releases "
            "FOLDER --reason WHY"
        )


def staged_folders() -> Iterator[Path]:
    """Folders of all releases that are finished on this installation, and not yet published."""
    for note in sorted(workspaces_place().glob(f"*/{_NOTE}")):
        folder = note.with_name(STAGING)
        files = json.loads(note.read_text())["files"]
        if folder.is_dir() and RECORD_FILE in files and staged_files(folder) == files:
            yield folder


def staged_files(staging: Path) -> dict[str, str]:
    """SHA-256 of every file of a staged release but what is made by publishing it."""
    made_later = (*SIGNATURE_FILES, APPROVALS_FILE)
    return {
        path.name: digest(path) for path in sorted(staging.iterdir()) if path.name not in made_later
    }


def _stage(job: Job) -> dict[str, Any]:
    spec = job.prepared.spec
    return {
        "spec": spec.digest(),
        "approvals": approvals_of(spec).model_dump(mode="json"),
        "queries": list(job.prepared.public.queries),
        "code": code_digest(),
        "key": key_for(spec, home()).fingerprint,  # which the staged documents name
        "files": staged_files(job.workspace.staging),
    }
