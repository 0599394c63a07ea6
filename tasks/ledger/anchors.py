"""The anchors file: every head of the ledger's accounts, recorded outside its database.

`ledger-anchors.jsonl` in the home folder, one signed anchor per line, readable only by its owner,
append-only. The owner of the database can cut off an account's chain, which then still looks
intact; comparing it with this file reveals the cut (`tasks.ledger.rollback`).

Order. The ledger's transaction is durable before its head is written here, and the outcome of a
       draw is shown only afterwards. A crash in between leaves an entry without an anchor, whose
       outcome nobody saw. A line is on disk before `write` returns; a line that a crash cut short
       is marked by the next writer and then ignored.
Limits. The owner of the home folder can remove lines. Copies elsewhere protect against that:
       published releases, and the output of `hallmark ledger anchor`.
"""

import base64
import fcntl
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

from hallmark.mechanisms.privacy.ledger.ledger import Head, Ledger
from hallmark.schemas.documents.ledger_anchor import Anchor, LedgerHead, SignedAnchor
from hallmark.schemas.given_files import opened
from hallmark.schemas.visible import visible
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.signing import SigningError, SigningKey, fingerprint, signing_key
from hallmark.tasks.installation.workspace import home

_TORN = b" torn\n"  # how the next writer ends a line that a crash cut short


class AnchorsDamaged(SafeError):
    """A file of anchors that cannot be read, or contains something else."""


def open_ledger(url: str) -> Ledger:
    """The ledger at `url`; each of its new heads is written to the anchors file.

    Raises:
        LedgerError: as `Ledger`.
    """
    return Ledger(url, _Witness().told)


def anchors_file() -> Path:
    """The path of this installation's anchors file, which may not exist yet."""
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
        key="" if key is None else _text(key.signer.public_key().public_bytes_raw()),
        signature="" if key is None else _text(key.signer.sign(content)),
        time_stamp=_text(time_stamp),
    )


def write(anchor: SignedAnchor, path: Path) -> None:
    """Append an anchor to a file that only its owner can read; it is on disk on return."""
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
    """All anchors in a file, in the order of writing; empty if there is no file.

    Raises:
        AnchorsDamaged: a line is not an anchor, or the file cannot be read.
    """
    try:
        with opened(path) as file:
            content = file.read()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise AnchorsDamaged(f"{path}: cannot be read ({error.strerror}); fix that") from None
    lines = content.splitlines(keepends=True)
    found = []
    for number, line in enumerate(lines, start=1):
        if line.endswith(_TORN) or not line.endswith(b"\n"):  # nobody saw what it stands for
            continue
        try:
            found.append(SignedAnchor.model_validate_json(line))
        except ValidationError:
            raise AnchorsDamaged(
                f"{path}, line {number}: is not an anchor of the ledger; give another file or, if "
                "it was one, find out who wrote to it, and restore it from a copy"
            ) from None
    return found


def signer(anchor: SignedAnchor) -> str | None:
    """Fingerprint of the key that signed an anchor; None if it is unsigned.

    Raises:
        AnchorsDamaged: the signature does not belong to the anchor.
    """
    if not anchor.signature:
        return None
    try:
        return _signer(anchor.key, anchor.signature, anchor.anchor.canonical_bytes())
    except (ValueError, InvalidSignature):
        head = anchor.anchor.head
        raise AnchorsDamaged(
            f"the anchor of account {head.account!r} at entry {head.entries} was changed after it "
            "was signed; find out who wrote to it, and restore the file from a copy"
        ) from None


@lru_cache(maxsize=1 << 16)  # a file only grows, and all of its anchors are checked at each use
def _signer(key: str, signature: str, content: bytes) -> str:
    """Fingerprint of the key that signed; raises ValueError or InvalidSignature where none did."""
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key, validate=True))
    public.verify(base64.b64decode(signature, validate=True), content)
    return fingerprint(public)


def installation_key() -> SigningKey | None:
    """The key with which this installation signs its anchors; None if it cannot be used here."""
    with suppress(SigningError):
        return signing_key(home())
    return None


class _Witness:
    """Records the ledger's new heads if possible; the ledger's entries stay in any case."""

    @cached_property
    def _key(self) -> SigningKey | None:
        return installation_key()  # once: opening an encrypted key takes a while

    def told(self, head: Head) -> None:
        try:
            write(self._signed(anchor_of(head)), anchors_file())
        except OSError as error:
            warning = (
                f"warning: {anchors_file()}: the head of ledger account {head.account} cannot be "
                f"recorded ({error.strerror}); fix that: until then nobody could notice if the new "
                "entries were cut off"
            )
            print(visible(warning), file=sys.stderr)

    def _signed(self, anchor: Anchor) -> SignedAnchor:
        """The anchor, signed if that is possible: the entry that it is of is in the ledger."""
        try:
            return signed(anchor, self._key)
        except SigningError as error:
            self._key = None  # from now on nobody waits for a command that fails
            print(
                visible(f"warning: {error}; anchors of the ledger are not signed until then"),
                file=sys.stderr,
            )
            return signed(anchor, None)


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _sync(folder: Path) -> None:
    """Write the folder's list of files to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
