"""Division of a public interval into cells, with exact edges.

A cell may be divided further, at round numbers or days, into the pieces in which a column is
measured by itself.

Cells are half open, [edge i, edge i + 1). An interval of whole numbers from minimum to maximum
inclusive is divided as [minimum, maximum + 1), so that the number of values in every cell equals
its width. The last cell of a real interval includes the maximum.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from itertools import count, cycle, pairwise
from math import ceil, floor, log10

MAX_CELLS = 4096
"""Most cells of one column; beyond that, the noise of a marginal drowns every count."""

MOST_VALUES = 2**17
"""Most values of a column that are counted one by one, each column by itself."""

Edges = tuple[Fraction, ...]
"""Edges of consecutive cells in ascending order, one more than there are cells."""


def equal_cells(start: Fraction, stop: Fraction, cells: int, *, step: Fraction | None) -> Edges:
    """Edges of `cells` cells over [start, stop), equal in width.

    With a `step`, edges are multiples of it, so widths may differ by one.
    """
    span = stop - start
    edges = (start + span * i / cells for i in range(cells + 1))
    return tuple(edge if step is None else edge // step * step for edge in edges)


def cells_of_width(start: Fraction, stop: Fraction, width: Fraction) -> Edges:
    """Edges of cells of the given width, starting at `start`; the last cell ends at `stop`."""
    inner = (start + width * i for i in range(ceil((stop - start) / width)))
    return (*inner, stop)


@dataclass(frozen=True, kw_only=True)
class Division:
    """The interval [start, stop), cut at given edges, or into cells of a width or of a number."""

    start: Fraction
    stop: Fraction
    cells: int | None = None
    width: Fraction | None = None
    given: Edges | None = None

    @property
    def size(self) -> int:
        """The number of cells, without making them."""
        if self.given is not None:
            return len(self.given) - 1
        return self.cells or ceil((self.stop - self.start) / (self.width or 1))

    def edges(self, step: Fraction | None) -> Edges:
        """Edges of the cells; with a `step`, those of cells of a number are multiples of it."""
        if self.given is not None:
            return (*self.given[:-1], self.stop)
        if self.width is not None:
            return cells_of_width(self.start, self.stop, self.width)
        assert self.cells is not None, "one of the three was checked to be given"
        return equal_cells(self.start, self.stop, self.cells, step=step)


def divided(edges: Edges, most: int, *, grid: Fraction | None) -> Edges:
    """Edges of the pieces of all cells, at most `most` pieces of each.

    Cells are cut at the multiples of the smallest of 1, 2, 5, 10, ... units for which the pieces
    are so few. With a `grid`, of which values are multiples, a round number is a piece of its own,
    for people round; a cell of no more than `most` values is cut into all of them.
    """
    return _cut(edges, most, lambda low, high: _round_cuts(low, high, most, grid))


def divided_days(edges: Edges, most: int, epoch: date) -> Edges:
    """As `divided`, of days since `epoch`: at all days, or else where months or years begin."""
    return _cut(edges, most, lambda low, high: _first_days(low, high, epoch))


def _cut(
    edges: Edges, most: int, cuts: Callable[[Fraction, Fraction], Iterable[Iterable[Fraction]]]
) -> Edges:
    """The edges, and in every cell the first of its sets of cuts that makes few enough pieces."""
    found: set[Fraction] = set(edges)
    for low, high in pairwise(edges):
        every = ({cut for cut in some if low < cut < high} for some in cuts(low, high))
        found |= next((inside for inside in every if len(inside) < most), set())
    return tuple(sorted(found))


def kinds_of_pieces(shared: Edges, pieces: Edges, *, grid: Fraction | None) -> tuple[int, ...]:
    """A number for every piece, the same for those that people round alike.

    Pieces are alike where their cells are cut at multiples of the same unit, and they hold one
    value of the same roundness (0, then multiples of 1, 5, 10, 50, ... steps of the grid), or all
    values between such.
    """
    starts, ends = pieces[:-1], pieces[1:]
    firsts = [bisect_left(pieces, edge) for edge in shared]
    kinds: list[tuple[Fraction, Fraction]] = []
    for first, stop in pairwise(firsts):
        widths = [
            high - low for low, high in zip(starts[first:stop], ends[first:stop], strict=True)
        ]
        alone = [low for low in starts[first:stop] if low + (grid or 0) in ends[first:stop]]
        unit = min((b - a for a, b in pairwise(alone)), default=max(widths))
        kinds += [
            (unit, _roundness(low, grid) if grid == width else Fraction(-1))
            for low, width in zip(starts[first:stop], widths, strict=True)
        ]
    known = {kind: number for number, kind in enumerate(sorted(set(kinds)))}
    return tuple(known[kind] for kind in kinds)


def _roundness(value: Fraction, grid: Fraction) -> Fraction:
    """The largest of 1, 5, 10, 50, ... steps of the grid that divides the value; 0 for 0."""
    if value == 0:
        return Fraction(0)
    largest = step = grid
    factors = cycle((5, 2))
    while (step := step * next(factors)) <= abs(value):
        if value % step == 0:
            largest = step
    return largest


def _round_cuts(
    low: Fraction, high: Fraction, most: int, grid: Fraction | None
) -> Iterator[Iterable[Fraction]]:
    """Cuts of one cell at round numbers, ever fewer."""
    width, smallest = high - low, grid or Fraction(1)
    decade = smallest * Fraction(10) ** floor(log10(width / most / smallest))
    for unit in (decade * 10**i * times for i in count() for times in (1, 2, 5)):
        if unit > width:
            break
        if width / unit <= most and (grid is None or unit >= grid):
            multiples = [unit * i for i in range(ceil(low / unit), ceil(high / unit))]
            yield multiples if grid in (None, unit) else _alone(multiples, smallest)


def _first_days(low: Fraction, high: Fraction, epoch: date) -> Iterator[Iterable[Fraction]]:
    """Cuts of one cell at all days, around first days of months, and of years."""
    days = {Fraction(day): epoch + timedelta(days=day) for day in range(int(low), int(high))}
    yield days
    yield _alone((number for number, day in days.items() if day.day == 1), Fraction(1))
    begins = (number for number, day in days.items() if (day.month, day.day) == (1, 1))
    yield _alone(begins, Fraction(1))


def _alone(values: Iterable[Fraction], grid: Fraction) -> Iterator[Fraction]:
    """Cuts that give each of these values a piece of its own."""
    for value in values:
        yield from (value, value + grid)
