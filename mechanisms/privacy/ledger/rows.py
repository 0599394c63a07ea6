"""Rows of the ledger's tables: read as books and entries, and appended to.

Every function works inside the caller's transaction (`database`). A caller that appends must first
lock the account with `lock_book`.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from hallmark.mechanisms.privacy.ledger.book import Book
from hallmark.mechanisms.privacy.ledger.chain import (
    Entry,
    Head,
    broken,
    canonical,
    check_chain,
    entry_hash,
    hiding,
)
from hallmark.mechanisms.privacy.ledger.errors import LedgerError
from hallmark.mechanisms.privacy.ledger.replayed import replayed
from hallmark.mechanisms.privacy.ledger.tables import ACCOUNTS, ENTRIES, MEASUREMENTS, RELEASES

_APPENDED = "ledger_appended"  # every transaction has a connection of its own, and so its info


def account_names(connection: Connection) -> list[str]:
    """All accounts, by name."""
    return list(connection.scalars(select(ACCOUNTS.c.name).order_by(ACCOUNTS.c.name)))


def insert_account(connection: Connection, name: str) -> Book:
    """Insert an account without entries; violates a unique key if it exists already."""
    book = Book(name)
    seq, head = book.head
    connection.execute(insert(ACCOUNTS).values(name=name, seq=seq, hash=head))
    return book


def insert_release(connection: Connection, release: str, account: str) -> None:
    """Claim the name of a release; violates a unique key if it is already claimed."""
    connection.execute(insert(RELEASES).values(release=release, account=account))


def log_outcome(connection: Connection, charge: Entry, outcome: bytes) -> None:
    """Put an outcome into the measurement log, with a reference to the entry that charges it."""
    row = {
        "release": charge.release,
        "call": charge.payload["call"],
        "request": charge.payload["request"],
        "outcome": outcome,
        "account": charge.account,
        "seq": charge.seq,
    }
    connection.execute(insert(MEASUREMENTS).values(row))


def lock_book(connection: Connection, account: str) -> Book:
    """The book of an account, which no other process changes until the transaction ends.

    Raises:
        LedgerError: its entries cannot be trusted, or releases or outcomes do not agree with them.
    """
    connection.execute(select(ACCOUNTS).where(ACCOUNTS.c.name == account).with_for_update())
    book, entries = read_history(connection, account)
    _check_log(connection, book, entries)
    return book


def read_book(connection: Connection, account: str) -> Book:
    """The book of an account, after checking that its entries can be trusted."""
    return read_history(connection, account)[0]


def read_history(connection: Connection, account: str) -> tuple[Book, list[Entry]]:
    """The book of an account, and the entries that it is made of, as of `read_book`."""
    entries = _checked_entries(connection, account)
    return replayed(account, entries), entries


def _checked_entries(connection: Connection, account: str) -> list[Entry]:
    """The history of an account, which is an unbroken chain up to the head that it states."""
    history = read_entries(connection, account)
    row = connection.execute(select(ACCOUNTS).where(ACCOUNTS.c.name == account)).one()
    check_chain(account, history, length=row.seq, head=row.hash)
    return history


def read_entries(connection: Connection, account: str) -> list[Entry]:
    """The history of an account as stored, unchecked. Raises if there is no account."""
    if account not in account_names(connection):
        raise LedgerError(
            f"the ledger has no account {account!r}; open it first, with a cap, or fix the name"
        )
    query = select(ENTRIES).where(ENTRIES.c.account == account).order_by(ENTRIES.c.seq)
    read = []
    for row in connection.execute(query).mappings():
        try:
            read.append(Entry(**{**row, "payload": json.loads(row["payload"])}))
        except ValueError as error:
            raise broken(account, row["seq"], "its content is not JSON") from error
    return read


def read_hashes(connection: Connection, account: str) -> list[str]:
    """Hashes of an account's entries as stored, unchecked; none if there is no account."""
    query = select(ENTRIES.c.hash).where(ENTRIES.c.account == account).order_by(ENTRIES.c.seq)
    return list(connection.scalars(query))


def append(
    connection: Connection,
    book: Book,
    kind: str,
    payload: Mapping[str, Any],
    release: str | None = None,
) -> Entry:
    """Write the next entry of a locked book, if the book allows it."""
    entry = next_entry(book, kind, payload, release)
    row = vars(entry) | {"payload": canonical(entry.payload)}
    connection.execute(insert(ENTRIES).values(row))
    connection.execute(
        update(ACCOUNTS)
        .where(ACCOUNTS.c.name == book.account)
        .values(seq=entry.seq, hash=entry.hash)
    )
    connection.info[_APPENDED] = entry.head
    return entry


