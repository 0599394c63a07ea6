"""The state of one account, folded from its entries: caps, reservations, charges, balances.

Claim.   After any lawful sequence of entries, all releases on the account together satisfy
         differential privacy with the cap (`balance`).
Law.     A reservation is "reserved" until its first charge, and "spent", in full, from then on and
         for ever. Only a reservation without charges can be cancelled; then it may be made again.
         The fate of a reserved release may be unknown, so it also counts against the cap. If a
         reservation states what its release may cost, charges together cost no more.
Proved.  A ledger that was put back from a copy has forgotten draws. What a release proves to have
         spent is entered again as one charge of its whole budget, and closes it: a draw that the
         ledger has no outcome of would be drawn a second time.
Within.  A reservation may be made under an allowance, such as a month of a release calendar:
         reservations under the same allowance that are not cancelled sum to at most what each of
         them states.
Series.  A plan gives the periods of a series their shares of the cap (`balance`).
Reuse.   Writing an entry and reading it back both go through `Book.apply`, so the ledger cannot
         write what it would later refuse to read, and `verify` checks the law along with the chain.
"""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple, final

from hallmark.mechanisms.privacy.account_filter import Filter
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.costs import Cost, cost
from hallmark.mechanisms.privacy.events import Event, events_from_json
from hallmark.mechanisms.privacy.ledger.balance import Balance, added
from hallmark.mechanisms.privacy.ledger.chain import Entry, broken, genesis
from hallmark.mechanisms.privacy.ledger.errors import LedgerError
from hallmark.mechanisms.privacy.ledger.terms import (
    Allowance,
    Composition,
    Pair,
    Reservation,
    allowance_from_json,
    budget_from_json,
    composition_from_json,
    cost_from_json,
    filter_from_json,
    planned_from_json,
    rho_from_json,
    shown,
    terms_from_json,
)
from hallmark.mechanisms.privacy.presence import Presence

STATEMENTS = ("request", "decision", "override", "passage", "publish")
"""Kinds of entries that record who asked for, granted or overrode something, how a gate was passed,
and that a release is about to be published; they move no budget."""


class LoggedCall(NamedTuple):
    """One curator call of a release, as it was charged."""

    call: str
    request: str  # digest of what was asked
    events: tuple[Event, ...]
    at: str  # UTC, ISO 8601


