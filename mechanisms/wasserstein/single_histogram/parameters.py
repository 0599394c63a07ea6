"""Parameters that mechanisms over one histogram read from a spec."""

from collections.abc import Iterable, Mapping
from typing import Any

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.wasserstein.single_histogram.grid import Grid, grid, grids

AUTO = "auto"


def grids_asked_for(
    domain: Domain, parameters: Mapping[str, Any], *, most_points: int, most_tried: int
) -> Iterable[Grid]:
    """The grids that `cells` asks for: the one of so many cells a column, or all ("auto").

    Args:
        most_points: of a grid that is asked for.
        most_tried: of one that is found automatically.
    Raises:
        ValueError: `cells` is no positive number, or its grid has too many points.
    """
    cells = parameters.get("cells", AUTO)
    if cells == AUTO:
        return grids(domain, most_points=most_tried)
    if not isinstance(cells, int) or isinstance(cells, bool) or cells < 1:
        raise ValueError(
            f"mechanism.cells: {cells!r}; use 'auto' or a whole number of cells a column"
        )
    chosen = grid(domain, cells)
    if chosen.size > most_points:
        raise ValueError(
            f"mechanism.cells: {cells} a column make {chosen.size:,} points, and this mechanism "
            f"counts at most {most_points:,}; use fewer, or 'auto'"
        )
    return (chosen,)