def next_entry(
    book: Book, kind: str, payload: Mapping[str, Any], release: str | None = None
) -> Entry:
    """The next entry of a book, applied to it; raises what the book does where it refuses it."""
    payload = hiding(kind, payload)
    seq, head = book.head
    fields: dict[str, Any] = {
        "account": book.account,
        "seq": seq + 1,
        "at": datetime.now(UTC).isoformat(timespec="microseconds"),
        "kind": kind,
        "release": release,
        "payload": payload,
        "previous": head,
    }
    entry = Entry(**fields, hash=entry_hash(**fields))
    book.apply(entry)
    return entry


def appended(connection: Connection) -> Head | None:
    """The account's new head from this transaction; None if it wrote nothing."""
    return connection.info.get(_APPENDED)


def account_of(connection: Connection, release: str) -> str | None:
    """The account on which a release has, or had, a reservation; None if there is none."""
    return connection.scalar(select(RELEASES.c.account).where(RELEASES.c.release == release))


def accounts_of(connection: Connection, releases: Collection[str]) -> dict[str, str]:
    """The accounts, as of `account_of`, of those of the releases that have one."""
    query = select(RELEASES.c.release, RELEASES.c.account).where(RELEASES.c.release.in_(releases))
    return {row.release: row.account for row in connection.execute(query)}


def reserved_account(connection: Connection, release: str) -> str:
    """The account on which a release has, or had, a reservation. Raises if there is none."""
    account = account_of(connection, release)
    if account is None:
        raise LedgerError(
            f"release {release!r} has no reservation in this ledger; fix its name, or start it so "
            "that its budget is reserved"
        )
    return account


def read_outcome(connection: Connection, release: str, call: str, request: str) -> bytes | None:
    """The logged outcome of a call. Raises if it was logged for another request."""
    query = select(MEASUREMENTS).where(
        MEASUREMENTS.c.release == release, MEASUREMENTS.c.call == call
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    if row.request != request:
        raise LedgerError(
            f"release {release!r}, call {call!r} was answered before, for another request (cells, "
            "noise, candidates or the public number of records differ); go back to what the "
            "release was started with, or choose another name for a release with its own budget"
        )
    charge = select(ENTRIES.c.payload).where(
        ENTRIES.c.account == row.account, ENTRIES.c.seq == row.seq, ENTRIES.c.release == release
    )
    payload = json.loads(connection.scalar(charge) or "{}")
    if payload.get("outcome") != hashlib.sha256(row.outcome).hexdigest():
        raise broken(row.account, row.seq, "the outcome that it charges was changed")
    return bytes(row.outcome)


def verify(connection: Connection, account: str) -> None:
    """Check the chain and law of an account, and that releases and outcomes agree with its entries.

    Raises:
        LedgerError: names the first bad entry, or the first whose outcome is missing or changed.
    """
    history = _checked_entries(connection, account)
    _check_log(connection, Book.replay(account, history), history)
    outcomes = select(MEASUREMENTS.c.seq, MEASUREMENTS.c.outcome).where(
        MEASUREMENTS.c.account == account
    )
    for seq, outcome in connection.execute(outcomes.order_by(MEASUREMENTS.c.seq)):
        if history[seq - 1].payload.get("outcome") != hashlib.sha256(outcome).hexdigest():
            raise broken(account, seq, "the outcome that it charges was changed")


def _check_log(connection: Connection, book: Book, history: Sequence[Entry]) -> None:
    """Check that the index of releases and the log agree with the entries, but for the content of
    outcomes, which whoever reads one checks.

    Raises:
        LedgerError: names a release, or the first entry whose outcome is missing or another's.
    """
    account = book.account
    releases = select(RELEASES.c.release).where(RELEASES.c.account == account)
    if odd := book.reservations.keys() ^ set(connection.scalars(releases)):
        raise LedgerError(
            f"ledger account {account!r}: the index of releases does not agree with the entries "
            f"about {', '.join(sorted(odd))}; find out who can write to the database"
        )
    log = MEASUREMENTS.c
    query = select(log.release, log.call, log.account, log.seq, log.request).where(
        (log.account == account) | log.release.in_(releases)
    )
    logged = {(row.release, row.call): row for row in connection.execute(query)}
    for entry in history:
        if entry.kind == "charge":
            row = logged.pop((entry.release, entry.payload["call"]), None)
            if row is None:
                raise broken(account, entry.seq, "the outcome that it charges is not in the log")
            if (row.account, row.seq, row.request) != (
                account,
                entry.seq,
                entry.payload["request"],
            ):
                raise broken(account, entry.seq, "the outcome that it charges was changed")
    for release, call in sorted(logged):
        raise LedgerError(
            f"ledger account {account!r}: no entry charges the logged outcome of release "
            f"{release!r}, call {call!r}; find out who can write to the database"
        )
