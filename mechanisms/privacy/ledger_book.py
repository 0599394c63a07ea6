"""The state of one account, folded from its entries: caps, reservations, charges, balances.

Claim.   After any lawful sequence of entries, the budgets of all reservations that are not
         cancelled sum to at most the cap, in epsilon and in delta. By basic composition, all that
         was released on the account together satisfies differential privacy with the cap.
Law.     A reservation is "reserved" until its first charge, and "spent", in full, from then on and
         for ever. Only a reservation without charges can be cancelled; then it may be made again.
         What became of a reserved release may be unknown, so it counts against the cap as well.
Within.  A reservation may be made under an allowance, such as a month of a release calendar: those
         under the same allowance that are not cancelled sum to at most what each of them states.
Reuse.   Writing an entry and reading it back both go through `Book.apply`, so the ledger cannot
         write what it would later refuse to read, and `verify` checks the law along with the chain.
Source.  Basic composition with adaptively chosen budgets: Rogers, Roth, Ullman, Vadhan (2016),
         arXiv:1605.08294, the privacy filter that sums epsilons and deltas.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple, final

from mechanisms.privacy.adjacency import Adjacency, Neighbours
from mechanisms.privacy.budget import Budget
from mechanisms.privacy.events import Event, events_from_json
from mechanisms.privacy.ledger_chain import Entry, broken, genesis
from mechanisms.privacy.ledger_errors import BudgetRefused, LedgerError

Pair = tuple[Fraction, Fraction]
"""Epsilon and delta; unlike a `Budget` it may be zero."""

STATEMENTS = ("request", "decision", "override", "publish")
"""Kinds of entries that say who asked for, granted or overrode what, and that a release is about to
be published; they move no budget."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What releases of one kind may reserve together, such as those of one month."""

    name: str
    budget: Budget


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """Budget set aside for one release. `binding` is a digest of what the release may ask."""

    account: str
    release: str
    budget: Budget
    state: Literal["reserved", "spent", "cancelled"]
    binding: str
    allowance: str | None = None  # the name of the allowance that it counts against


