"""The anchors file: every head of the ledger's accounts, written down outside its database.

`ledger-anchors.jsonl` in the home folder, one signed anchor a line, for its owner alone, only ever
appended to. Whoever owns the database can cut an account's chain off, and it will be whole; whoever
compares it with this file sees that it was cut (`tasks.ledger.rollback`).

Order. The ledger's transaction is durable before its head is written here, and the outcome of a
       draw is shown only afterwards. A crash in between leaves an entry without an anchor, whose
       outcome nobody saw. A line is on disk before `write` returns; one that a crash cut short is
       marked by the next writer and then passed over.
Limits. Whoever owns the home folder can remove lines. Copies elsewhere help against that: releases
       that were published, and what `hallmark ledger anchor` gives out.
"""

import base64
import fcntl
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

from hallmark.mechanisms.privacy.ledger.ledger import Head, Ledger
from hallmark.schemas.documents.ledger_anchor import Anchor, LedgerHead, SignedAnchor
from hallmark.schemas.visible import visible
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.signing import SigningError, SigningKey, fingerprint, signing_key
from hallmark.tasks.installation.workspace import home

_TORN = b" torn\n"  # how the next writer ends a line that a crash cut short


class AnchorsDamaged(SafeError):
    """A file of anchors cannot be read, or holds something else."""


def open_ledger(url: str) -> Ledger:
    """The ledger at `url`, every new head of which is written to the anchors file.

    Raises:
        LedgerError: as `Ledger`.
    """
    return Ledger(url, _Witness().told)


def anchors_file() -> Path:
    """Where this installation keeps its anchors; there may be none yet."""
    return home() / "ledger-anchors.jsonl"


def anchor_of(head: Head, *, lost: Iterable[str] = (), by: str = "", reason: str = "") -> Anchor:
    """An anchor of `head`, made now."""
    return Anchor(
        head=LedgerHead(account=head.account, entries=head.entries, hash=head.hash),
        at=datetime.now(UTC).replace(microsecond=0),
        lost=tuple(sorted(lost)),
        by=by,
        reason=reason,
    )


def signed(anchor: Anchor, key: SigningKey | None, *, time_stamp: bytes = b"") -> SignedAnchor:
    """The anchor with its proofs."""
    content = anchor.canonical_bytes()
    return SignedAnchor(
        anchor=anchor,
        key="" if key is None else _text(key.private.public_key().public_bytes_raw()),
        signature="" if key is None else _text(key.private.sign(content)),
        time_stamp=_text(time_stamp),
    )


def write(anchor: SignedAnchor, path: Path) -> None:
    """Append an anchor to a file, which is made for its owner alone; it is on disk on return."""
    is_new = not path.exists()
    with os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = file.seek(0, os.SEEK_END)
        torn = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
        file.write((_TORN if torn else b"") + anchor.model_dump_json().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    if is_new:
        _sync(path.parent)


def read(path: Path) -> list[SignedAnchor]:
    """All anchors of a file, in the order in which they were written; none where there is no file.

    Raises:
        AnchorsDamaged: a line is no anchor, or the file cannot be read.
    """
    try:
        content = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise AnchorsDamaged(f"{path}: cannot be read ({error.strerror}); mend that") from None
    lines = content.splitlines(keepends=True)
    found = []
    for number, line in enumerate(lines, start=1):
        if line.endswith(_TORN) or not line.endswith(b"\n"):  # nobody saw what it stands for
            continue
        try:
            found.append(SignedAnchor.model_validate_json(line))
        except ValidationError:
            raise AnchorsDamaged(
                f"{path}, line {number}: is no anchor of the ledger; name another file, or, if it "
                "was one, find out who wrote to it, and put a copy of it back"
            ) from None
    return found


def signer(anchor: SignedAnchor) -> str | None:
    """Fingerprint of the key that signed an anchor; None where nobody did.

    Raises:
        AnchorsDamaged: the signature is not of this anchor.
    """
    if not anchor.signature:
        return None
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(anchor.key, validate=True))
        signature = base64.b64decode(anchor.signature, validate=True)
        key.verify(signature, anchor.anchor.canonical_bytes())
    except (ValueError, InvalidSignature):
        head = anchor.anchor.head
        raise AnchorsDamaged(
            f"the anchor of account {head.account!r} at entry {head.entries} was changed after it "
            "was signed; find out who wrote to it, and put a copy of the file back"
        ) from None
    return fingerprint(key)


def installation_key() -> SigningKey | None:
    """What this installation signs its anchors with; None where its key cannot be used here."""
    with suppress(SigningError):
        return signing_key(home())
    return None


class _Witness:
    """Writes down what the ledger tells, as well as it can: what was entered stays in any case."""

    @cached_property
    def _key(self) -> SigningKey | None:
        return installation_key()  # once: to open an encrypted key takes a while

    def told(self, head: Head) -> None:
        try:
            write(signed(anchor_of(head), self._key), anchors_file())
        except OSError as error:
            warning = (
                f"warning: {error.filename}: the head of ledger account {head.account} cannot be "
                f"written down ({error.strerror}); mend that: until then nobody would see if what "
                "was entered now were cut off"
            )
            print(visible(warning), file=sys.stderr)


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _sync(folder: Path) -> None:
    """Have the folder's list of files on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