class ReleaseRecord(NamedTuple):
    """What the ledger has about one release."""

    reservation: Reservation | None  # whatever its state; None if there never was one
    statements: list[Entry]  # in order


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A release that may draw: its open reservation, and everything charged to it.

    Attributes:
        adjacency: relation and unit of the account.
    """

    reservation: Reservation
    adjacency: Adjacency
    events: tuple[Event, ...]

    @property
    def within_cost(self) -> bool:
        """Whether the events cost at most what the account set aside for the release."""
        stated = self.reservation.cost
        return stated is None or stated.covers(cost(self.events))

    def charged(self, events: Iterable[Event]) -> "Standing":
        """The release with these events also charged."""
        return replace(self, events=(*self.events, *events))


@dataclass(frozen=True, kw_only=True)
class AccountState:
    """Terms and balance of one account at one moment. Every pair is (epsilon, delta), exact.

    Attributes:
        composition: how its releases compose, which decides how much can still be reserved.
        spent: sum of the full budgets of reservations with at least one charge; an upper bound on
            what was spent.
        reserved: sum of the budgets of open reservations without any charge.
        remaining: the budget that one more release can reserve. With a filter, roughly the epsilon
            of a Gaussian release at the cap's delta, which nothing uses up.
        share_left: share of the cap that remains, in the account's own currency, in [0, 1].
        composed: epsilon of all reservations together at the cap's delta, by zCDP, or as a sum if
            that is less; proved if no release was chosen after seeing another, whereas the cap is
            proved in any case. None if the cap has no delta.
        rho_cap: the most rho that may be spent; None if the cap is an epsilon.
        entries: length of the chain.
        head: hash of its last entry, which anchors all of them if recorded elsewhere.
        presence: in which periods of a series one unit may have records; None if it keeps none.
        planned, by_period: rho that periods of the series have, and that is taken, by their names.
    """

    name: str
    adjacency: Adjacency
    composition: Composition
    cap: Budget
    spent: Pair
    reserved: Pair
    remaining: Pair
    share_left: Fraction
    composed: float | None
    opened_at: str  # UTC, ISO 8601
    entries: int
    head: str
    rho_cap: Fraction | None = None
    presence: Presence | None = None
    planned: Mapping[str, Fraction] = field(default_factory=dict)
    by_period: Mapping[str, Fraction] = field(default_factory=dict)

    @property
    def neighbours(self) -> Neighbours:
        """The neighbouring relation under which all epsilons of the account are stated."""
        return self.adjacency.neighbours

    @property
    def unit(self) -> str:
        """The privacy unit, such as "record" or "person of at most 5 records"."""
        return self.adjacency.unit

    @property
    def taken(self) -> Pair:
        """The sum of all spent and reserved budgets."""
        return added([self.spent, self.reserved])


@final
class Book:
    """One account, folded entry by entry. `apply` refuses an entry that breaks the law."""

    def __init__(self, account: str) -> None:
        self.account = account
        self.reservations: dict[str, Reservation] = {}
        self._balance: Balance | None = None  # None until it is opened
        self._calls: dict[str, dict[str, LoggedCall]] = {}
        self._costs: dict[str, Cost] = {}  # of all that is charged to a release
        self._statements: dict[str, list[Entry]] = {}
        self._last: Entry | None = None

    @classmethod
    def replay(cls, account: str, entries: Iterable[Entry]) -> "Book":
        """The book after `entries`.

        Raises:
            LedgerError: names the first entry that breaks the law or cannot be read.
        """
        return cls(account).continued(entries)

    def continued(self, entries: Iterable[Entry]) -> "Book":
        """This book, after more entries. Raises as `replay` does."""
        for entry in entries:
            try:
                self.apply(entry)
            except (LedgerError, KeyError, TypeError, ValueError) as error:
                raise broken(self.account, entry.seq, f"a {entry.kind!r} entry, {error}") from error
        return self

    def copy(self) -> "Book":
        """A book that further entries change without changing this one."""
        made = copy(self)
        made.reservations = dict(self.reservations)
        made._balance = None if self._balance is None else self._balance.copy()
        made._calls = {release: dict(calls) for release, calls in self._calls.items()}
        made._costs = dict(self._costs)
        made._statements = {release: list(said) for release, said in self._statements.items()}
        return made

    def apply(self, entry: Entry) -> None:
        """Apply one more entry, or raise `LedgerError` and stay unchanged."""
        payload, release = entry.payload, entry.release or ""
        if (self._balance is None) != (entry.kind == "open"):
            raise LedgerError(f"account {self.account!r} must be opened first, and only once")
        match entry.kind:
            case "open":
                self._balance = Balance(self.account, terms_from_json(payload, entry.at))
            case "cap":
                self.balance.set_cap(
                    budget_from_json(payload["cap"]),
                    rho_from_json(payload["cap"]),
                    filter_from_json(payload.get("filter")),
                )
            case "composition":
                self._compose(
                    composition_from_json(payload["composition"]),
                    filter_from_json(payload.get("filter")),
                )
            case "plan":
                self.balance.set_plan(planned_from_json(payload["planned"]))
            case "reserve":
                self._reserve(
                    release,
                    budget_from_json(payload["budget"]),
                    payload["binding"],
                    allowance_from_json(payload.get("allowance")),
                    cost_from_json(payload.get("cost")),
                    filter_from_json(payload.get("filter")),
                    payload.get("period"),
                )
            case "charge":
                self._charge(release, payload, entry.at)
            case "cancel":
                self._cancel(release)
            case "proved":
                self._prove(
                    release,
                    budget_from_json(payload["budget"]),
                    events_from_json(payload["events"]),
                    payload["manifest"],
                    filter_from_json(payload.get("filter")),
                    payload.get("period"),
                    entry.at,
                )
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
        """Number of entries, and the hash that the next entry must name."""
        if self._last is None:
            return 0, genesis(self.account)
        return self._last.seq, self._last.hash

    @property
    def balance(self) -> Balance:
        """The account's balance. Raises `LedgerError` if the account has no entries."""
        if self._balance is None:
            raise LedgerError(f"account {self.account!r} has no entries")
        return self._balance

    @property
    def state(self) -> AccountState:
        """Terms and balance. Raises `LedgerError` if the account has no entries."""
        balance, terms = self.balance, self.balance.terms
        entries, head = self.head
        return AccountState(
            name=self.account,
            adjacency=terms.adjacency,
            composition=terms.composition,
            cap=terms.cap,
            rho_cap=terms.rho_cap,
            presence=terms.presence,
            planned=dict(balance.planned),
            by_period=dict(balance.by_period),
            spent=balance.spent,
            reserved=balance.reserved,
            remaining=balance.remaining,
            share_left=balance.share_left,
            composed=balance.composed,
            opened_at=terms.opened_at,
            entries=entries,
            head=head,
        )

    def calls(self, release: str) -> list[LoggedCall]:
        """The calls charged to a release, in order."""
        return list(self._calls.get(release, {}).values())

    def events(self, release: str) -> tuple[Event, ...]:
        """The events charged for a release's calls, in order."""
        return tuple(event for logged in self.calls(release) for event in logged.events)

    def record(self, release: str) -> ReleaseRecord:
        """What there is about a release."""
        return ReleaseRecord(self.reservations.get(release), self.statements(release))

    def statements(self, release: str) -> list[Entry]:
        """The statements about a release, in order."""
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
        if reservation.proved:
            raise LedgerError(
                f"release {release!r} was entered again from what it published, since the ledger "
                "had lost its draws, so nothing more may be drawn for it or given back; choose "
                "another name for a release with its own budget"
            )
        return reservation

    def standing(self, release: str) -> Standing:
        """A release's open reservation and its charges. Raises like `open_reservation`."""
        return Standing(
            reservation=self.open_reservation(release),
            adjacency=self.balance.terms.adjacency,
            events=self.events(release),
        )

    def _put(self, reservation: Reservation) -> None:
        """Replace the release's reservation, also in the balance."""
        self.balance.put(self.reservations.get(reservation.release), reservation)
        self.reservations[reservation.release] = reservation

    def reopening(self) -> Filter | None:
        """The filter that would admit all releases that have drawn; see `_compose`."""
        return self.balance.reopening(
            one for one in self.reservations.values() if one.state != "spent"
        )

    def _compose(self, composition: Composition, opened: Filter | None) -> None:
        """Compose by a filter from now on; `opened` also admits the releases that have drawn.

        These may then draw no more than they have.
        """
        if composition != "zcdp":
            raise LedgerError(
                f"account {self.account!r}: its composition cannot become {composition!r}"
            )
        standing = {
            one.release: replace(one, cost=self._costs[one.release], filtered=True)
            if opened is not None and one.state == "spent"
            else one
            for one in self.reservations.values()
        }
        self._balance = self.balance.refiltered(standing.values(), opened)
        self.reservations |= standing

    def _reserve(
        self,
        release: str,
        budget: Budget,
        binding: str,
        allowance: Allowance | None,
        stated: Cost | None,
        opened: Filter | None,
        about: str | None,
    ) -> None:
        existing = self.reservations.get(release)
        if existing is not None and existing.state != "cancelled":
            raise LedgerError(f"release {release!r} has a reservation already")
        if allowance is not None:
            self.balance.refuse_beyond(allowance, release, budget)
        admitted, filtered = self.balance.admit(release, budget, stated, opened, about)
        self._put(
            Reservation(
                account=self.account,
                release=release,
                budget=budget,
                state="reserved",
                binding=binding,
                allowance=allowance.name if allowance else None,
                period=about,
                cost=admitted,
                filtered=filtered,
            )
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
        whole = self._costs.get(release, Cost()) + cost(call.events)
        if reservation.cost is not None and not reservation.cost.covers(whole):
            raise LedgerError(
                f"release {release!r}, call {call.call!r}: it would cost more than the account set "
                "aside for the release"
            )
        self._costs[release] = whole
        self._calls.setdefault(release, {})[call.call] = call
        if reservation.state != "spent":
            self._put(replace(reservation, state="spent"))

    def _prove(
        self,
        release: str,
        budget: Budget,
        events: tuple[Event, ...],
        manifest: str,
        opened: Filter | None,
        about: str | None,
        at: str,
    ) -> None:
        existing, whole = self.reservations.get(release), cost(events)
        if not events:
            raise LedgerError(f"release {release!r}: a draw without a charge")
        if existing is None or existing.state == "cancelled":
            self._reserve(release, budget, manifest, None, whole, opened, about)
        elif existing.proved or (existing.budget, existing.period) != (budget, about):
            what = "was proved before" if existing.proved else f"has {shown(existing.budget)}"
            raise LedgerError(f"release {release!r} {what}, and cannot be proved for this budget")
        elif existing.cost is not None and not existing.cost.covers(whole):
            raise LedgerError(
                f"release {release!r} spent more than the account set aside for it, as it proves"
            )
        self._costs[release] = whole
        self._calls[release] = {"proved": LoggedCall("proved", manifest, events, at)}
        self._put(replace(self.reservations[release], state="spent", proved=True))

    def _cancel(self, release: str) -> None:
        reservation = self.open_reservation(release)
        if reservation.state == "spent":
            raise LedgerError(
                f"release {release!r} cannot be cancelled: noise was drawn for it, and a draw is "
                f"never refunded; its {shown(reservation.budget)} stays spent"
            )
        self._put(replace(reservation, state="cancelled"))
