"""The stages after planning, for mechanisms that measure one histogram over all columns."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hallmark.mechanisms.certificates.family import certify_family_and_columns
from hallmark.mechanisms.certificates.joint import jointly, no_wider
from hallmark.mechanisms.contract import Certificate, Measurements, SyntheticMeasure
from hallmark.mechanisms.execution import INLINE, Execution
from hallmark.mechanisms.privacy.calls import Measuring
from hallmark.mechanisms.request import Request
from hallmark.mechanisms.wasserstein.single_histogram.plan import HistogramPlan
from hallmark.mechanisms.wasserstein.single_histogram.records import (
    public_records,
    records_along,
    refuse_no_rows,
)
from hallmark.mechanisms.wasserstein.single_histogram.release import CALL, estimated, nearest


@dataclass(frozen=True)
class HistogramMechanism:
    """A mechanism of the house that differs from its like in the plan alone.

    Attributes:
        name: as a release spec gives it.
        make_plan: takes the arguments of `plan` but for the public records.
    """

    name: str
    make_plan: Callable[..., HistogramPlan]

    def plan(self, request: Request) -> HistogramPlan:
        """See `make_plan` of the mechanism."""
        return self.make_plan(request)

    def select(self, curator: Measuring, plan: HistogramPlan) -> None:
        """Nothing is left to choose: the plan says what is measured."""

    def measure(self, curator: Measuring, plan: HistogramPlan, selection: None) -> Measurements:
        """All parts of the histogram's measurement in one call."""
        tables = curator.histograms(CALL, plan.queries) if plan.queries else []
        return Measurements(tables={CALL: tuple(tables)}, total=curator.total())

    def generate(
        self,
        plan: HistogramPlan,
        measurements: Measurements,
        *,
        rows: int | None,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> SyntheticMeasure:
        """Records of the projected distribution: as many as were measured, or `rows` of them.

        Where the number of records comes out as 0 or less, all rows are one public record.

        Raises:
            ValueError: `rows` is below 1.
        """
        refuse_no_rows(rows)
        execution.progress(0.0, "projecting the noisy histogram")
        estimate = estimated(plan, measurements)
        records, grid = round(float(estimate.total)), plan.design.grid
        history = {"measured_records": records, "points": grid.size}
        if records < 1:
            return public_records(plan.domain, rows or 1, history)
        projected = nearest(plan, estimate)
        execution.progress(0.8, "rounding to records")
        points = records_along(plan.design.space.order, projected.shares, rows or records)
        execution.progress(1.0, "records made")
        return SyntheticMeasure(
            codes=grid.codes(points), history=history | {"projected_by": projected.moved}
        )

    def certify(
        self,
        plan: HistogramPlan,
        measurements: Measurements,
        synthetic: SyntheticMeasure,
        *,
        confidence: float,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> Certificate:
        """All columns jointly by exact transport, and every column; see `certificates.family`."""
        certificate = certify_family_and_columns(
            plan.domain,
            plan.estimator,
            estimated(plan, measurements),
            synthetic.codes,
            confidence=confidence,
            compute=execution.compute,
            rng=rng,
        )
        block, *columns = certificate.bounds
        joint = jointly(block)
        return replace(certificate, bounds=(joint, *no_wider(columns, joint)))
