"""What the cells of a column are called, for people."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class CellNames:
    """Names of one column's cells, in their order.

    Attributes:
        column: name of the column.
        firsts, lasts: the first and the last value of every cell; alike where it holds one.
        ordered: whether several neighbouring cells are an interval rather than a list.
    """

    column: str
    firsts: tuple[str, ...]
    lasts: tuple[str, ...]
    ordered: bool = True

    @classmethod
    def of_codes(cls, column: str, cells: int) -> "CellNames":
        """Cells called by their codes."""
        codes = tuple(str(code) for code in range(cells))
        return cls(column, codes, codes)

    def run(self, start: int, stop: int) -> str:
        """The cells from `start` to before `stop`, such as `age 20 to 39` or `sex = 1`."""
        if stop <= start:
            return f"{self.column} in none"
        if stop - start > 1 and not self.ordered:
            return f"{self.column} in {{{', '.join(self.firsts[start:stop])}}}"
        first, last = self.firsts[start], self.lasts[stop - 1]
        return f"{self.column} = {first}" if first == last else f"{self.column} {first} to {last}"


def box_name(names: Sequence[CellNames], lower: Sequence[int], upper: Sequence[int]) -> str:
    """A box of cells for people, without the columns that it does not restrict."""
    runs = [
        name.run(int(start), int(stop))
        for name, start, stop in zip(names, lower, upper, strict=True)
        if stop - start < len(name.firsts)
    ]
    return ", ".join(runs) or "all records"
