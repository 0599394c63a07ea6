"""Steps of a history that this process has told before, so that no entry is told twice.

Claim.   For a chain that `chain.check_chain` has accepted, `steps` gives those of `history`.
Proof.   A step is a function of its entry and of all entries before it, and the entry's hash covers
         both. So, unless SHA-256 collides, a step that is kept under a hash is that of every chain
         with an entry of this hash. A kept book is continued as `replayed` does, by a copy.
Limits.  What is asked for first is folded from the beginning, as is an older page than the kept
         book whose steps nobody has asked for.
Oracle.  tests/mechanisms/privacy/ledger/test_steps.py: equal to `history` on random histories that
         grow, are cut off and branch, whatever part of them is asked for.
"""

from collections.abc import Sequence

from hallmark.mechanisms.privacy.ledger.book import Book
from hallmark.mechanisms.privacy.ledger.chain import Entry
from hallmark.mechanisms.privacy.ledger.history import Step, step
from hallmark.mechanisms.privacy.ledger.replayed import begins_with

_MOST_BOOKS = 64  # accounts; then all begin anew
_MOST_STEPS = 6_400
_books: dict[str, Book] = {}  # by account; threads share both: each use is one operation on them
_steps: dict[str, Step] = {}  # by the hash of the entry


def steps(account: str, chain: Sequence[Entry], first: int, last: int) -> list[Step]:
    """Steps of the entries `chain[first:last]` of a chain that was checked.

    Args:
        chain: the account's whole history.
    Raises:
        LedgerError: an entry breaks the law of accounts.
    """
    found: list[Step] = []
    for entry in chain[first:last]:
        if (kept := _steps.get(entry.hash)) is None:
            return found + _told(account, chain, first + len(found), last)
        found.append(kept)
    return found


def _told(account: str, chain: Sequence[Entry], first: int, last: int) -> list[Step]:
    """The same steps, told anew and kept."""
    kept = _books.get(account)
    if kept is not None and not begins_with(chain, kept):
        kept = None
    book = Book(account) if kept is None or kept.head[0] > first else kept.copy()
    book.continued(chain[book.head[0] : first])
    told = [step(book, entry) for entry in chain[first:last]]
    if len(_steps) + len(told) > _MOST_STEPS:
        _steps.clear()
    _steps.update((one.entry.hash, one) for one in told)
    if kept is None or kept.head[0] < last:
        if account not in _books and len(_books) >= _MOST_BOOKS:
            _books.clear()
        _books[account] = book
    return told
