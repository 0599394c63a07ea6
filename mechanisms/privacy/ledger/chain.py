"""The hash chain: every entry of an account carries a digest of all entries before it.

Claim.   If one entry of an account is changed, removed, inserted or moved, and the entries after
         it are not all rewritten, then `check_chain` names the first entry that does not follow.
Limits.  The digest has no key. Anybody who may drop the triggers can cut off a chain, or rewrite it
         from some entry on, together with the head; only comparison with a `Head` recorded
         elsewhere reveals that (`tasks.ledger.anchors`, the signed manifest of a release).
Hiding.  Digests are published, and everything in an entry can be guessed except the microsecond at
         which it was written, which reveals how long the private data were worked on. So only
         digests of entries with a nonce are published (`HIDING`): they confirm no guess.
Oracle.  tests/mechanisms/privacy/ledger/test_chain.py tampers with every field.
"""

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hallmark.mechanisms.privacy.ledger.errors import LedgerError

HIDING = ("reserve", "charge", "publish")
"""Kinds of entries whose digests may be published, since they cover a nonce of 128 bits."""

_NONCE = "nonce"
_NONCE_BYTES = 16


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of an account's history. Public.

    Attributes:
        account: name of the account; each account has its own chain.
        seq: position in the chain, from 1.
        at: when it was written, UTC, ISO 8601.
        kind: "open", "cap", "reserve", "charge", "cancel", "proved" or a statement (`book` defines
            their meanings).
        release: the release that it is about; None for the account as a whole.
        payload: plain JSON, rationals as strings such as "1/100000".
        previous: hash of the entry before it, or `genesis` of the account.
        hash: SHA-256 over all the other fields.
    """

    account: str
    seq: int
    at: str
    kind: str
    release: str | None
    payload: Mapping[str, Any]
    previous: str
    hash: str

    @property
    def hides(self) -> bool:
        """Whether the hash reveals nothing about the rest, so that it may be published."""
        return self.kind in HIDING and _NONCE in self.payload

    @property
    def said(self) -> Mapping[str, Any]:
        """The payload without the nonce."""
        return {key: value for key, value in self.payload.items() if key != _NONCE}

    @property
    def head(self) -> "Head":
        """The end of the chain when the entry was its last."""
        return Head(account=self.account, entries=self.seq, hash=self.hash)


@dataclass(frozen=True, kw_only=True)
class Head:
    """The end of an account's chain at some time, which vouches for all entries up to it."""

    account: str
    entries: int
    hash: str


def hiding(kind: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """The payload to enter, with a nonce if digests of such entries are published."""
    if kind not in HIDING:
        return payload
    return {**payload, _NONCE: secrets.token_hex(_NONCE_BYTES)}


def canonical(payload: Any) -> str:
    """The canonical JSON text of `payload`: keys sorted, no spaces, ASCII only."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":"), allow_nan=False)


def genesis(account: str) -> str:
    """The hash that the first entry of an account names as its predecessor."""
    return hashlib.sha256(f"hallmark ledger account {account}".encode()).hexdigest()


def entry_hash(
    *,
    account: str,
    seq: int,
    at: str,
    kind: str,
    release: str | None,
    payload: Mapping[str, Any],
    previous: str,
) -> str:
    """SHA-256 over the canonical JSON of an entry's fields."""
    text = canonical([account, seq, at, kind, release, payload, previous])
    return hashlib.sha256(text.encode()).hexdigest()


def check_chain(account: str, entries: Iterable[Entry], *, length: int, head: str) -> None:
    """Check that `entries` are the unbroken chain of `account`, ending in `head`.

    Args:
        entries: in order of `seq`.
        length, head: number of entries and hash of the last, as the account's row states them.
    Raises:
        LedgerError: names the first entry that does not follow from those before it.
    """
    seq, previous = 0, genesis(account)
    for entry in entries:
        seq += 1
        if entry.seq != seq:
            raise broken(account, seq, f"it is missing; the next one is number {entry.seq}")
        if entry.previous != previous:
            raise broken(account, seq, "it does not follow from the entry before it")
        if entry.hash != entry_hash(**{k: v for k, v in vars(entry).items() if k != "hash"}):
            raise broken(account, seq, "its content was changed after it was written")
        previous = entry.hash
    if (seq, previous) != (length, head):
        raise broken(account, seq + 1, f"the account states {length} entries with another head")


def broken(account: str, seq: int, what: str) -> LedgerError:
    """The error for an entry that cannot be trusted."""
    return LedgerError(
        f"ledger account {account!r}, entry {seq}: {what}. Nothing can be charged on this account "
        "any more. Find out who can write to the database; a copy put back in its place must hold "
        "every release made since, or their charges would be forgotten"
    )
