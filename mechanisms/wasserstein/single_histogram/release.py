"""From the answers of a `HistogramPlan` to a distribution.

Claim.   With n public, W1 between the private histogram's distribution and the projected one is at
         most twice the cost of evening out the noise, over n, in every run.
Proof.   psmm.md for projections in W1, superregular.md for those along the path.
Oracle.  tests/mechanisms/wasserstein/psmm/test_mechanism.py and
         tests/mechanisms/wasserstein/superregular/test_mechanism.py check it in every run.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.blocks.estimate import FamilyEstimate
from hallmark.mechanisms.contract import Measurements
from hallmark.mechanisms.geometry.line import path_loss
from hallmark.mechanisms.geometry.projection import project, project_on_path
from hallmark.mechanisms.wasserstein.single_histogram.plan import HistogramPlan

CALL = "histogram"


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
    return nearest(plan, estimate)


def nearest(plan: HistogramPlan, estimate: FamilyEstimate) -> Distribution:
    """The projection of an estimate whose number of records is positive."""
    space, given = plan.design.space, estimate.tables[0] / float(estimate.total)
    if plan.projection == "transport":
        projection = project(space, given)
        return Distribution(shares=projection.masses, moved=projection.distance)
    shares = np.empty(space.size)
    shares[space.order] = project_on_path(space.gaps, given[space.order])
    return Distribution(shares=shares, moved=float(path_loss(space, given - shares)))
