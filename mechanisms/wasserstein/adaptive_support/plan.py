"""Plan adaptive support: which grids may be chosen, and the noise of choice and histogram.

Claim.   The curator's answers to `size_queries` and then to the `queries` of any one candidate are
         epsilon-differentially private under `AdaptiveSupportPlan.adjacency`, with epsilon exactly
         that of the budget.
Proof.   Every number of occupied points costs `adjacency.records / size_scale`, and they share a
         rational part of epsilon evenly; the rest is spent by the histogram, at the same scales
         whichever grid is chosen. Adaptive composition adds the two.
Source.  "Certified private data release for sparse Lipschitz functions" (AISTATS 2024), Theorem 3,
         whose budget is shared by d + 1 measures of which one is used.
Oracle.  tests/mechanisms/wasserstein/adaptive_support/test_plan.py enumerates all neighbours of
         small tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.certificates.joint import JOINT
from hallmark.mechanisms.contract import Forecast, Measurements, NoiseLine
from hallmark.mechanisms.privacy.events import Event, merged
from hallmark.mechanisms.privacy.queries import HistogramQuery, LaplaceNoise
from hallmark.mechanisms.privacy.transforms import Occupied, Total
from hallmark.mechanisms.request import Request, Requested
from hallmark.mechanisms.wasserstein.adaptive_support.support import expected_misfit
from hallmark.mechanisms.wasserstein.single_histogram.grid import Grid, grids

MOST_POINTS = 2**24  # of one grid: 128 MiB of counts, a few times that in use
SUPPORT_CALL = "support"  # of the numbers of occupied points
HISTOGRAM_CALL = "histogram"  # of what is asked of the chosen grid
SELECTION_SHARE = Fraction(1, 4)  # of epsilon, for choosing the grid; see adaptive_support.md
TOTAL_SHARE = Fraction(1, 20)  # of what the choice leaves, for a private number of records
_BYTES_PER_POINT = 48  # counts, noise, estimate, masses and their temporaries


@dataclass(frozen=True, eq=False, kw_only=True)
class Answers:
    """What was measured of the chosen grid. Public.

    Attributes:
        candidate: position of the grid.
        occupied: noisy number of its occupied points.
        histogram: noisy counts, shape (points,).
        total: number of records, noisy where it is private.
    """

    candidate: int
    occupied: int
    histogram: Counts
    total: int


@dataclass(frozen=True, eq=False, kw_only=True)
class AdaptiveSupportPlan(Requested):
    """What the curator will be asked, and what that costs. Every field is public.

    Attributes:
        candidates: the grids, from fine to coarse; all different.
        dimensions: for each of them, the dimensions s of the records' support it was made for.
        size_scale: noise scale of every candidate's number of occupied points.
        selection_share: part of epsilon that these numbers cost together.
        counts_scale: noise scale of every count of the histogram, records.
        total_scale: noise scale of the number of records; None where that is public.
    """

    candidates: tuple[Grid, ...]
    dimensions: tuple[tuple[int, ...], ...]
    size_scale: Fraction
    selection_share: Fraction
    counts_scale: Fraction
    total_scale: Fraction | None

    @property
    def mechanism(self) -> str:
        return "adaptive-support"

    @property
    def source(self) -> str:
        return (
            "Certified private data release for sparse Lipschitz functions (AISTATS 2024), "
            "Theorems 3 and 4, with one measure released instead of d + 1 and constants corrected"
        )

    @property
    def size_queries(self) -> tuple[HistogramQuery, ...]:
        """The number of occupied points of every candidate."""
        noise = LaplaceNoise(self.size_scale)
        return tuple(HistogramQuery(grid.cells, noise, Occupied()) for grid in self.candidates)

    def queries(self, candidate: int) -> tuple[HistogramQuery, ...]:
        """What is asked once the candidate is chosen: its histogram; then a private total."""
        cells = self.candidates[candidate].cells
        histogram = HistogramQuery(cells, LaplaceNoise(self.counts_scale))
        if self.total_scale is None:
            return (histogram,)
        return (histogram, HistogramQuery(cells, LaplaceNoise(self.total_scale), Total()))

    def bound(self, candidate: int, occupied: float, records: int) -> float:
        """Bound on the mean error of a candidate, were so many of its points occupied."""
        grid = self.candidates[candidate]
        misfit = expected_misfit(grid.size, occupied, float(self.counts_scale))
        return grid.radius + misfit / max(records, 1)

    def chosen(self, sizes: Sequence[Counts], total: int | None) -> int:
        """The candidate with the least bound, from the noisy numbers of occupied points."""
        records = self.expected_records if total is None else max(total, 1)
        bounds = []
        for candidate, size in enumerate(sizes):
            most = min(self.candidates[candidate].size, records)
            bounds.append(self.bound(candidate, min(max(int(size[0]), 1), most), records))
        return int(np.argmin(bounds))

    def answers(self, measurements: Measurements) -> Answers:
        """What the measurements say of the chosen grid."""
        sizes = measurements.tables[SUPPORT_CALL]
        histogram, *everyone = measurements.tables[HISTOGRAM_CALL]
        candidate = self.chosen(sizes, measurements.total)
        return Answers(
            candidate=candidate,
            occupied=int(sizes[candidate][0]),
            histogram=histogram,
            total=int(everyone[0][0]) if measurements.total is None else measurements.total,
        )

    @property
    def events(self) -> tuple[Event, ...]:
        """Events of the choice and of one histogram, which are the same for every candidate."""
        queries = (*self.size_queries, *self.queries(0))
        return merged(query.event(self.adjacency) for query in queries)

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        sizes = [
            NoiseLine.of(
                query,
                f"number of occupied points of the grid of {grid.size:,}",
                1,
                adjacency=self.adjacency,
                unit="points",
            )
            for grid, query in zip(self.candidates, self.size_queries, strict=True)
        ]
        largest = max(range(len(self.candidates)), key=lambda c: self.candidates[c].size)
        histogram, *everyone = self.queries(largest)
        name, cells = "histogram of the chosen grid, at most as large", histogram.cells.size
        return (
            *sizes,
            NoiseLine.of(histogram, name, cells, adjacency=self.adjacency),
            *(NoiseLine.of(q, "number of records", 1, adjacency=self.adjacency) for q in everyone),
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {
            "selection_share": str(self.selection_share),
            "size_scale": str(self.size_scale),
            "counts_scale": str(self.counts_scale),
            "total_scale": None if self.total_scale is None else str(self.total_scale),
            "candidates": [
                {"dimensions": list(dimensions), "points": list(grid.shape)}
                for grid, dimensions in zip(self.candidates, self.dimensions, strict=True)
            ],
        }

    def forecast(self) -> Forecast:
        """Bounds on the mean error by dimension of the records' support; the worst is stated."""
        n = self.expected_records
        by_dimension = {
            dimension: self.bound(candidate, occupied_points(grid, dimension, n), n)
            for candidate, grid in enumerate(self.candidates)
            for dimension in self.dimensions[candidate]
        }
        worst = min(
            self.bound(candidate, min(grid.size, n), n)
            for candidate, grid in enumerate(self.candidates)
        )
        listed = ", ".join(f"{s}: {min(1.0, b):.2g}" for s, b in sorted(by_dimension.items()))
        return Forecast(
            metric=f"{JOINT}, as a share of the diameter",
            expected_error=min(1.0, worst),
            statement=(
                "for records that fill the whole space; by dimension of the set that they occupy, "
                f"which is not known in advance, {listed}; up to the noise of the choice"
            ),
            memory_bytes=_BYTES_PER_POINT * max(grid.size for grid in self.candidates),
        )


