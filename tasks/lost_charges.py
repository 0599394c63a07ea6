"""Go on with a ledger that was put back from a copy.

Charges made since the copy are missing, and with them the outcomes of draws, so the same call would
be answered with fresh noise. What a published release spent stands in its signed documents, and
what one spent that waits to be published in those in its workspace: it is entered again, in full,
and the release closed. If its name has drawn anew in the meantime, both draws count, the earlier
ones under a name of their own. Heads that are gone are recorded as lost.

Twice: what was entered is not entered again, and heads that were given up are not missed again.
Crash: charges come first, so until they are all there, the account is still refused.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.costs import cost
from hallmark.mechanisms.privacy.events import Event, events_from_json
from hallmark.mechanisms.privacy.ledger.chain import Head, genesis
from hallmark.mechanisms.privacy.ledger.ledger import BudgetRefused, Ledger
from hallmark.schemas.documents.manifest import SPEC_FILE
from hallmark.schemas.loading import load_spec
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.gates.staged import RecordFile, staged_folders
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.ledger.anchors import (
    anchor_of,
    anchors_file,
    installation_key,
    signed,
    write,
)
from hallmark.tasks.ledger.rollback import Recorded, from_releases, mark_put_back
from hallmark.tasks.planning.requested import adjacency
from hallmark.tasks.verification import verify_release
from hallmark.tasks.verification.documents import read_documents, read_manifest


class ProofRefused(SafeError):
    """A release of the account does not verify, so it proves nothing; nothing was entered."""


@dataclass(frozen=True)
class Proof:
    """What a release proves to have spent.

    Attributes:
        period: of a series, that it is about.
        manifest: digest of its manifest, or of its audit record if it waits to be published.
        told: its audit record.
        head: digest of the account's last entry then.
    """

    folder: Path
    release: str
    budget: Budget
    adjacency: Adjacency
    events: tuple[Event, ...]
    period: str | None
    manifest: str
    told: RecordFile
    head: str | None

    @property
    def apart(self) -> "Proof":
        """The same draws, under a name that no spec can have."""
        return replace(self, release=f"{self.release}, as published in {self.manifest[:12]}")


@dataclass(frozen=True)
class Restored:
    """What `account_for` did.

    Attributes:
        entered: releases whose charges the ledger had forgotten.
        lost: known heads that were given up.
        entries: the account's entries now; 0 where the ledger does not have it.
    """

    entered: tuple[Proof, ...]
    lost: int
    entries: int


def account_for(
    book: Ledger,
    account: str,
    folders: Sequence[Path],
    *,
    by: str,
    reason: str,
    cap: tuple[Budget, Fraction | None] | None = None,
) -> Restored:
    """Enter what the releases in these folders, and those that wait to be published, prove to have
    spent; give up what else is missing.

    Args:
        folders: of published releases.
        cap: the account's, with its rho if it is in zCDP, where it was raised since the copy.
    Raises:
        ProofRefused: a release of the account does not verify.
        BudgetRefused: the cap does not cover what was spent.
        LedgerError: the account is damaged, or kept under another relation or unit.
    """
    proofs = list(staged_proofs(account))  # first: a release may be published by now
    proofs += [proof for folder in folders for proof in proofs_in(folder, account)]
    told = [head for folder in folders for head in from_releases(folder, account)]
    recorded, before = Recorded.of(account, told), book.hashes(account)
    entered = []
    if book.has_account(account):
        book.verify(account)
        if cap is not None:
            book.set_cap(account, cap[0], rho_cap=cap[1], by=by, reason=reason)
        for proof in _forgotten(book, account, proofs):
            _enter(book, account, proof, by, reason)
            entered.append(proof)
    lost = {head.hash for head in recorded.lacking(before)}
    now = book.hashes(account)
    if lost:
        head = Head(account=account, entries=len(now), hash=[genesis(account), *now][-1])
        write(
            signed(anchor_of(head, lost=lost, by=by, reason=reason), installation_key()),
            anchors_file(),
        )
    mark_put_back([account], None)
    return Restored(tuple(entered), len(lost), len(now))


def proofs_in(out: Path, account: str) -> Iterator[Proof]:
    """What every release on the account in `out` proves.

    Raises:
        ProofRefused: one of them does not verify.
    """
    for folder in dict.fromkeys(one.folder for one in from_releases(out, account)):
        assert folder is not None, "of a release"
        yield from _proof(folder, account)


def _proof(folder: Path, account: str) -> Iterator[Proof]:
    verified = verify_release(folder)
    if not verified.ok:
        fault = next(check for check in verified.checks if not check.ok)
        raise ProofRefused(
            f"{folder} does not verify ({fault.name}: {fault.detail}), so it proves no charge. Put "
            "the release back as it was published, or leave it out and lower the cap by what it "
            "spent; nothing was entered"
        )
    manifest = read_manifest(folder)
    told = read_documents(folder, manifest)
    if told.record.account.name == account:
        yield Proof(
            folder=folder,
            release=manifest.release_id,
            budget=Budget(epsilon=manifest.privacy.epsilon, delta=manifest.privacy.delta),
            adjacency=adjacency(told.spec),
            events=events_from_json(dict(event) for event in told.record.mechanism.events),
            period=_period(told.spec),
            manifest=sha256(manifest.canonical_bytes()).hexdigest(),
            told=RecordFile.read(folder),
            head=None if manifest.ledger is None else manifest.ledger.hash,
        )


def staged_proofs(account: str) -> Iterator[Proof]:
    """What every release on the account that waits to be published proves.

    Its files are those that this installation wrote, in a workspace that others cannot enter.
    """
    for folder in staged_folders():
        told = RecordFile.read(folder)
        record, claim = told.record, told.record.guarantee.claim
        if record.account.name == account:
            spec = load_spec(folder / SPEC_FILE, is_published=True)
            yield Proof(
                folder=folder,
                release=record.identity.release_id,
                budget=Budget(epsilon=claim.epsilon, delta=claim.delta),
                adjacency=adjacency(spec),
                events=events_from_json(dict(event) for event in record.mechanism.events),
                period=_period(spec),
                manifest=told.digest,
                told=told,
                head=None,
            )


def _period(spec: ReleaseSpec) -> str | None:
    return None if spec.series is None else spec.series.period


def _forgotten(book: Ledger, account: str, proofs: Iterable[Proof]) -> Iterator[Proof]:
    """Releases whose charges the ledger does not have, or only some of them.

    Charges of that name which the release does not record are draws of their own, made after the
    copy was put back, and the release's come on top.
    """
    entries = book.entries(account)
    hashes = {entry.hash for entry in entries}
    for proof in {proof.told.digest: proof for proof in proofs}.values():
        charged = {
            entry.hash
            for entry in entries
            if entry.kind == "charge" and entry.release == proof.release
        }
        if proof.told.charges:
            whole = proof.told.charges <= charged
        elif proof.head is not None:
            whole = proof.head in hashes
        else:  # of an early version
            whole = bool(charged) and cost(book.events(proof.release)) == cost(proof.events)
        if whole or any(_is_entered(book, one) for one in (proof, proof.apart)):
            continue
        known = book.reservation(proof.release)
        others = charged - proof.told.charges or (known is not None and known.proved)
        yield proof.apart if others else proof


def _is_entered(book: Ledger, proof: Proof) -> bool:
    """Whether the release is in the ledger as this very manifest or audit record proves it."""
    known = book.reservation(proof.release)
    if known is None or not known.proved:
        return False
    known_as = {call.request for call in book.calls(proof.release)}
    return not known_as.isdisjoint((proof.manifest, proof.told.digest))


def _enter(book: Ledger, account: str, proof: Proof, by: str, reason: str) -> None:
    try:
        book.prove(
            account,
            proof.release,
            proof.budget,
            adjacency=proof.adjacency,
            events=proof.events,
            manifest=proof.manifest,
            period=proof.period,
            by=by,
            reason=reason,
        )
    except BudgetRefused as error:
        raise BudgetRefused(
            f"{error}. As {proof.folder} proves, it was spent all the same, so the cap was higher: "
            "say what it was, with --epsilon and --delta, or with --rho"
        ) from error
