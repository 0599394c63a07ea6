"""Whether the clocks that wrote the ledger can be believed; its chain holds whatever they said."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from hallmark.mechanisms.privacy.ledger.ledger import Entry

APART = timedelta(minutes=5)  # how far clocks of several machines may be apart


def written(entry: Entry) -> datetime:
    """When an entry was written, by the clock of its writer."""
    return datetime.fromisoformat(entry.at)


def set_back(entries: Sequence[Entry]) -> Iterator[str]:
    """A sentence for each entry of an account that is dated before the entry before it."""
    for before, entry in pairwise(entries):
        if written(entry) < written(before) - APART:
            yield (
                f"entry {entry.seq} of account {entry.account} is dated "
                f"{written(entry):%Y-%m-%d %H:%M} UTC, before entry {before.seq} "
                f"({written(before):%Y-%m-%d %H:%M} UTC)"
            )