def make_plan(request: Request) -> AdaptiveSupportPlan:
    """Spend exactly `budget.epsilon`; a delta in the budget stays unused. Public.

    Raises:
        ValueError: an unknown parameter, a share outside (0, 1), or a domain of too many
            combinations.
    """
    domain, budget, adjacency = request.domain, request.budget, request.adjacency
    request.refuse_unknown("adaptive-support", {"selection_share"})
    share = _share(request.parameters.get("selection_share", SELECTION_SHARE))
    total_share = 0 if adjacency.total_is_public else TOTAL_SHARE * (1 - share)
    counts_scale = adjacency.l1 / ((1 - share - total_share) * budget.epsilon)
    every = tuple(grids(domain, most_points=MOST_POINTS))
    chosen: dict[int, list[int]] = {}
    for dimension in range(len(domain) + 1):
        best = _best(every, dimension, float(counts_scale), request.expected_records)
        chosen.setdefault(best, []).append(dimension)
    candidates = tuple(every[position] for position in chosen)
    return AdaptiveSupportPlan(
        request=request,
        candidates=candidates,
        dimensions=tuple(tuple(dimensions) for dimensions in chosen.values()),
        size_scale=Occupied().l1(adjacency) * len(candidates) / (share * budget.epsilon),
        selection_share=share,
        counts_scale=counts_scale,
        total_scale=(
            Total().l1(adjacency) / (total_share * budget.epsilon) if total_share else None
        ),
    )


def _best(every: Sequence[Grid], dimension: int, scale: float, records: int) -> int:
    """Position of the grid that suits records along a set of so many dimensions."""
    bounds = []
    for grid in every:
        occupied = occupied_points(grid, dimension, records)
        bounds.append(grid.radius + expected_misfit(grid.size, occupied, scale) / records)
    return int(np.argmin(bounds))


def occupied_points(grid: Grid, dimension: int, records: int) -> float:
    """Points that records along a set of so many dimensions occupy: k^s of k^d, at most."""
    return min(float(grid.size ** (dimension / len(grid.axes))), float(records))


def _share(given: Any) -> Fraction:
    try:
        share = Fraction(str(given))
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share < 1:
        raise ValueError(
            f"mechanism.selection_share: {given!r}; give a number between 0 and 1, such as 0.25"
        )
    return share
