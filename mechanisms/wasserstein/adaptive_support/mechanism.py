"""Adaptive support: count on the grid that suits how many of its points are occupied.

Claim.   A run is epsilon-differentially private, epsilon = `plan.budget.epsilon`. For records along
         a set of dimension s its mean Wasserstein error is of order (1 / (epsilon n))^(1/(s + 1)),
         up to logarithms, without knowing s.
Source.  "Certified private data release for sparse Lipschitz functions" (AISTATS 2024), Theorems 3
         and 4.
Proof.   adaptive_support.md, beside this file.
"""

from dataclasses import dataclass

import numpy as np

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.contract import Certificate, Measurements, SyntheticMeasure
from hallmark.mechanisms.execution import INLINE, Execution
from hallmark.mechanisms.geometry.paths import snake
from hallmark.mechanisms.geometry.simplex import project_on_simplex
from hallmark.mechanisms.privacy.calls import Measuring
from hallmark.mechanisms.request import Request
from hallmark.mechanisms.wasserstein.adaptive_support.certify import certify
from hallmark.mechanisms.wasserstein.adaptive_support.plan import (
    HISTOGRAM_CALL,
    SUPPORT_CALL,
    AdaptiveSupportPlan,
    make_plan,
)
from hallmark.mechanisms.wasserstein.single_histogram.records import (
    public_records,
    records_along,
    refuse_no_rows,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Selection:
    """The noisy numbers of occupied points, and the candidate that they speak for."""

    sizes: tuple[Counts, ...]  # of shape (1,), one a candidate
    candidate: int


class AdaptiveSupport:
    """Counts on a grid that is chosen by a private look at the support, in pure epsilon.

    Parameter, optional: `selection_share`, the part of epsilon that the choice costs.
    """

    name = "adaptive-support"

    def plan(self, request: Request) -> AdaptiveSupportPlan:
        """See `make_plan`."""
        return make_plan(request)

    def select(self, curator: Measuring, plan: AdaptiveSupportPlan) -> Selection:
        """The candidate with the least bound, from noisy numbers of occupied points."""
        sizes = tuple(curator.histograms(SUPPORT_CALL, plan.size_queries))
        return Selection(sizes=sizes, candidate=plan.chosen(sizes, curator.total()))

    def measure(
        self, curator: Measuring, plan: AdaptiveSupportPlan, selection: Selection
    ) -> Measurements:
        """The histogram of the chosen grid, after the numbers that it was chosen by."""
        tables = curator.histograms(HISTOGRAM_CALL, plan.queries(selection.candidate))
        return Measurements(
            tables={SUPPORT_CALL: selection.sizes, HISTOGRAM_CALL: tuple(tables)},
            total=curator.total(),
        )

    def generate(
        self,
        plan: AdaptiveSupportPlan,
        measurements: Measurements,
        *,
        rows: int | None,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> SyntheticMeasure:
        """The projected histogram as records: as many as were measured, or `rows` of them.

        Where the number of records comes out as 0 or less, all rows are one public record.

        Raises:
            ValueError: `rows` is below 1.
        """
        refuse_no_rows(rows)
        execution.progress(0.0, "projecting the noisy counts")
        answers = plan.answers(measurements)
        grid = plan.candidates[answers.candidate]
        history = {"points": list(grid.shape), "noisy_occupied_points": answers.occupied}
        if answers.total <= 0:
            return public_records(plan.domain, rows or 1, history)
        projection = project_on_simplex(answers.histogram, float(answers.total))
        execution.progress(0.5, "rounding to records")
        points = records_along(snake(grid.shape), projection.masses, rows or answers.total)
        execution.progress(1.0, "records made")
        return SyntheticMeasure(
            codes=grid.codes(points), history=history | {"threshold": projection.threshold}
        )

    def certify(
        self,
        plan: AdaptiveSupportPlan,
        measurements: Measurements,
        synthetic: SyntheticMeasure,
        *,
        confidence: float,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> Certificate:
        """See `mechanisms.wasserstein.adaptive_support.certify.certify`."""
        return certify(
            plan, measurements, synthetic, confidence=confidence, rng=rng, compute=execution.compute
        )