class LoggedCall(NamedTuple):
    """One curator call of a release, as it was charged."""

    call: str
    request: str  # digest of what was asked
    events: tuple[Event, ...]
    at: str  # UTC, ISO 8601


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A release that may draw: its open reservation, and all that is charged to it.

    Attributes:
        adjacency: relation and unit of the account.
    """

    reservation: Reservation
    adjacency: Adjacency
    events: tuple[Event, ...]

    def charged(self, events: Iterable[Event]) -> "Standing":
        """The same with these events charged besides."""
        return replace(self, events=(*self.events, *events))


@dataclass(frozen=True, kw_only=True)
class AccountState:
    """Terms and balance of one account at one moment. Every pair is (epsilon, delta), exact."""

    name: str
    adjacency: Adjacency
    cap: Budget
    spent: Pair  # reservations with at least one charge, in full
    reserved: Pair  # open reservations without any charge
    opened_at: str  # UTC, ISO 8601
    entries: int  # length of the chain
    head: str  # hash of its last entry; anchors all of them when written down elsewhere

    @property
    def neighbours(self) -> Neighbours:
        """The neighbouring relation that all epsilons of the account are stated under."""
        return self.adjacency.neighbours

    @property
    def unit(self) -> str:
        """The privacy unit, such as "record" or "person of at most 5 records"."""
        return self.adjacency.unit

    @property
    def remaining(self) -> Pair:
        """What can still be reserved: the cap less all that is spent or reserved."""
        taken = _sum([self.spent, self.reserved])
        return self.cap.epsilon - taken[0], self.cap.delta - taken[1]


@final
class Book:
    """One account, folded entry by entry. `apply` refuses an entry that breaks the law."""

    def __init__(self, account: str) -> None:
        self.account = account
        self.reservations: dict[str, Reservation] = {}
        # Sums of the budgets that are not given back, by state and by allowance.
        self._sums: dict[tuple[str, str | None], Pair] = {}
        self._calls: dict[str, dict[str, LoggedCall]] = {}
        self._statements: dict[str, list[Entry]] = {}
        self._terms: tuple[Adjacency, Budget, str] | None = None  # None until it is opened
        self._last: Entry | None = None

    @classmethod
    def replay(cls, account: str, entries: Iterable[Entry]) -> "Book":
        """The book after `entries`.

        Raises:
            LedgerError: names the first entry that breaks the law or cannot be read.
        """
        book = cls(account)
        for entry in entries:
            try:
                book.apply(entry)
            except (LedgerError, KeyError, TypeError, ValueError) as error:
                raise broken(account, entry.seq, f"a {entry.kind!r} entry, {error}") from error
        return book

    def apply(self, entry: Entry) -> None:
        """Take one more entry in, or raise `LedgerError` and stay as before."""
        payload, release = entry.payload, entry.release or ""
        if (self._terms is None) != (entry.kind == "open"):
            raise LedgerError(f"account {self.account!r} must be opened first, and only once")
        match entry.kind:
            case "open":
                adjacency = Adjacency(
                    neighbours=Neighbours(payload["neighbours"]),
                    records=payload["records"],
                    person=payload["person"],
                )
                self._terms = adjacency, budget_from_json(payload["cap"]), entry.at
            case "cap":
                self._set_cap(budget_from_json(payload["cap"]))
            case "reserve":
                self._reserve(
                    release,
                    budget_from_json(payload["budget"]),
                    payload["binding"],
                    allowance_from_json(payload.get("allowance")),
                )
            case "charge":
                self._charge(release, payload, entry.at)
            case "cancel":
                self._cancel(release)
            case kind if kind in STATEMENTS:
                self._state(release, entry)
            case _:
                raise LedgerError(
                    f"entries of kind {entry.kind!r} are unknown here: use the version of hallmark "
                    "that wrote it, or a newer one"
                )
        self._last = entry

    @property
    def head(self) -> tuple[int, str]:
        """Number of entries, and the hash that the next one follows."""
        if self._last is None:
            return 0, genesis(self.account)
        return self._last.seq, self._last.hash

    @property
    def state(self) -> AccountState:
        """Terms and balance. Raises `LedgerError` where the account has no entries."""
        if self._terms is None:
            raise LedgerError(f"account {self.account!r} has no entries")
        adjacency, cap, opened_at = self._terms
        entries, head = self.head
        return AccountState(
            name=self.account,
            adjacency=adjacency,
            cap=cap,
            spent=self._sum_of("state", "spent"),
            reserved=self._sum_of("state", "reserved"),
            opened_at=opened_at,
            entries=entries,
            head=head,
        )

    def calls(self, release: str) -> list[LoggedCall]:
        """What was charged to a release, in order."""
        return list(self._calls.get(release, {}).values())

    def events(self, release: str) -> tuple[Event, ...]:
        """What those calls were charged as."""
        return tuple(event for logged in self.calls(release) for event in logged.events)

    def statements(self, release: str) -> list[Entry]:
        """What was stated about a release, in order."""
        return list(self._statements.get(release, ()))

    def open_reservation(self, release: str) -> Reservation:
        """The reservation that a release may be charged to.

        Raises:
            LedgerError: there is none, or it was cancelled.
        """
        reservation = self.reservations.get(release)
        if reservation is None or reservation.state == "cancelled":
            what = "has no reservation" if reservation is None else "was cancelled"
            raise LedgerError(
                f"release {release!r} {what} on account {self.account!r}, so nothing may be drawn "
                "for it; reserve its budget first, by starting the release again"
            )
        return reservation

    def standing(self, release: str) -> Standing:
        """What a release may be charged to, and was. Raises as `open_reservation`."""
        return Standing(
            reservation=self.open_reservation(release),
            adjacency=self.state.adjacency,
            events=self.events(release),
        )

    def _put(self, reservation: Reservation) -> None:
        """Set the reservation in the place of what the release had, in the sums as well."""
        before = self.reservations.get(reservation.release)
        for one, sign in ((before, -1), (reservation, 1)):
            if one is not None and one.state != "cancelled":
                for key in (("state", one.state), ("allowance", one.allowance)):
                    epsilon, delta = self._sum_of(*key)
                    self._sums[key] = (
                        epsilon + sign * one.budget.epsilon,
                        delta + sign * one.budget.delta,
                    )
        self.reservations[reservation.release] = reservation

    def _sum_of(self, kind: str, name: str | None) -> Pair:
        return self._sums.get((kind, name), (Fraction(0), Fraction(0)))

    def _set_cap(self, cap: Budget) -> None:
        state = self.state
        epsilon, delta = _sum([state.spent, state.reserved])
        if cap.epsilon < epsilon or cap.delta < delta:
            raise LedgerError(
                f"account {self.account!r}: the cap cannot be {shown(cap)}, since "
                f"{shown((epsilon, delta))} is spent or reserved; set it to at least that, or "
                "cancel unused reservations first"
            )
        self._terms = state.adjacency, cap, state.opened_at

    def _reserve(
        self, release: str, budget: Budget, binding: str, allowance: Allowance | None
    ) -> None:
        existing = self.reservations.get(release)
        if existing is not None and existing.state != "cancelled":
            raise LedgerError(f"release {release!r} has a reservation already")
        epsilon, delta = self.state.remaining
        if budget.epsilon > epsilon or budget.delta > delta:
            raise BudgetRefused(
                f"account {self.account!r}: release {release!r} asks for "
                f"{shown(budget)}, but only {shown((epsilon, delta))} is left of the cap "
                f"{shown(self.state.cap)}; ask for less, cancel a reservation "
                "that is not used, or have the cap raised"
            )
        if allowance is not None:
            self._refuse_beyond(allowance, release, budget)
        self._put(
            Reservation(
                account=self.account,
                release=release,
                budget=budget,
                state="reserved",
                binding=binding,
                allowance=allowance.name if allowance else None,
            )
        )

    def _refuse_beyond(self, allowance: Allowance, release: str, budget: Budget) -> None:
        taken = self._sum_of("allowance", allowance.name)
        epsilon, delta = _sum([taken, (budget.epsilon, budget.delta)])
        if epsilon > allowance.budget.epsilon or delta > allowance.budget.delta:
            raise BudgetRefused(
                f"account {self.account!r}: release {release!r} asks for {shown(budget)}, but "
                f"{allowance.name!r} allows {shown(allowance.budget)}, of which {shown(taken)} is "
                "taken; ask for less, wait for the next period, or have its budget raised"
            )

    def _state(self, release: str, entry: Entry) -> None:
        if release not in self.reservations:
            raise LedgerError(
                f"release {release!r} has no reservation on account {self.account!r}, so nothing "
                "can be requested or decided about it; start the release first"
            )
        self._statements.setdefault(release, []).append(entry)

    def _charge(self, release: str, payload: Mapping[str, Any], at: str) -> None:
        reservation = self.open_reservation(release)
        call = LoggedCall(
            payload["call"], payload["request"], events_from_json(payload["events"]), at
        )
        if not call.events:
            raise LedgerError(f"release {release!r}, call {call.call!r}: a draw without a charge")
        if call.call in self._calls.get(release, {}):
            raise LedgerError(f"release {release!r}, call {call.call!r}: charged twice")
        self._calls.setdefault(release, {})[call.call] = call
        if reservation.state != "spent":
            self._put(replace(reservation, state="spent"))

    def _cancel(self, release: str) -> None:
        reservation = self.open_reservation(release)
        if reservation.state == "spent":
            raise LedgerError(
                f"release {release!r} cannot be cancelled: noise was drawn for it, and a draw is "
                f"never refunded; its {shown(reservation.budget)} stays spent"
            )
        self._put(replace(reservation, state="cancelled"))


def budget_to_json(budget: Budget) -> dict[str, str]:
    """Plain JSON of a budget, exact."""
    return {"epsilon": str(budget.epsilon), "delta": str(budget.delta)}


def budget_from_json(row: Mapping[str, str]) -> Budget:
    """Inverse of `budget_to_json`."""
    return Budget(epsilon=Fraction(row["epsilon"]), delta=Fraction(row["delta"]))


def allowance_to_json(allowance: Allowance) -> dict[str, Any]:
    """Plain JSON of an allowance, exact."""
    return {"name": allowance.name, "budget": budget_to_json(allowance.budget)}


def allowance_from_json(row: Mapping[str, Any] | None) -> Allowance | None:
    """Inverse of `allowance_to_json`; None where there is none."""
    if row is None:
        return None
    return Allowance(name=row["name"], budget=budget_from_json(row["budget"]))


def shown(budget: Budget | Pair) -> str:
    """An (epsilon, delta) for people: decimals where they are exact, else the fraction."""
    pair = (budget.epsilon, budget.delta) if isinstance(budget, Budget) else budget
    epsilon, delta = (_decimal(value) for value in pair)
    return f"epsilon {epsilon}, delta {delta}"


def _decimal(value: Fraction) -> str:
    short = f"{float(value):g}"
    return short if Fraction(short) == value else str(value)


def _sum(pairs: Iterable[Pair]) -> Pair:
    rows = list(pairs)
    return sum((e for e, _ in rows), Fraction(0)), sum((d for _, d in rows), Fraction(0))
