"""An account's history: each entry with its budget, its reason and what was left after it."""

from fractions import Fraction
from pathlib import Path

import pytest

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import DiscreteLaplace
from hallmark.mechanisms.privacy.ledger.history import history
from hallmark.mechanisms.privacy.ledger.ledger import Ledger, LedgerError

ADJACENCY = Adjacency(neighbours=Neighbours.REPLACE_ONE)
ONE = Budget(epsilon=Fraction(1))


def entered(folder: Path) -> Ledger:
    """An account on which one release drew twice, and another was given up."""
    ledger = Ledger(f"sqlite:///{folder / 'ledger.db'}")
    cap = Budget(epsilon=Fraction(3))
    ledger.open_account("people", cap=cap, adjacency=ADJACENCY, by="Ada", reason="the board")
    for release in ("one", "two"):
        ledger.reserve("people", release, ONE, adjacency=ADJACENCY, binding="digest")
    event = DiscreteLaplace(scale=Fraction(4), l1=2)
    for call in ("first", "second"):
        ledger.record("one", call, "request", [event], b"noise", lambda standing: None)
    ledger.cancel("two", by="Bo", reason="not needed")
    ledger.set_cap("people", Budget(epsilon=Fraction(5, 2)), by="Ada", reason="less")
    return ledger


def test_each_entry_tells_its_budget_its_reason_and_what_was_left(tmp_path: Path) -> None:
    steps = history("people", entered(tmp_path).entries("people"))
    told = [
        (step.entry.kind, step.budget and step.budget.epsilon, step.reason, step.state.remaining[0])
        for step in steps
    ]
    assert told == [
        ("open", 3, "the board", 3),
        ("reserve", 1, "", 2),
        ("reserve", 1, "", 1),
        ("charge", 1, "first", 1),
        ("charge", None, "second", 1),
        ("cancel", 1, "not needed", 2),
        ("cap", Fraction(5, 2), "less", Fraction(3, 2)),
    ]


def test_the_last_entry_leaves_the_account_as_it_is(tmp_path: Path) -> None:
    ledger = entered(tmp_path)
    *_, last = history("people", ledger.entries("people"))
    assert last.state == ledger.account("people")


def test_a_history_that_breaks_the_law_is_refused(tmp_path: Path) -> None:
    first, *_, last = entered(tmp_path).entries("people")
    with pytest.raises(LedgerError):
        list(history("people", [first, first, last]))
