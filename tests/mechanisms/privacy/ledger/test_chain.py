"""The hash chain names the first entry that was tampered with, whatever was done to it."""

from dataclasses import replace
from typing import Any

import pytest

from hallmark.mechanisms.privacy.ledger.chain import (
    Entry,
    canonical,
    check_chain,
    entry_hash,
    genesis,
)
from hallmark.mechanisms.privacy.ledger.errors import LedgerError


def chain(length: int, account: str = "people") -> list[Entry]:
    entries: list[Entry] = []
    for seq in range(1, length + 1):
        fields: dict[str, Any] = {
            "account": account,
            "seq": seq,
            "at": f"2026-01-01T00:00:{seq:02}+00:00",
            "kind": "cap",
            "release": None,
            "payload": {"cap": {"epsilon": str(seq), "delta": "1/100000"}},
            "previous": entries[-1].hash if entries else genesis(account),
        }
        entries.append(Entry(**fields, hash=entry_hash(**fields)))
    return entries


def check(entries: list[Entry], intact: list[Entry]) -> None:
    check_chain("people", entries, length=len(intact), head=intact[-1].hash)


def test_an_intact_chain_passes():
    check(chain(5), chain(5))


def test_an_account_without_entries_passes():
    check_chain("people", [], length=0, head=genesis("people"))


@pytest.mark.parametrize(
    "change",
    [
        {"at": "2020-01-01T00:00:00+00:00"},
        {"kind": "reserve"},
        {"release": "another"},
        {"payload": {"cap": {"epsilon": "1000", "delta": "1/100000"}}},
        {"account": "others"},
        {"previous": "0" * 64},
        {"hash": "0" * 64},
        {"seq": 7},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_change_of_any_field_is_found_where_it_was_made(change: dict[str, Any]):
    entries = chain(5)
    entries[2] = replace(entries[2], **change)
    with pytest.raises(LedgerError, match="'people', entry 3: "):
        check(entries, chain(5))


@pytest.mark.parametrize(
    ("position", "found"),
    [(2, "entry 4: it does not follow"), (4, "entry 6: the account states 5 .* another head")],
)
def test_a_rewritten_entry_with_a_fitting_hash_is_found_by_what_follows(position: int, found: str):
    entries = chain(5)
    fields = vars(entries[position]) | {"kind": "reserve"}
    del fields["hash"]
    entries[position] = Entry(**fields, hash=entry_hash(**fields))
    with pytest.raises(LedgerError, match=found):
        check(entries, chain(5))


@pytest.mark.parametrize(("gone", "named"), [(0, 1), (2, 3), (4, 5)])
def test_a_removed_entry_is_found(gone: int, named: int):
    entries = chain(5)
    del entries[gone]
    with pytest.raises(LedgerError, match=f"entry {named}: "):
        check(entries, chain(5))


def test_an_added_entry_is_found_by_the_head():
    with pytest.raises(LedgerError, match="states 5 entries with another head"):
        check(chain(6), chain(5))


def test_swapped_entries_are_found():
    entries = chain(5)
    entries[1], entries[2] = entries[2], entries[1]
    with pytest.raises(LedgerError, match="entry 2: "):
        check(entries, chain(5))


def test_the_chain_of_another_account_is_no_chain_of_this_one():
    with pytest.raises(LedgerError, match="entry 1: it does not follow"):
        check(chain(5, "others"), chain(5, "others"))


def test_equal_payloads_have_one_text():
    assert canonical({"b": 1, "a": "é"}) == canonical({"a": "é", "b": 1}) == '{"a":"\\u00e9","b":1}'
