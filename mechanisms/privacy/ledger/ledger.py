"""The ledger: how much budget each population has left, and everything ever drawn from its data.

Claim.   (1) The reservations of an account that are not cancelled compose to at most its cap, as
         `balance` says, whatever processes run concurrently and wherever they are killed.
         (2) Each (release, call) is charged once and has one outcome for ever; both become durable
         in one transaction before `record` returns, so no answer is uncharged and no charge lost.
         (3) Entries and outcomes cannot be changed through the database, and if its triggers were
         circumvented, the account is refused from then on.
Proof.   Writers of an account read its entries, decide and append under the account's lock
         (`database`); `book` decides what may be appended, also when reading back; the primary keys
         (account, seq) and (release, call) refuse a second entry or outcome even without the lock.
         Every transaction re-reads the whole chain (`chain`), of which no entry is replayed twice
         (`replayed`), and work that finds its result already written changes nothing, so it may
         always run again.
Oracle.  tests/mechanisms/privacy/test_ledger_chaos.py: processes that are killed at random and at
         stated points, on SQLite and PostgreSQL.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from sqlalchemy import Connection

from hallmark.mechanisms.privacy.account_filter import Filter
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.costs import Cost
from hallmark.mechanisms.privacy.costs import cost as cost_of
from hallmark.mechanisms.privacy.events import Event, events_to_json
from hallmark.mechanisms.privacy.ledger import copies, rows
from hallmark.mechanisms.privacy.ledger.book import (
    STATEMENTS,
    AccountState,
    Book,
    LoggedCall,
    ReleaseRecord,
    Standing,
)
from hallmark.mechanisms.privacy.ledger.chain import Entry, Head
from hallmark.mechanisms.privacy.ledger.database import Database
from hallmark.mechanisms.privacy.ledger.errors import AccountRefused, BudgetRefused, LedgerError
from hallmark.mechanisms.privacy.ledger.terms import (
    Allowance,
    Composition,
    Reservation,
    Terms,
    allowance_to_json,
    budget_to_json,
    cap_to_json,
    cost_to_json,
    filter_to_json,
    planned_to_json,
    shown,
    terms_to_json,
)
from hallmark.mechanisms.privacy.presence import Presence

__all__ = [
    "AccountState",
    "Allowance",
    "BudgetRefused",
    "Entry",
    "Head",
    "Ledger",
    "LedgerError",
    "LoggedCall",
    "ReleaseRecord",
    "Reservation",
    "Say",
    "Standing",
    "Witness",
]

Check = Callable[[Standing], None]
"""Raises if a release would cost more than it reserved, or has different terms."""

Say = Callable[[Sequence[Entry]], Mapping[str, Any]]
"""Gives the statement to enter after these statements; raises if it may no longer be made."""

Witness = Callable[[Head], None]
"""Records the heads of accounts out of reach of the database's owner."""

T = TypeVar("T")


