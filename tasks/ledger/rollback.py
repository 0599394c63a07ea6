"""Notice that the ledger lacks entries that it had: cut off, rewritten, or put back from a copy.

A chain that was cut off is whole. What tells is a head that was written down elsewhere: in the
anchors file, in the manifest of a published release, or in a file that somebody keeps. A ledger
that lacks one is not reserved or drawn on, since it has forgotten draws: the same call would be
answered with fresh noise, and noise that is drawn twice averages away.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from hallmark.mechanisms.privacy.ledger.ledger import Ledger, LedgerError
from hallmark.schemas.documents.ledger_anchor import Anchor, SignedAnchor
from hallmark.schemas.documents.manifest import MANIFEST_FILE, RECORD_FILE, Manifest
from hallmark.schemas.given_files import MOST_DOCUMENT, bytes_of
from hallmark.tasks.installation.workspace import home, whole
from hallmark.tasks.ledger.anchors import AnchorsDamaged, anchors_file, read, signer


class LedgerRolledBack(LedgerError):
    """The ledger lacks entries that were anchored or published; nothing was changed in it."""


@dataclass(frozen=True)
class Told:
    """A head of an account, as something outside the ledger tells it."""

    hash: str
    entries: int | None  # how many there were; releases of earlier versions do not say
    at: datetime
    where: str
    folder: Path | None = None  # of the release that tells it

    def in_words(self) -> str:
        """A sentence about the head, where it is recorded, and since when."""
        which = "an entry" if self.entries is None else f"entry {self.entries}"
        return f"{which} that {self.where} records, from {self.at:%Y-%m-%d %H:%M} UTC"


@dataclass(frozen=True)
class Recorded:
    """Everything that is recorded about an account outside the ledger.

    Attributes:
        anchors: the account's lines in the anchors file, in the order of writing.
        elsewhere: heads that published releases or other files tell.
    """

    account: str
    anchors: tuple[SignedAnchor, ...]
    elsewhere: tuple[Told, ...]

    @classmethod
    def of(cls, account: str, elsewhere: Iterable[Told] = ()) -> "Recorded":
        """What this installation has recorded, and what is told elsewhere.

        Raises:
            AnchorsDamaged: the anchors file cannot be read.
        """
        lines = (line for line in read(anchors_file()) if line.anchor.head.account == account)
        return cls(account, tuple(lines), tuple(elsewhere))

    @property
    def losses(self) -> tuple[Anchor, ...]:
        """The anchors by which somebody said that entries of the account are lost for good."""
        return tuple(line.anchor for line in self.anchors if line.anchor.lost)

    def lacking(self, hashes: Iterable[str]) -> list[Told]:
        """Heads that a chain with these hashes lacks, other than those given up."""
        there = {*hashes, *(lost for anchor in self.losses for lost in anchor.lost)}
        told = (*from_anchors(self.anchors), *self.elsewhere)
        return [one for one in told if one.hash not in there]

    def refuse_lacking(self, hashes: Sequence[str]) -> None:
        """Refuse a chain, given by the hashes of all its entries, that lacks a recorded head.

        Raises:
            LedgerRolledBack: it does.
        """
        lacking = self.lacking(hashes)
        if not lacking:
            return
        last = max(lacking, key=lambda one: (one.entries or 0, one.at))
        folders = sorted({one.folder.parent for one in lacking if one.folder is not None})
        releases = "".join(f" --releases {folder}" for folder in folders)
        raise LedgerRolledBack(
            f"ledger account {self.account!r} ends at entry {len(hashes)}, and lacks "
            f"{last.in_words()}. It was cut off, rewritten or put back from a copy since; or "
            "HALLMARK_LEDGER names another ledger than before. What it has forgotten would be "
            "drawn again, with fresh noise, so nothing was entered. Restore the ledger that has "
            "these entries, and find out who can write to the database. If it is lost for good, "
            f"say so; that is recorded and published: hallmark ledger restored {self.account}"
            f"{releases} --reason WHY"
        )


def refuse_rolled_back(book: Ledger, account: str, out: Path | None = None) -> None:
    """Refuse a ledger that lacks a head that this installation knows of the account.

    Args:
        account: also one that the ledger does not have, and should have.
        out: folder of published releases, whose heads count too.
    Raises:
        LedgerRolledBack: it lacks one; or it was put back from a backup, and nobody has answered
            for what was drawn since.
        AnchorsDamaged: an anchor of the account was changed.
    """
    if (since := unanswered_since(account)) is not None:
        raise LedgerRolledBack(
            f"ledger account {account!r} was put back from a backup of {since}, and what was drawn "
            "since then would be drawn again, with fresh noise, so nothing was entered. Enter what "
            "was released since, with the folder of all published releases: hallmark ledger "
            f"restored {account} --releases FOLDER --reason WHY"
        )
    recorded = Recorded.of(account, from_releases(out, account) if out else ())
    for line in recorded.anchors:
        signer(line)
    # Read after the anchors: an entry is in the ledger before its head is anchored.
    recorded.refuse_lacking(book.hashes(account))


def why_refused(book: Ledger, account: str, *, whole_chain: bool = False) -> str | None:
    """Why nothing may be charged on an account; None where something may.

    Args:
        account: also one that the ledger does not have, and should have.
        whole_chain: verify all its entries, too, which takes seconds where there are thousands.
    """
    try:
        if whole_chain and book.has_account(account):
            book.verify(account)
        refuse_rolled_back(book, account)
    except (LedgerError, AnchorsDamaged) as error:
        return str(error)
    return None


def unanswered_since(account: str) -> str | None:
    """The time of the backup that the account was put back from; None if nobody need answer."""
    return _put_back().get(account)


def mark_put_back(accounts: Iterable[str], at: datetime | None) -> None:
    """Have accounts wait until somebody answers for draws since `at`; None: somebody has."""
    marked = _put_back()
    for account in accounts:
        marked.pop(account, None)
        if at is not None:
            marked[account] = f"{at:%Y-%m-%d %H:%M} UTC"
    with whole(_put_back_file()) as draft:
        draft.touch(0o600)
        draft.write_text(json.dumps(marked))


def _put_back() -> dict[str, str]:
    """Accounts that wait, and since when."""
    marked: dict[str, str] = {}
    with suppress(FileNotFoundError):
        marked = json.loads(_put_back_file().read_bytes())
    return marked


def _put_back_file() -> Path:
    return home() / "ledger-put-back.json"


def anchored_accounts() -> set[str]:
    """Accounts that the anchors file tells of, even if they are gone. Raises `AnchorsDamaged`."""
    return {line.anchor.head.account for line in read(anchors_file())}


def from_anchors(lines: Iterable[SignedAnchor], where: str = "the anchors file") -> Iterator[Told]:
    """What lines of a file of anchors tell."""
    for line in lines:
        head = line.anchor.head
        if head.entries:
            yield Told(head.hash, head.entries, line.anchor.at, where)


def from_releases(out: Path, account: str) -> Iterator[Told]:
    """What the releases in `out` that were charged to the account tell of its chain."""
    for path in sorted(out.glob(f"*/{MANIFEST_FILE}")):
        if not path.parent.name.startswith("."):  # such a folder is still being copied, or was cut
            yield from from_release(path.parent, account)


def from_release(folder: Path, account: str) -> Iterator[Told]:
    """What one release tells; nothing where it is of another account, a rehearsal, or none."""
    try:
        manifest = Manifest.model_validate_json(bytes_of(folder / MANIFEST_FILE, MOST_DOCUMENT))
    except (OSError, ValidationError):
        return
    if manifest.is_rehearsal:  # on a ledger of its own
        return
    where = f"release {manifest.release_id} in {folder}"
    if manifest.ledger is not None:
        if manifest.ledger.account == account:
            head = manifest.ledger
            yield Told(head.hash, head.entries, manifest.created, where, folder)
        return
    with suppress(OSError, ValueError, KeyError, TypeError):  # it has no record of ours
        record = json.loads(bytes_of(folder / RECORD_FILE, MOST_DOCUMENT))["account"]
        if record["name"] == account:
            for entry in record["entries"]:
                told = entry["digest"]
                yield Told(told, None, manifest.created, where, folder)
