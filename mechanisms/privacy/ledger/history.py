"""An account's history for people: what each entry was about, and the balance after it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.book import AccountState, Book
from hallmark.mechanisms.privacy.ledger.chain import Entry


@dataclass(frozen=True, kw_only=True)
class Step:
    """One entry, and the state of the account after it.

    Attributes:
        budget: the cap that the entry sets, or the budget that it reserves, begins to spend or
            gives back; None if it moves no budget, such as the second draw of a release.
        reason: the reason that its writer gave; for a draw, the call that was answered.
        state: state of the account after the entry.
    """

    entry: Entry
    budget: Budget | None
    reason: str
    state: AccountState

    @property
    def by(self) -> str:
        """Who wrote the entry or signed it; empty where a run did."""
        said = _said(self.entry)
        return str(said.get("by", said.get("person", "")))


def history(account: str, entries: Iterable[Entry]) -> Iterator[Step]:
    """The entries of an account, folded one by one.

    Raises:
        LedgerError: an entry breaks the law of accounts.
    """
    book = Book(account)
    for entry in entries:
        yield step(book, entry)


def step(book: Book, entry: Entry) -> Step:
    """The step of the next entry of a book, which is applied to the book.

    Raises:
        LedgerError: the entry breaks the law of accounts.
    """
    drawn_before = bool(book.calls(entry.release or ""))
    book.apply(entry)
    return Step(
        entry=entry,
        budget=None if drawn_before and entry.kind == "charge" else _budget(book, entry),
        reason=_reason(entry),
        state=book.state,
    )


def _budget(book: Book, entry: Entry) -> Budget | None:
    match entry.kind:
        case "open" | "cap":
            return book.state.cap
        case "reserve" | "charge" | "cancel" | "proved":
            return book.reservations[entry.release or ""].budget
    return None


def _reason(entry: Entry) -> str:
    if entry.kind == "charge":
        return str(entry.payload["call"])
    return str(_said(entry).get("reason", ""))


def _said(entry: Entry) -> Mapping[str, Any]:
    said: Mapping[str, Any] = entry.payload.get("decision", entry.payload)  # signed, if decided
    return said