class Ledger:
    """Accounts, reservations, charges and the measurement log, in one SQL database.

    Args:
        url: `sqlite:///path/to/file` (created with mode 0600) or `postgresql://user@host/name`;
            tables are created or migrated, also where many processes open it at once.
        witness: called with every new head, once it is durable and before anybody sees the new
            entries; must not raise, since the entries stay.
    Raises:
        LedgerError: here and in every method, also if the database cannot be reached, or if the
            account's entries were tampered with.
    """

    def __init__(self, url: str, witness: Witness | None = None) -> None:
        self._database = Database(url)
        self._witness = witness

    # Accounts

    def open_account(
        self,
        name: str,
        *,
        cap: Budget,
        adjacency: Adjacency,
        by: str,
        reason: str,
        composition: Composition = "sum",
        rho_cap: Fraction | None = None,
        presence: Presence | None = None,
    ) -> AccountState:
        """Open an account for one population; if it exists with these terms, change nothing.

        Args:
            name: of the people, not of a file; all releases about them share the account.
            cap: the most that may ever be spent on them.
            adjacency: relation and unit that every epsilon of the account is stated under.
            by, reason: who opens it and why, for the record.
            composition: how its releases compose; "zcdp" lets many Gaussian ones pass, "sum" is
                better for few, or where pure and Gaussian ones alternate.
            rho_cap: the most in zCDP, where the cap is to be that; `cap` is then what it implies.
            presence: in which periods of a series one unit may have records; needs `rho_cap`.
        Raises:
            LedgerError: it exists with other terms, or a name is empty or not printable.
        """
        _printable(account=name, by=by, reason=reason)
        asked = terms_to_json(
            Terms(
                adjacency=adjacency,
                cap=cap,
                composition=composition,
                opened_at="",
                rho_cap=rho_cap,
                presence=presence,
            )
        )

        def work(connection: Connection) -> AccountState:
            if name not in rows.account_names(connection):
                book = rows.insert_account(connection, name)
                rows.append(connection, book, "open", {"by": by, "reason": reason} | asked)
                return book.state
            book = rows.lock_book(connection, name)
            if terms_to_json(book.balance.terms) != asked:
                state = book.state
                raise AccountRefused(
                    f"account {name!r} exists, with cap {shown(state.cap)} under "
                    f"{state.adjacency}, composition {state.composition}, not {shown(cap)} under "
                    f"{adjacency}, composition {composition}. Its cap can be changed, by setting "
                    "it; relation, unit and the periods of a series cannot, since all that was "
                    "spent is stated under them"
                )
            return book.state

        return self._write(work)

    def set_cap(
        self, name: str, cap: Budget, *, by: str, reason: str, rho_cap: Fraction | None = None
    ) -> AccountState:
        """Raise or lower the cap of an account, never below what is spent or reserved."""
        _printable(by=by, reason=reason)
        asked = cap_to_json(cap, rho_cap)

        def work(connection: Connection) -> AccountState:
            book = rows.lock_book(connection, name)
            terms = book.balance.terms
            if cap_to_json(terms.cap, terms.rho_cap) != asked:
                payload = {"cap": asked, "by": by, "reason": reason}
                payload |= _recorded(book.balance.refitted(cap))
                rows.append(connection, book, "cap", payload)
            return book.state

        return self._write(work)

    def plan_series(
        self, name: str, planned: Mapping[str, Fraction], *, by: str, reason: str
    ) -> AccountState:
        """Give the periods of a series their shares of the cap; if they have them, change nothing.

        Args:
            planned: rho by the period's name, which no other period takes; of periods that are
                over, too, as long as they may still be released.
        Raises:
            LedgerError: the account keeps no series; the cap does not cover the plan together with
                what is taken; or a name is none of its periods.
        """
        _printable(by=by, reason=reason)
        asked = planned_to_json(planned)

        def work(connection: Connection) -> AccountState:
            book = rows.lock_book(connection, name)
            if planned_to_json(book.balance.planned) != asked:
                payload = {"planned": asked, "by": by, "reason": reason}
                rows.append(connection, book, "plan", payload)
            return book.state

        return self._write(work)

    def left_for(self, name: str, period: str) -> Fraction:
        """The rho that releases about a period of an account's series can still reserve.

        Raises:
            LedgerError: the account keeps no series, or this is none of its periods.
        """
        return self._database.read(
            lambda connection: rows.read_book(connection, name).balance.left_for(period)
        )

    def compose_by_zcdp(
        self, name: str, *, with_earlier: bool, by: str, reason: str
    ) -> AccountState:
        """Let a filter in zCDP admit the releases of an account whose budgets were added up so far.

        Args:
            with_earlier: the filter also admits the releases that have drawn, which may draw no
                more. The caller thereby states that none of them was chosen after seeing another:
                for sizes that depend on answers, only the sum is proved.
        Raises:
            LedgerError: it already composes by zCDP, has no delta, or does not fit in that way.
        """
        _printable(by=by, reason=reason)

        def work(connection: Connection) -> AccountState:
            book = rows.lock_book(connection, name)
            payload = {"composition": "zcdp", "by": by, "reason": reason}
            payload |= _recorded(book.reopening() if with_earlier else None)
            rows.append(connection, book, "composition", payload)
            return book.state

        return self._write(work)

    def account(self, name: str) -> AccountState:
        """Terms and balance of an account."""
        return self._database.read(lambda connection: rows.read_book(connection, name).state)

    def has_account(self, name: str) -> bool:
        """Whether there is an account of that name."""
        return name in self.account_names()

    def account_names(self) -> list[str]:
        """Names of all accounts, in order."""
        return self._database.read(rows.account_names)

    def accounts(self) -> list[AccountState]:
        """All accounts, by name."""

        def work(connection: Connection) -> list[AccountState]:
            names = rows.account_names(connection)
            return [rows.read_book(connection, name).state for name in names]

        return self._database.read(work)

    # Reservations

    def reserve(
        self,
        account: str,
        release: str,
        budget: Budget,
        *,
        adjacency: Adjacency,
        binding: str,
        allowance: Allowance | None = None,
        cost: Cost | None = None,
        period: str | None = None,
    ) -> Reservation:
        """Set budget aside for a release; if that was done before, return the reservation.

        Args:
            release: a name that is unique over the whole ledger.
            adjacency: relation and unit of the release's epsilon; must be the account's, since
                epsilons under different relations do not add up.
            binding: digest of the part of the plan that privacy depends on.
            allowance: a limit in addition to the account's cap, such as a month's budget.
            cost: the most that its events may cost together, which no charge may exceed.
            period: name of the period that it is about, where the account keeps a series; else it
                counts for nothing.
        Raises:
            BudgetRefused: spent, reserved and this budget together would exceed the cap, or
                reservations under the same allowance would exceed the allowance.
            LedgerError: there is no such account; its adjacency is different; or the release has a
                reservation on another account, for another budget or period, or bound to another
                plan.
        """
        _printable(release=release)

        def work(connection: Connection) -> Reservation:
            book = _claimed(connection, account, release, adjacency)
            existing = book.reservations.get(release)
            if existing is None or existing.state == "cancelled":
                payload = _reserving(book, budget, binding, allowance, cost, period)
                rows.append(connection, book, "reserve", payload, release)
            elif existing.proved:
                book.open_reservation(release)  # refuses, and says why
            elif (existing.budget, existing.binding) != (budget, binding) or (
                existing.period not in (None, period)
            ):
                what = f"{shown(existing.budget)}, not {shown(budget)}"
                if existing.period not in (None, period):
                    what = f"period {existing.period}, not {period}"
                elif existing.budget == budget:
                    what = (
                        "another plan (its data, columns, privacy, mechanism or approvals changed)"
                    )
                raise LedgerError(
                    f"release {release!r} has a reservation for {what}; go back to what it was "
                    "started with, or choose another name for a release with budget of its own"
                )
            return book.reservations[release]

        return self._write(work)

    def refuse_new(
        self,
        account: str,
        release: str,
        budget: Budget,
        *,
        adjacency: Adjacency,
        cost: Cost | None = None,
        period: str | None = None,
    ) -> None:
        """Refuse what `reserve` would refuse now of a release without a reservation; write nothing.

        Raises:
            BudgetRefused, LedgerError: as of `reserve`.
        """

        def work(connection: Connection) -> None:
            book = rows.read_book(connection, account)
            _refuse_other(book, rows.account_of(connection, release), release, adjacency)
            asked = _reserving(book, budget, "", None, cost, period)
            rows.next_entry(book, "reserve", asked, release)

        self._database.read(work)

    def prove(
        self,
        account: str,
        release: str,
        budget: Budget,
        *,
        adjacency: Adjacency,
        events: Sequence[Event],
        manifest: str,
        by: str,
        reason: str,
        period: str | None = None,
    ) -> Reservation:
        """Enter what a release spent and the ledger, put back from a copy, has forgotten.

        Its whole budget is spent, and nothing more may be drawn for it. If that was entered before,
        change nothing.

        Args:
            budget, adjacency, events: as the release's documents have them, which the caller has
                verified.
            manifest: digest of its manifest.
            period: that it is about, as for `reserve`.
        Raises:
            BudgetRefused: the cap does not cover it; it must be raised first.
            LedgerError: as for `reserve`; or a reservation that is still known was for another
                budget.
        """
        _printable(release=release, by=by, reason=reason)

        def work(connection: Connection) -> Reservation:
            book = _claimed(connection, account, release, adjacency)
            existing = book.reservations.get(release)
            if existing is None or not existing.proved:
                payload: dict[str, Any] = {
                    "budget": budget_to_json(budget),
                    "events": events_to_json(events),
                    "manifest": manifest,
                    "by": by,
                    "reason": reason,
                }
                if existing is None or existing.state == "cancelled":
                    payload |= _recorded(book.balance.opening(budget, cost_of(events)))
                payload |= _about(book, period)
                rows.append(connection, book, "proved", payload, release)
            return book.reservations[release]

        return self._write(work)

    def reservation(self, release: str) -> Reservation | None:
        """The reservation of a release, whatever its state; None if there never was one."""
        return self.records([release])[release].reservation

    def cancel(self, release: str, *, by: str, reason: str) -> None:
        """Give an unused reservation back; if that was done before, change nothing.

        Raises:
            LedgerError: there is no reservation; noise was drawn on it, which is never refunded; or
                the release was published.
        """
        _printable(by=by, reason=reason)

        def work(connection: Connection) -> None:
            book = rows.lock_book(connection, rows.reserved_account(connection, release))
            existing = book.reservations.get(release)
            unspent = existing is not None and existing.state == "reserved"
            if unspent and any(said.kind == "publish" for said in book.statements(release)):
                raise LedgerError(
                    f"release {release!r} cannot be cancelled: it was published, so its budget is "
                    "gone. If the ledger lacks what it drew, hallmark ledger restored enters it"
                )
            if existing is None or existing.state != "cancelled":
                rows.append(connection, book, "cancel", {"by": by, "reason": reason}, release)

        self._write(work)

    # Statements

    def state(self, release: str, kind: str, payload: Mapping[str, Any]) -> Entry:
        """Enter who asked for, granted or overrode something about a release; moves no budget.

        If the last such statement about the release is the same, change nothing.

        Args:
            kind: one of `book.STATEMENTS`.
            payload: plain JSON.
        Raises:
            LedgerError: the release never had a reservation, or the kind is unknown.
        """

        def work(connection: Connection) -> Entry:
            book = rows.lock_book(connection, rows.reserved_account(connection, release))
            said = [entry for entry in book.statements(release) if entry.kind == kind]
            if said and said[-1].said == payload:
                return said[-1]
            return rows.append(connection, book, kind, payload, release)

        _refuse_unknown(kind)
        return self._write(work)

    def state_next(self, release: str, kind: str, say: Say) -> Entry:
        """Enter a statement that depends on all earlier statements about a release.

        Args:
            kind: one of `book.STATEMENTS`.
            say: called under the lock with all statements about the release so far; returns the
                payload, plain JSON, or raises if the statement may no longer be made. It may be
                called more than once.
        Raises:
            LedgerError: as for `state`. Exceptions of `say` pass through. Nothing is written then.
        """
        tried: list[tuple[int, Mapping[str, Any]]] = []  # after how many statements, and what

        def work(connection: Connection) -> Entry:
            book = rows.lock_book(connection, rows.reserved_account(connection, release))
            before = book.statements(release)
            # An attempt may have been written although the connection was lost before the reply.
            for number, payload in tried:
                for entry in before[number:]:
                    if (entry.kind, entry.payload) == (kind, payload):
                        return entry
            payload = say(before)
            tried.append((len(before), payload))
            return rows.append(connection, book, kind, payload, release)

        _refuse_unknown(kind)
        return self._write(work)

    def statements(self, release: str) -> list[Entry]:
        """All statements about a release, in order; empty if it never had a reservation."""
        return self.records([release])[release].statements

    def records(self, releases: Collection[str]) -> dict[str, ReleaseRecord]:
        """What there is about several releases, as of one moment; reads every account once."""

        def work(connection: Connection) -> dict[str, ReleaseRecord]:
            accounts = rows.accounts_of(connection, releases)
            books = {
                account: rows.read_book(connection, account) for account in set(accounts.values())
            }
            return {
                release: books[accounts[release]].record(release)
                if release in accounts
                else ReleaseRecord(None, [])
                for release in releases
            }

        return self._database.read(work)

    # The measurement log

    def lookup(self, release: str, call: str, request: str) -> bytes | None:
        """The logged outcome of a call; None if there is none yet.

        Raises:
            LedgerError: the call was logged for another request.
        """
        return self._database.read(
            lambda connection: rows.read_outcome(connection, release, call, request)
        )

    def record(
        self,
        release: str,
        call: str,
        request: str,
        events: Sequence[Event],
        outcome: bytes,
        check: Check,
    ) -> bytes:
        """Charge a draw and log its outcome, in one transaction; or read back what was logged.

        Args:
            release, call: together they identify one draw for ever.
            request: digest of what was asked.
            events: what the draw is charged as; at least one.
            outcome: what was drawn; forgotten if another outcome is already logged.
            check: called under the lock with the release as it would be with these events; it may
                be called more than once.
        Returns:
            The outcome in the log, the only one that may be shown to anybody.
        Raises:
            LedgerError: the release has no open reservation, or the call was logged for another
                request. Exceptions of `check` pass through. Nothing is written then.
        """
        _printable(call=call)

        def work(connection: Connection) -> bytes:
            book = rows.lock_book(connection, rows.reserved_account(connection, release))
            logged = rows.read_outcome(connection, release, call, request)
            if logged is not None:
                return logged
            check(book.standing(release).charged(events))
            payload = {
                "call": call,
                "request": request,
                "events": events_to_json(events),
                "outcome": hashlib.sha256(outcome).hexdigest(),
            }
            entry = rows.append(connection, book, "charge", payload, release)
            rows.log_outcome(connection, entry, outcome)
            return outcome

        return self._write(work)

    def standing(self, release: str) -> Standing:
        """A release's open reservation and its charges. Raises if it has no open reservation."""

        def work(connection: Connection) -> Standing:
            account = rows.reserved_account(connection, release)
            return rows.read_book(connection, account).standing(release)

        return self._database.read(work)

    def events(self, release: str) -> tuple[Event, ...]:
        """All events charged to a release, in order. Raises if it never had a reservation."""

        def work(connection: Connection) -> tuple[Event, ...]:
            return rows.read_book(connection, rows.reserved_account(connection, release)).events(
                release
            )

        return self._database.read(work)

    def calls(self, release: str) -> list[LoggedCall]:
        """All calls charged to a release, in order. Raises if it never had a reservation."""

        def work(connection: Connection) -> list[LoggedCall]:
            return rows.read_book(connection, rows.reserved_account(connection, release)).calls(
                release
            )

        return self._database.read(work)

    # History

    def entries(self, account: str) -> list[Entry]:
        """The whole history of an account as stored, unchecked."""
        return self._database.read(lambda connection: rows.read_entries(connection, account))

    def history(self, account: str) -> tuple[AccountState, list[Entry]] | None:
        """Terms and balance of an account, and the checked entries that they follow from, as of
        one moment; None if there is no such account."""

        def work(connection: Connection) -> tuple[AccountState, list[Entry]] | None:
            if account not in rows.account_names(connection):
                return None
            book, entries = rows.read_history(connection, account)
            return book.state, entries

        return self._database.read(work)

    def hashes(self, account: str) -> list[str]:
        """Hashes of all entries of an account as stored, unchecked; none if it does not exist."""
        return self._database.read(lambda connection: rows.read_hashes(connection, account))

    def verify(self, account: str) -> None:
        """Check the chain, law and balances of an account, and the measurement log against them.

        Raises:
            LedgerError: names the first entry that is bad, or whose outcome is missing or changed.
        """
        self._database.read(lambda connection: rows.verify(connection, account))

    # Copies

    def copied(self, take: Callable[[Iterator[copies.Row]], T]) -> T:
        """What `take` makes of all rows, which are of one moment; see `copies`."""
        return self._database.read(lambda connection: take(copies.copied(connection)))

    def put_back(self, given: Callable[[], Iterable[copies.Row]]) -> None:
        """Write the rows of a copy, all or none.

        Args:
            given: the rows, again whenever it is called.
        Raises:
            LedgerError: as of `copies.put_back`.
        """
        self._database.write(lambda connection: copies.put_back(connection, given()))

    def _write(self, work: Callable[[Connection], T]) -> T:
        """Result of `work`, once it is durable and the witness has its new head, if any."""

        def with_head(connection: Connection) -> tuple[T, Head | None]:
            return work(connection), rows.appended(connection)

        result, head = self._database.write(with_head)
        if head is not None and self._witness is not None:
            self._witness(head)
        return result


