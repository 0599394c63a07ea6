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
from hallmark.mechanisms.wasserstein.single_histogram.release import estimated, generate, measure


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
        """See `mechanisms.wasserstein.single_histogram.release.measure`."""
        return measure(curator, plan)

    def generate(
        self,
        plan: HistogramPlan,
        measurements: Measurements,
        *,
        rows: int | None,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> SyntheticMeasure:
        """See `mechanisms.wasserstein.single_histogram.release.generate`."""
        return generate(plan, measurements, rows=rows, progress=execution.progress)

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
