"""Neighbouring relation, privacy unit, and how much one unit can change a histogram.

Claim.   For neighbouring tables, the histogram of any map from records to cells changes by at most
         `l1` in L1 norm and at most the square root of `l2_squared` in L2 norm.
Proof.   A unit owns at most `records` records (m below). Add/remove: up to m appear or vanish;
         L1 <= m, and by the triangle inequality L2 <= m, attained when all share one cell.
         Replace one: up to m vanish and up to m appear; L1 <= 2m, and L2^2 <= 2 m^2, attained by
         two cells. (In a single cell the changes cancel: see `transforms.Total`.)
Oracle.  tests/mechanisms/privacy/test_adjacency.py enumerates all neighbours of tiny tables.
"""

from dataclasses import dataclass
from enum import StrEnum


class Neighbours(StrEnum):
    """The relation under which two private tables are neighbours."""

    REPLACE_ONE = "replace_one"  # one unit's records change arbitrarily
    ADD_REMOVE = "add_remove"  # one unit's records appear or vanish


@dataclass(frozen=True, kw_only=True)
class Adjacency:
    """A neighbouring relation together with the privacy unit that it protects.

    `records` is the most records that one unit owns (1 if the unit is a record); code that makes an
    `Adjacency` with more than one must enforce the bound by truncation before counting. `person`
    names what identifies the person (or household, ...) if that is the unit; None if the unit is a
    record. Epsilons for different units do not add up, so units with different `person` differ.
    """

    neighbours: Neighbours
    records: int = 1
    person: str | None = None

    def __post_init__(self) -> None:
        if self.records < 1:
            raise ValueError(f"a privacy unit owns at least one record, not {self.records}")

    @property
    def l1(self) -> int:
        """L1 sensitivity of one histogram, records."""
        return self.records * (2 if self.neighbours is Neighbours.REPLACE_ONE else 1)

    @property
    def l2_squared(self) -> int:
        """Squared L2 sensitivity of one histogram, records^2."""
        return self.records**2 * (2 if self.neighbours is Neighbours.REPLACE_ONE else 1)

    @property
    def unit_moves(self) -> int | None:
        """The number of cells of one histogram that change, each by exactly one; else None.

        Known only when the unit is a record. It lets the accountant use the privacy loss of single
        integer steps, which is tighter than that of the L2 norm alone.
        """
        return self.l1 if self.records == 1 else None

    @property
    def total_is_public(self) -> bool:
        """Whether all neighbours have the same number of records, so that releasing it is free.

        Never if the unit is a person: persons own at most `records` records, and some own fewer.
        """
        by_record = self.records == 1 and self.person is None
        return self.neighbours is Neighbours.REPLACE_ONE and by_record

    def weighted_sum(self, lowest: int, highest: int) -> int:
        """Sensitivity of a sum over all records of weights between `lowest` and `highest`.

        Add/remove: at most m weights appear or vanish. Replace one: if the unit is a record, one
        weight becomes another; else up to m weights vanish and up to m appear, and either number
        may be zero, so that 0 counts among the weights.
        """
        if self.neighbours is Neighbours.ADD_REMOVE:
            return self.records * max(highest, -lowest, 0)
        if self.total_is_public:
            return highest - lowest
        return self.records * (max(highest, 0) - min(lowest, 0))

    @property
    def unit(self) -> str:
        """The unit by which neighbours differ: a record, or a person with at most m records."""
        if self.records == 1 and self.person is None:
            return "record"
        named = f" (by {self.person})" if self.person else ""
        return f"person{named} of at most {self.records} records"

    def __str__(self) -> str:
        return f"{self.neighbours.value}, {self.unit}"