def _reserving(
    book: Book,
    budget: Budget,
    binding: str,
    allowance: Allowance | None,
    cost: Cost | None,
    period: str | None,
) -> dict[str, Any]:
    """What the entry of a reservation says."""
    payload: dict[str, Any] = {"budget": budget_to_json(budget), "binding": binding}
    if allowance is not None:
        payload["allowance"] = allowance_to_json(allowance)
    if cost is not None:
        payload["cost"] = cost_to_json(cost)
    return payload | _recorded(book.balance.opening(budget, cost)) | _about(book, period)


def _about(book: Book, period: str | None) -> dict[str, str]:
    """The part of a payload that says which period of the account's series a release is about."""
    if book.balance.terms.presence is None or period is None:
        return {}
    return {"period": period}


def _recorded(opened: Filter | None) -> dict[str, Any]:
    """The part of a payload that records a filter, since floats may differ on another machine."""
    return {} if opened is None else {"filter": filter_to_json(opened)}


def _printable(**names: str) -> None:
    for what, name in names.items():
        if not name.isprintable() or not name.strip():
            raise AccountRefused(f"`{what}` must be printable and not empty; it is {name!r}")


def _claimed(connection: Connection, account: str, release: str, adjacency: Adjacency) -> Book:
    """The locked book of an account that is kept under this adjacency, and has this release."""
    book, holder = rows.lock_book(connection, account), rows.account_of(connection, release)
    _refuse_other(book, holder, release, adjacency)
    if holder is None:
        rows.insert_release(connection, release, account)
    return book


def _refuse_other(book: Book, holder: str | None, release: str, adjacency: Adjacency) -> None:
    """Refuse a release of another account, or stated under another adjacency."""
    account, kept = book.account, book.balance.terms.adjacency
    if kept != adjacency:
        raise LedgerError(
            f"account {account!r} is kept under {kept}, but release "
            f"{release!r} is stated under {adjacency}, and such epsilons do not add up; "
            "state the release under the account's relation and unit"
        )
    if holder not in (None, account):
        raise LedgerError(
            f"release {release!r} belongs to account {holder!r}, not {account!r}; names "
            "of releases are unique over the ledger, so choose another one"
        )


def _refuse_unknown(kind: str) -> None:
    if kind not in STATEMENTS:
        raise LedgerError(f"{kind!r} is no statement; the kinds are {', '.join(STATEMENTS)}")
