"""What is kept of a chain is what replaying it gives, however chains grow, end or branch."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hallmark.mechanisms.privacy.ledger import replayed as module
from hallmark.mechanisms.privacy.ledger.balance import Balance
from hallmark.mechanisms.privacy.ledger.book import Book
from hallmark.mechanisms.privacy.ledger.chain import Entry, check_chain, entry_hash, genesis
from hallmark.mechanisms.privacy.ledger.errors import LedgerError
from hallmark.mechanisms.privacy.ledger.replayed import replayed
from tests.mechanisms.privacy.ledger.test_book import (
    Line,
    cancelled,
    capped,
    charged,
    opened,
    reserved,
)

LINES = st.one_of(
    st.builds(reserved, st.sampled_from("rst"), st.sampled_from(["1/9", "1/7"])),
    st.builds(charged, st.sampled_from("rst"), st.sampled_from("abc")),
    st.builds(cancelled, st.sampled_from("rst")),
    st.builds(capped, st.sampled_from(["1", "2"])),
    st.builds(lambda release: ("request", release, {"by": "ada"}), st.sampled_from("rst")),
)


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    module._kept.clear()
    yield
    module._kept.clear()


def chained(lines: list[Line]) -> list[Entry]:
    """Those of the lines, after an opening, that the law allows, as the chain that they make."""
    book, entries = Book("people"), []
    for kind, release, payload in [opened(), *lines]:
        fields: dict[str, Any] = {
            "account": "people",
            "seq": len(entries) + 1,
            "at": "2026-01-01T00:00:00+00:00",
            "kind": kind,
            "release": release,
            "payload": payload,
            "previous": entries[-1].hash if entries else genesis("people"),
        }
        entry = Entry(**fields, hash=entry_hash(**fields))
        try:
            book.apply(entry)
        except LedgerError:
            continue
        entries.append(entry)
    check_chain("people", entries, length=len(entries), head=entries[-1].hash)
    return entries


def told(book: Book) -> dict[str, Any]:
    """All that a book knows."""
    return vars(book) | {"_balance": vars(book.balance)}


@given(
    st.lists(LINES, max_size=25),
    st.lists(LINES, max_size=8),
    st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=10),
)
def test_whatever_is_kept_the_book_is_that_of_the_chain(
    trunk: list[Line], branch: list[Line], reads: list[tuple[bool, int]]
):
    module._kept.clear()
    half = len(trunk) // 2
    chains = chained(trunk), chained(trunk[:half] + branch)
    for which, length in reads:
        history = chains[which][: max(length, 1)]
        assert told(replayed("people", history)) == told(Book.replay("people", history))


@given(st.lists(LINES, max_size=25))
def test_a_copy_shares_nothing_that_changes(lines: list[Line]):
    book = Book.replay("people", chained(lines))
    copies = book.copy()
    assert told(copies) == told(book)

    def changing(one: object) -> Iterator[object]:
        for value in vars(one).values():
            if isinstance(value, dict | list | set | Balance):
                yield value
                if isinstance(value, dict):
                    yield from (each for each in value.values() if isinstance(each, dict | list))
            if isinstance(value, Balance):
                yield from changing(value)

    assert not {id(one) for one in changing(book)} & {id(one) for one in changing(copies)}


def test_what_a_caller_enters_is_not_kept():
    history = chained([reserved("r", "1/9")])
    book = replayed("people", history)
    (_, _, more) = chained([reserved("r", "1/9"), charged("r")])
    book.apply(more)
    assert replayed("people", history).reservations["r"].state == "reserved"
    assert replayed("people", [*history, more]).reservations["r"].state == "spent"


def test_a_lawless_entry_after_what_is_kept_is_refused_every_time():
    history = chained([reserved("r", "1/9")])
    replayed("people", history)
    fields = vars(history[-1]) | {"seq": 3, "previous": history[-1].hash}
    del fields["hash"]
    again = Entry(**fields, hash=entry_hash(**fields))
    for _ in range(2):
        with pytest.raises(LedgerError, match="entry 3: a 'reserve' entry"):
            replayed("people", [*history, again])
    assert replayed("people", history).head[0] == 2


def test_only_so_many_accounts_are_kept():
    for number in range(module._MOST + 5):
        fields: dict[str, Any] = {
            "account": f"people-{number}",
            "seq": 1,
            "at": "",
            "kind": "open",
            "release": None,
            "payload": opened()[2],
            "previous": genesis(f"people-{number}"),
        }
        replayed(f"people-{number}", [Entry(**fields, hash=entry_hash(**fields))])
        assert len(module._kept) <= module._MOST
    assert f"people-{number}" in module._kept
