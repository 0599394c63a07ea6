"""The law of an account, entry by entry, without a database."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import ExponentialMechanism, events_to_json
from hallmark.mechanisms.privacy.ledger.book import Book
from hallmark.mechanisms.privacy.ledger.chain import Entry, entry_hash
from hallmark.mechanisms.privacy.ledger.errors import BudgetRefused, LedgerError
from hallmark.mechanisms.privacy.ledger.terms import budget_from_json, budget_to_json, shown

Line = tuple[str, str | None, dict[str, Any]]

EVENTS = events_to_json([ExponentialMechanism(epsilon=Fraction(1, 3))])


def written(lines: list[Line]) -> list[Entry]:
    entries: list[Entry] = []
    for seq, (kind, release, payload) in enumerate(lines, start=1):
        fields: dict[str, Any] = {
            "account": "people",
            "seq": seq,
            "at": f"2026-01-01T00:00:{seq:02}+00:00",
            "kind": kind,
            "release": release,
            "payload": payload,
            "previous": "",
        }
        entries.append(Entry(**fields, hash=entry_hash(**fields)))
    return entries


def replayed(*lines: Line) -> Book:
    return Book.replay("people", written(list(lines)))


def budget(epsilon: str, delta: str = "0") -> dict[str, str]:
    return {"epsilon": epsilon, "delta": delta}


def opened(epsilon: str = "1", delta: str = "1/1000") -> Line:
    terms = {
        "cap": budget(epsilon, delta),
        "neighbours": "add_remove",
        "records": 5,
        "person": None,
    }
    return "open", None, terms


def capped(epsilon: str, delta: str = "0") -> Line:
    return "cap", None, {"cap": budget(epsilon, delta)}


def reserved(release: str, epsilon: str, delta: str = "0") -> Line:
    return "reserve", release, {"budget": budget(epsilon, delta), "binding": "plan"}


def charged(release: str, call: str = "a", events: list[dict[str, Any]] = EVENTS) -> Line:
    return "charge", release, {"call": call, "request": "q", "events": events}


def cancelled(release: str) -> Line:
    return "cancel", release, {}


def test_an_opened_account_states_its_terms():
    state = replayed(opened()).state
    assert (state.neighbours.value, state.unit) == ("add_remove", "person of at most 5 records")
    assert state.cap == Budget(epsilon=Fraction(1), delta=Fraction(1, 1000))
    assert state.opened_at == "2026-01-01T00:00:01+00:00"
    assert state.remaining == (1, Fraction(1, 1000))


def test_a_reservation_counts_in_full_before_and_after_its_first_charge():
    before = replayed(opened(), reserved("r", "1/3", "1/2000")).state
    after = replayed(opened(), reserved("r", "1/3", "1/2000"), charged("r"), charged("r", "b"))
    assert (before.spent, before.reserved) == ((0, 0), (Fraction(1, 3), Fraction(1, 2000)))
    assert (after.state.spent, after.state.reserved) == (before.reserved, (0, 0))
    assert before.remaining == after.state.remaining == (Fraction(2, 3), Fraction(1, 2000))


def test_a_cancelled_reservation_counts_no_more_and_can_be_made_again():
    book = replayed(
        opened(), reserved("r", "1"), cancelled("r"), reserved("s", "1/2"), reserved("r", "1/2")
    )
    assert book.state.remaining[0] == 0
    assert book.reservations["r"].state == "reserved"


def test_the_cap_can_be_met_exactly():
    thirds = [reserved(name, "1/3", "1/3000") for name in "rst"]
    assert replayed(opened(), *thirds).state.remaining == (0, 0)


@pytest.mark.parametrize(
    "over", [("10000000000000000001/10000000000000000000", "0"), ("1", "1/999")]
)
def test_a_reservation_over_the_cap_is_refused_in_epsilon_and_in_delta(over: tuple[str, str]):
    book = replayed(opened())
    (entry,) = written([reserved("r", *over)])
    with pytest.raises(BudgetRefused, match=r"only epsilon 1, delta 0\.001 is left"):
        book.apply(entry)
    assert not book.reservations


BROKEN: dict[str, tuple[list[Line], str]] = {
    "not opened": ([capped("1")], "must be opened first"),
    "opened twice": ([opened(), opened()], "only once"),
    "over the cap": ([opened(), reserved("r", "1"), reserved("s", "1/9")], "only epsilon 0"),
    "cap below reserved": (
        [opened(), reserved("r", "1/2"), capped("1/3")],
        "cannot be epsilon 1/3",
    ),
    "cap below spent delta": (
        [opened(), reserved("r", "1/2", "1/1000"), charged("r"), capped("1")],
        "since epsilon 0.5, delta 0.001 is spent or reserved",
    ),
    "reserved twice": ([opened(), reserved("r", "1/9"), reserved("r", "1/9")], "already"),
    "charge without reservation": ([opened(), charged("r")], "has no reservation"),
    "charge after cancel": (
        [opened(), reserved("r", "1"), cancelled("r"), charged("r")],
        "was cancelled",
    ),
    "charged twice": ([opened(), reserved("r", "1"), charged("r"), charged("r")], "charged twice"),
    "free draw": ([opened(), reserved("r", "1"), charged("r", events=[])], "without a charge"),
    "refund": ([opened(), reserved("r", "1"), charged("r"), cancelled("r")], "never refunded"),
    "cancel nothing": ([opened(), cancelled("r")], "has no reservation"),
    "cancel twice": ([opened(), reserved("r", "1"), cancelled("r"), cancelled("r")], "cancelled"),
    "unknown kind": ([opened(), ("refund", "r", {})], "kind 'refund' are unknown"),
    "unknown event": (
        [opened(), reserved("r", "1"), charged("r", events=[{"event": "magic"}])],
        "unknown privacy event 'magic'",
    ),
    "field missing": ([opened(), ("reserve", "r", {"binding": "plan"})], "'budget'"),
    "no budget": ([opened(), reserved("r", "0")], "epsilon must be positive"),
}


@pytest.mark.parametrize(("lines", "why"), BROKEN.values(), ids=BROKEN.keys())
def test_an_unlawful_entry_is_refused_and_named(lines: list[Line], why: str):
    replayed(*lines[:-1])  # lawful up to there
    with pytest.raises(LedgerError, match=rf"entry {len(lines)}: .*{why}"):
        replayed(*lines)


def test_a_refused_entry_leaves_the_book_as_it_was():
    book = replayed(opened(), reserved("r", "1/2"), charged("r"))
    before = book.state
    for line in (capped("1/4"), reserved("s", "1"), charged("r"), cancelled("r"), charged("s")):
        (entry,) = written([line])
        with pytest.raises(LedgerError):
            book.apply(entry)
    assert (book.state, len(book.calls("r"))) == (before, 1)


def test_events_come_back_exactly_and_in_order():
    third, half = (ExponentialMechanism(epsilon=Fraction(1, n)) for n in (3, 2))
    book = replayed(
        opened(), reserved("r", "1"), charged("r"), charged("r", "b", events_to_json([half]))
    )
    assert book.events("r") == (third, half)
    assert [(call, request, at) for call, request, _, at in book.calls("r")] == [
        ("a", "q", "2026-01-01T00:00:03+00:00"),
        ("b", "q", "2026-01-01T00:00:04+00:00"),
    ]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["cap", "reserve", "charge", "cancel"]),
            st.sampled_from("rst"),
            st.fractions(Fraction(1, 100), 1, max_denominator=1000),
            st.booleans(),
        ),
        max_size=30,
    )
)
def test_no_sequence_of_entries_passes_the_cap_or_refunds_a_draw(
    steps: list[tuple[str, str, Fraction, bool]],
):
    def taken(state: str) -> tuple[Fraction, Fraction]:
        budgets = [r.budget for r in book.reservations.values() if r.state == state]
        return sum((b.epsilon for b in budgets), Fraction(0)), sum(
            (b.delta for b in budgets), Fraction(0)
        )

    book, half = replayed(opened()), Fraction(1, 2)
    for step, (kind, name, size, allowed) in enumerate(steps):
        terms = {"budget": budget(str(size)), "cap": budget(str(size), "1/1000"), "binding": "p"}
        if allowed:
            terms["allowance"] = {"name": "may", "budget": budget(str(half), "1/1000")}
        call = {"call": str(step), "request": "q", "events": EVENTS}
        (entry,) = written([(kind, name, terms | call)])
        spent = book.state.spent
        try:
            book.apply(entry)
        except LedgerError:
            continue
        assert min(book.state.remaining) >= 0
        assert book.state.spent >= spent
        assert (book.state.spent, book.state.reserved) == (taken("spent"), taken("reserved"))
        standing = [r for r in book.reservations.values() if r.state != "cancelled"]
        assert sum(r.budget.epsilon for r in standing if r.allowance == "may") <= half


def test_budgets_are_stored_exactly():
    exact = Budget(epsilon=Fraction(1, 3), delta=Fraction(1, 100000))
    assert budget_to_json(exact) == {"epsilon": "1/3", "delta": "1/100000"}
    assert budget_from_json(budget_to_json(exact)) == exact


def test_a_budget_is_shown_as_a_decimal_only_where_that_is_exact():
    assert shown((Fraction(1, 2), Fraction(1, 100000))) == "epsilon 0.5, delta 1e-05"
    assert shown((Fraction(1, 3), Fraction(0))) == "epsilon 1/3, delta 0"
