"""Books of chains that this process has replayed before, so that no entry is replayed twice.

Claim.   For a chain that `chain.check_chain` has accepted, `replayed` is `Book.replay`.
Proof.   A book is a function of its entries alone. A kept book is continued only where the chain
         has, at the place of the kept book's last entry, an entry with its hash. A hash covers the
         account, the content and the hash before it, and was computed from the content just read.
         So, unless SHA-256 collides, on which the chain rests anyway, the entries up to that place
         are those that the kept book was made of. Kept books are never changed: callers get copies.
Limits.  Entries are still read and hashed at every transaction; only the law is not applied anew.
Oracle.  tests/mechanisms/privacy/ledger/test_replayed.py: equal to `Book.replay` on random
         histories that grow, are cut off and branch; what is changed in place is still found.
"""

from collections.abc import Sequence

from hallmark.mechanisms.privacy.ledger.book import Book
from hallmark.mechanisms.privacy.ledger.chain import Entry

_MOST = 64  # accounts; then all begin anew
_kept: dict[str, Book] = {}  # threads share it: each use is one operation on it


def replayed(account: str, history: Sequence[Entry]) -> Book:
    """The book after all entries of a chain that was checked.

    Raises:
        LedgerError: as `Book.replay`.
    """
    kept = _kept.get(account)
    if kept is None or not begins_with(history, kept):
        book = Book.replay(account, history)
    elif kept.head[0] == len(history):
        return kept.copy()
    else:
        book = kept.copy().continued(history[kept.head[0] :])
    if account not in _kept and len(_kept) >= _MOST:
        _kept.clear()
    _kept[account] = book.copy()
    return book


def begins_with(history: Sequence[Entry], kept: Book) -> bool:
    """Whether the entries that a book was made of, at least one, are the first of a history."""
    number, last = kept.head
    return 0 < number <= len(history) and history[number - 1].hash == last
