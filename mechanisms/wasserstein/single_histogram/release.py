"""From the answers of a `HistogramPlan` to a distribution, to records, and to a certificate.

Claim.   With n public, W1 between the private histogram's distribution and the projected one is at
         most twice the cost of evening out the noise, over n, in every run.
Proof.   psmm.md for projections in W1, superregular.md for those along the path.
Oracle.  tests/mechanisms/wasserstein/psmm/test_mechanism.py and
         tests/mechanisms/wasserstein/superregular/ test_mechanism.py check it in every run.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.blocks.estimate import FamilyEstimate
from hallmark.mechanisms.contract import Measurements, SyntheticMeasure
from hallmark.mechanisms.execution import Progress
from hallmark.mechanisms.geometry.line import path_loss
from hallmark.mechanisms.geometry.projection import project, project_on_path
from hallmark.mechanisms.privacy.calls import Measuring
from hallmark.mechanisms.wasserstein.single_histogram.plan import HistogramPlan
from hallmark.mechanisms.wasserstein.single_histogram.records import (
    public_records,
    records_along,
    refuse_no_rows,
)

CALL = "histogram"


def measure(curator: Measuring, plan: HistogramPlan) -> Measurements:
    """All parts of the histogram's measurement in one call."""
    tables = curator.histograms(CALL, plan.queries) if plan.queries else []
    return Measurements(tables={CALL: tuple(tables)}, total=curator.total())


def estimated(plan: HistogramPlan, measurements: Measurements) -> FamilyEstimate:
    """The histogram and the number of records, from all that was measured."""
    return plan.estimator.estimate(measurements.tables[CALL], measurements.total)


@dataclass(frozen=True, eq=False, kw_only=True)
class Distribution:
    """A probability over the points, nearest to the estimate.

    Attributes:
        shares: shape (points,).
        moved: distance from the estimate, in the distance that the plan projects in.
    """

    shares: NDArray[np.float64]
    moved: float


def distribution(plan: HistogramPlan, measurements: Measurements) -> Distribution:
    """The noisy histogram's projection onto the probability measures over the grid's points.

    Raises:
        ValueError: the number of records came out as 0 or less.
    """
    estimate = estimated(plan, measurements)
    if not estimate.total > 0:
        raise ValueError(
            f"the number of records was measured as {float(estimate.total):g}, so there is "
            "nothing to share out; measure with more epsilon, or give records"
        )
    return _nearest(plan, estimate)


def generate(
    plan: HistogramPlan, measurements: Measurements, *, rows: int | None, progress: Progress
) -> SyntheticMeasure:
    """Records of the projected distribution: as many as were measured, or `rows` of them.

    Where the number of records comes out as 0 or less, all rows are one public record.

    Raises:
        ValueError: `rows` is below 1.
    """
    refuse_no_rows(rows)
    progress(0.0, "projecting the noisy histogram")
    estimate = estimated(plan, measurements)
    records, grid = round(float(estimate.total)), plan.design.grid
    history = {"measured_records": records, "points": grid.size}
    if records < 1:
        return public_records(plan.domain, rows or 1, history)
    nearest = _nearest(plan, estimate)
    progress(0.8, "rounding to records")
    points = records_along(plan.design.space.order, nearest.shares, rows or records)
    progress(1.0, "records made")
    return SyntheticMeasure(
        codes=grid.codes(points), history=history | {"projected_by": nearest.moved}
    )


def _nearest(plan: HistogramPlan, estimate: FamilyEstimate) -> Distribution:
    space, given = plan.design.space, estimate.tables[0] / float(estimate.total)
    if plan.projection == "transport":
        projection = project(space, given)
        return Distribution(shares=projection.masses, moved=projection.distance)
    shares = np.empty(space.size)
    shares[space.order] = project_on_path(space.gaps, given[space.order])
    return Distribution(shares=shares, moved=float(path_loss(space, given - shares)))
