"""Steps that are kept are those of the plain fold, however chains grow, end or branch."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hallmark.mechanisms.privacy.ledger import steps as module
from hallmark.mechanisms.privacy.ledger.chain import Entry
from hallmark.mechanisms.privacy.ledger.history import Step, history
from hallmark.mechanisms.privacy.ledger.steps import steps
from tests.mechanisms.privacy.ledger.test_book import Line, cancelled, capped, charged, reserved
from tests.mechanisms.privacy.ledger.test_replayed import LINES, chained


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    forget()
    yield
    forget()


def forget() -> None:
    module._books.clear()
    module._steps.clear()


def plain(chain: list[Entry], first: int, last: int) -> list[Step]:
    return list(history("people", chain))[first:last]


READS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 30), st.integers(0, 30), st.integers(1, 5)),
    min_size=2,
    max_size=12,
)
"""Which of two chains, how many of its entries are there, where a page ends, and its length."""


@given(st.lists(LINES, max_size=25), st.lists(LINES, max_size=8), READS, st.integers(1, 9))
def test_whatever_is_kept_the_steps_are_those_of_the_chain(
    trunk: list[Line], branch: list[Line], reads: list[tuple[bool, int, int, int]], most: int
):
    forget()
    half = len(trunk) // 2
    chains = chained(trunk), chained(trunk[:half] + branch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MOST_STEPS", most)
        for which, length, end, page in reads:
            chain = chains[which][: length % len(chains[which]) + 1]
            last = end % len(chain) + 1
            first = max(0, last - page)
            assert steps("people", chain, first, last) == plain(chain, first, last)


@given(st.lists(LINES, max_size=25), st.integers(1, 5))
def test_a_chain_that_grows_is_told_entry_by_entry(lines: list[Line], page: int):
    forget()
    chain = chained(lines)
    for last in range(1, len(chain) + 1):
        first = max(0, last - page)
        assert steps("people", chain[:last], first, last) == plain(chain, first, last)


def test_a_chain_that_was_cut_off_and_went_on_otherwise_is_told_anew():
    begun = [reserved("r", "1/9"), reserved("s", "1/9")]
    before = chained([*begun, cancelled("r"), capped("1")])
    now = chained([*begun, charged("r"), capped("1")])
    steps("people", before, 0, 4)
    assert steps("people", now, 4, 5) == plain(now, 4, 5)
    assert steps("people", now, 2, 5) == plain(now, 2, 5)


def test_no_entry_is_told_twice_while_a_chain_grows(monkeypatch: pytest.MonkeyPatch):
    chain = chained([reserved("r", "1/9"), *(charged("r", call) for call in "abcdef")])
    told: list[int] = []
    applied = module.Book.apply

    def apply(book: module.Book, entry: Entry) -> None:
        told.append(entry.seq)
        applied(book, entry)

    monkeypatch.setattr(module.Book, "apply", apply)
    for last in range(4, len(chain) + 1):
        steps("people", chain[:last], last - 2, last)
    steps("people", chain, 4, 6)  # of which an earlier page told all
    assert told == [entry.seq for entry in chain]


def test_a_kept_book_is_never_changed():
    """Another thread may be copying it."""
    chain = chained([capped("1"), capped("2"), capped("1")])
    steps("people", chain[:2], 0, 2)
    kept = module._books["people"]
    steps("people", chain, 2, 4)
    assert kept.head == (2, chain[1].hash)


def test_older_steps_do_not_move_the_kept_book_back():
    chain = chained([capped("1"), capped("2"), capped("1")])
    steps("people", chain, 2, 4)
    steps("people", chain, 0, 2)
    assert module._books["people"].head == (4, chain[3].hash)


def test_only_so_many_steps_are_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_MOST_STEPS", 3)
    chain = chained([capped("1"), capped("2"), capped("1"), capped("2")])
    kept = []
    for last in range(1, 6):
        steps("people", chain, last - 1, last)
        kept.append(len(module._steps))
    assert kept == [1, 2, 3, 1, 2]


def test_only_so_many_accounts_are_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_MOST_BOOKS", 2)
    chain = chained([])
    monkeypatch.setattr(module, "_books", dict.fromkeys("ab", module.Book("others")))
    steps("people", chain, 0, 1)
    assert list(module._books) == ["people"]
