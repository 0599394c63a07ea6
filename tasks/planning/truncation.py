"""Which of a person's records are kept, where a release protects persons.

Everybody who looks at such a table, to code it, to check it or to compare with it, leaves out the
same records: those beyond the first ones of a person, in the order of the source.
"""

from collections import Counter
from collections.abc import Mapping
from hashlib import blake2b

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import AnyCodes

PERSON = "person"
LOTS = ("lot", "lot of equals")


def keys(codes: AnyCodes, persons: pd.Series, *, ordered: bool) -> pd.DataFrame:
    """What decides on every record of a batch.

    Args:
        codes: of the records, shape (n, columns).
        persons: who owns each of them, shape (n,).
        ordered: whether the source has an order of its own, as a database has not.
    """
    order = {} if ordered else _lots(codes.astype(np.int16), persons)
    return pd.DataFrame({PERSON: persons, **order})


def kept(everyone: pd.DataFrame, records: int) -> NDArray[np.bool_]:
    """Which records are among the `records` that are kept of their person, shape (n,): the first
    ones in the order of the source, or those with the smallest lots where it has no order.

    Which of a person's records are kept depends on that person's records alone, so that adding or
    removing one person changes nobody else's. In a database the place of a row, and the order in
    which a query gives rows, may depend on everybody's; lots do not. A record that names no person
    is not kept.

    Args:
        everyone: `keys` of all records, in the order of the source, with an index from 0.
    """
    ordered = everyone.sort_values(list(LOTS)) if LOTS[0] in everyone else everyone
    place = ordered.groupby(PERSON, sort=False).cumcount().sort_index()
    named = everyone[PERSON].notna().to_numpy()
    return np.asarray((place.to_numpy() < records) & named, dtype=np.bool_)


class LeftOut:
    """Counts records beyond those that are kept of their persons, batch by batch."""

    def __init__(self, records: int) -> None:
        self._records = records
        self._owned: Counter[str] = Counter()

    def see(self, persons: pd.Series) -> None:
        """Count the records of a batch by the persons that own them."""
        self._owned.update(persons.dropna().value_counts().to_dict())

    @property
    def count(self) -> int:
        """How many records of all batches are left out; internal, an exact count."""
        return sum(max(0, owned - self._records) for owned in self._owned.values())


def _lots(codes: NDArray[np.int16], persons: pd.Series) -> Mapping[str, NDArray[np.uint64]]:
    """A number for every record, which depends on that record and its person alone."""
    rows = zip(np.ascontiguousarray(codes), persons.fillna("").astype(str), strict=True)
    digests = b"".join(
        blake2b(row.tobytes() + person.encode(), digest_size=16).digest() for row, person in rows
    )
    return dict(zip(LOTS, np.frombuffer(digests, np.uint64).reshape(-1, 2).T, strict=True))
