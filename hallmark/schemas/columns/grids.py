"""Division of a public interval into cells, with exact edges.

Cells are half open, [edge i, edge i + 1). An interval of whole numbers from minimum to maximum
inclusive is divided as [minimum, maximum + 1), so that the number of values in every cell equals
its width. The last cell of a real interval includes the maximum.
"""

from fractions import Fraction
from math import ceil

MAX_CELLS = 4096
"""Most cells of one column; beyond that, the noise of a marginal drowns every count."""

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
