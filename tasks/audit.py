"""Audit a release on the installation that made it: the folder, and its entries in the ledger."""

from collections.abc import Iterator
from pathlib import Path

from hallmark.mechanisms.privacy.events import events_to_json
from hallmark.mechanisms.privacy.ledger.ledger import Ledger, LedgerError
from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.schemas.documents.decisions import ApprovalsFile
from hallmark.schemas.documents.labels import NOT_RECORDED
from hallmark.schemas.documents.manifest import APPROVALS_FILE, RECORD_FILE
from hallmark.tasks.gates.gate_history import History, HistoryBroken
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.ledger.rollback import Recorded, from_release
from hallmark.tasks.verification import Check, Verification, verify_release
from hallmark.tasks.verification.approvals import read_approvals


def audit_release(
    folder: Path, public_key: Path | None, ledger: str, certified: Path | None = None
) -> Verification:
    """All checks of `verify_release`, and that the ledger is intact and charged what is recorded.

    An unreadable ledger is a failed check, not an exception.
    """
    verified = verify_release(folder, public_key, certified)
    if not verified.ok:
        return verified
    record = AuditRecord.model_validate_json((folder / RECORD_FILE).read_bytes())
    try:
        book = open_ledger(ledger)
        faults = [
            *_ledger_faults(folder, record, book),
            *_history_faults(folder, record.identity.release_id, book),
        ]
    except (LedgerError, HistoryBroken) as error:
        faults = [str(error)]
    found = "; ".join(faults) or "its chain is intact, and it charged the events in the record"
    return Verification((*verified.checks, Check("ledger", not faults, found)))


def _history_faults(folder: Path, release: str, book: Ledger) -> Iterator[str]:
    """Statements in the ledger that the release lacks or changes."""
    reservation = book.reservation(release)
    if reservation is not None and reservation.proved:
        return  # they are lost with the release's entries
    published = read_approvals(folder)
    said = published.said if isinstance(published, ApprovalsFile) else ()
    if History.in_ledger(book, release).links != said:
        yield f"{APPROVALS_FILE} differs from the ledger's entries about its gates"


def _ledger_faults(folder: Path, record: AuditRecord, book: Ledger) -> Iterator[str]:
    release, account = record.identity.release_id, record.account.name
    book.verify(account)
    recorded = Recorded.of(account, from_release(folder, account))
    hashes = book.hashes(account)
    for one in recorded.lacking(hashes):
        yield f"it lacks {one.in_words()}"
    reservation = book.reservation(release)
    if reservation is None or reservation.account != account:
        yield f"account {account} has no reservation for {release}"
        return
    if reservation.state != "spent":
        yield f"the budget of {release} is {reservation.state}, not spent"
    claim = record.guarantee.claim
    if (reservation.budget.epsilon, reservation.budget.delta) != (claim.epsilon, claim.delta):
        yield "the ledger reserved a different budget from the claimed one"
    charged = events_to_json(book.events(release))
    if charged != [dict(event) for event in record.mechanism.events]:
        yield "the ledger charged different events from the recorded ones"
    if reservation.proved:  # the entries that the record names are lost, which somebody answers for
        return
    known = {NOT_RECORDED, *hashes}
    for entry in record.account.entries:
        if entry.digest not in known:
            yield f"the recorded entry {entry.digest[:12]}… is not in the ledger"
