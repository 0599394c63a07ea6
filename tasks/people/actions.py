"""The log of everything that people did: append-only, signed, and complete up to its last entry.

Every entry names its number and the SHA-256 of the entry before it, and is signed with the log's
own Ed25519 key (`action-log-key.pem` in the home folder). So an entry that is changed, removed or
moved is found, as is one by somebody without the key. Whoever has the key and the file could cut
entries off its end: an export kept elsewhere shows that.

An entry is written in the transaction of what it tells (`record`), or before that is begun, with a
second one should it be refused (`doing`). So nothing is done that the log does not tell, wherever
the process is killed; what it was killed in the middle of is told without having been done, and the
ledger or the release says which.
"""

import base64
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.tasks.installation.errors import PrivateFact, SafeError
from hallmark.tasks.installation.signing import kept_key
from hallmark.tasks.installation.workspace import home
from hallmark.tasks.people.database import reading, writing

KEY_FILE = "action-log-key.pem"
GENESIS = sha256(b"hallmark-action-log/1").hexdigest()
"""What the first entry names as the digest before it."""

ActionName = Literal[
    "logged-in",
    "log-in-refused",
    "logged-out",
    "person-added",
    "roles-changed",
    "person-left",
    "invited",
    "password-changed",
    "invitation-accepted",
    "token-made",
    "token-withdrawn",
    "opened",
    "commented",
    "decided",
    "spec-saved",
    "spec-removed",
    "table-uploaded",
    "table-replaced",
    "table-removed",
    "table-made-private",
    "form-confirmed",
    "asked",
    "declined",
    "ordered",
    "stopped",
    "scheduled",
    "unscheduled",
    "reopened",
    "withdrawn",
    "looks-allowed",
    "change-proposed",
    "change-decided",
    "account-opened",
    "cap-changed",
    "series-planned",
    "log-exported",
    "not-done",
]


class LogBroken(SafeError):
    """The log of actions is not as it was written."""


@dataclass(frozen=True, kw_only=True)
class Action:
    """One entry.

    Attributes:
        number: from 1, without gaps.
        at: when, UTC, ISO 8601.
        who: the login; on the command line, the account on the machine.
        by: how they were known: "session", "token NAME", "provider", "command line" or "nobody".
        action: what they did.
        about: the release, person or token that it is about; may be empty.
        details: what else is said about it, in plain words, by name.
        previous: digest of the entry before.
    """

    number: int
    at: str
    who: str
    by: str
    action: str
    about: str
    details: Mapping[str, str] = field(default_factory=dict)
    previous: str

    @property
    def text(self) -> str:
        """Canonical JSON, which the signature covers."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @property
    def digest(self) -> str:
        """SHA-256 of the text."""
        return sha256(self.text.encode("ascii")).hexdigest()


@dataclass(frozen=True)
class Actor:
    """Somebody who acts, and how they were known."""

    login: str
    by: str


def record(
    actor: Actor,
    action: ActionName,
    about: str = "",
    *,
    within: sqlite3.Connection | None = None,
    **details: str,
) -> int:
    """Enter an action; returns the entry's number.

    Args:
        within: the transaction of the change that the entry tells.
    """
    if within is None:
        with writing() as connection:
            return record(actor, action, about, within=connection, **details)
    last = within.execute("SELECT entry FROM actions ORDER BY number DESC LIMIT 1").fetchone()
    before = None if last is None else _read(last["entry"])
    entry = Action(
        number=1 if before is None else before.number + 1,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        who=actor.login,
        by=actor.by,
        action=action,
        about=about,
        details=details,
        previous=GENESIS if before is None else before.digest,
    )
    signature = base64.b64encode(_key().sign(entry.text.encode("ascii"))).decode()
    within.execute(
        "INSERT INTO actions (number, entry, signature) VALUES (?, ?, ?)",
        (entry.number, entry.text, signature),
    )
    return entry.number


@contextmanager
def doing(actor: Actor, action: ActionName, about: str = "", **details: str) -> Iterator[None]:
    """Enter an action before the block does it, and that it was not done if the block raises."""
    number = record(actor, action, about, within=None, **details)
    try:
        yield
    except Exception as error:
        record(actor, "not-done", about, entry=str(number), why=_why(error))
        raise


def _why(error: Exception) -> str:
    """Why something was not done, as a log may tell it that is exported."""
    if isinstance(error, PrivateFact):
        return "it depends on the private table, and is told to whoever asked alone"
    return str(error) if isinstance(error, SafeError | LedgerError) else type(error).__name__


def actions(
    *, about: str | None = None, before: int | None = None, most: int = 100
) -> list[Action]:
    """The latest entries first.

    Args:
        about: only those about this release, person or token.
        before: only those with a smaller number.
        most: how many, at most.
    """
    with reading() as connection:
        rows = connection.execute(
            "SELECT entry FROM actions"
            " WHERE (?1 IS NULL OR json_extract(entry, '$.about') = ?1)"
            " AND (?2 IS NULL OR number < ?2) ORDER BY number DESC LIMIT ?3",
            (about, before, most),
        )
        return [_read(row["entry"]) for row in rows]


def exported() -> Iterator[str]:
    """The whole log as JSON lines: first the public key, then each entry with its signature."""
    key = base64.b64encode(_key().public_key().public_bytes_raw()).decode()
    yield json.dumps({"format": "hallmark-action-log/1", "key": key})
    with reading() as connection:
        for row in connection.execute("SELECT entry, signature FROM actions ORDER BY number"):
            yield json.dumps({"entry": row["entry"], "signature": row["signature"]})


def check(lines: Iterable[str], key: str | None = None) -> int:
    """The number of entries of an export, all of which are as they were signed.

    Args:
        key: the log's public key, known from elsewhere; without it, the one that the export names.
    Raises:
        LogBroken: one is not, or is missing; the message names the first.
    """
    told = iter(lines)
    try:
        head = json.loads(next(told))
        named = str(head["key"])
        public = Ed25519PublicKey.from_public_bytes(base64.b64decode(named, validate=True))
    except (StopIteration, ValueError, KeyError, TypeError):
        raise LogBroken("the first line is not that of an exported log of actions") from None
    if key is not None and key != named:
        raise LogBroken(f"it is signed with the key {named}, not with {key}")
    number, previous = 0, GENESIS
    for line in told:
        try:
            said = json.loads(line)
            entry, signature = str(said["entry"]), base64.b64decode(said["signature"])
            public.verify(signature, entry.encode())
            action = _read(entry)
        except (ValueError, KeyError, TypeError, InvalidSignature):
            raise LogBroken(f"entry {number + 1} is not as it was signed") from None
        if (action.number, action.previous) != (number + 1, previous):
            raise LogBroken(f"entry {number + 1} does not follow the one before it")
        number, previous = action.number, action.digest
    return number


def log_key_file() -> Path:
    """Where the key is that signs the log."""
    return home() / KEY_FILE


def _read(entry: str) -> Action:
    return Action(**json.loads(entry))


def _key() -> Ed25519PrivateKey:
    return kept_key(log_key_file())
