"""Grant any mechanism's certificate a share of the budget: marginals measured for it alone.

Claim.   `WithShare` is private within its budget: the mechanism gets (1 - share) of
         epsilon and all of delta, the certificate's marginals and columns cost share times
         epsilon, purely. With the certificate's confidence the mechanism's own bounds and those of
         all marginals hold together.
Proof.   Epsilons of a composition add up (basic composition); besides, `plan` returns no plan whose
         events the accountant does not prove to fit the whole budget. The failure probability is
         shared evenly between the two groups of bounds. family.md holds for records of any origin.
Source.  "Certified private data release for sparse Lipschitz functions" (AISTATS 2024), Lemma 1,
         which asks nothing of how the synthetic data were made.
Oracle.  tests/mechanisms/certificates/test_with_share.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from hallmark.mechanisms.certificates.family import simulation_seconds
from hallmark.mechanisms.certificates.measured_marginals import (
    CERTIFICATE_CALL,
    MeasuredMarginals,
    marginals_within,
)
from hallmark.mechanisms.contract import (
    Certificate,
    Fit,
    Fitting,
    Forecast,
    Measurements,
    Mechanism,
    NoiseLine,
    Plan,
    SyntheticMeasure,
)
from hallmark.mechanisms.execution import INLINE, Execution
from hallmark.mechanisms.privacy.accountant import fits
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calls import AllCalls
from hallmark.mechanisms.privacy.events import Event, merged
from hallmark.mechanisms.request import Request, Requested

_FORECAST_CONFIDENCE = 0.95  # of a forecast, whatever is certified


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanWithShare(Requested):
    """The mechanism's plan with the certificate's marginals. Every field is public.

    Attributes:
        inner: what the mechanism does with its part of the budget.
        share_budget: what the marginals cost.
        measured: the marginals, and single columns where these make their bounds smaller.
    """

    inner: Plan
    share_budget: Budget
    measured: MeasuredMarginals

    @property
    def mechanism(self) -> str:
        return self.inner.mechanism

    @property
    def source(self) -> str:
        return self.inner.source

    @property
    def events(self) -> tuple[Event, ...]:
        return merged([*self.inner.events, *self.measured.events])

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        return (*self.inner.noise, *self.measured.noise)

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {
            **self.inner.parameters,
            "certificate": {"epsilon": str(self.share_budget.epsilon), **self.measured.parameters},
        }

    @property
    def in_batches(self) -> bool:
        return self.inner.in_batches

    def forecast(self) -> Forecast:
        """The mechanism's own, with what is certified of the marginals, and their memory."""
        inner, seconds = self.inner.forecast(), None
        if inner.seconds is not None:
            own = simulation_seconds(self.measured.family, _FORECAST_CONFIDENCE)
            seconds = replace(inner.seconds, certify=inner.seconds.certify + own)
        return replace(
            inner,
            seconds=seconds,
            memory_bytes=inner.memory_bytes + self.measured.memory_bytes,
            jointly=self.measured.forecast_marginals(self.expected_records),
        )


@dataclass(frozen=True)
class WithShare:
    """A mechanism of the house whose certificate has measurements of its own.

    Attributes:
        inner: the mechanism.
        share: part of epsilon for the certificate, in (0, 1).
        marginals: columns certified jointly.
        cells: of a line in these marginals; None chooses by forecast.
    """

    inner: Mechanism
    share: Fraction
    marginals: int = 2
    cells: int | None = None

    @property
    def name(self) -> str:
        return self.inner.name

    def plan(self, request: Request) -> PlanWithShare:
        """The mechanism's plan with less epsilon, and the marginals' with the rest.

        Raises:
            ValueError: as the mechanism's; or the marginals do not exist, are too large, or cannot
                be proved to fit the budget beside the mechanism.
        """
        budget = request.budget
        share_budget = Budget(epsilon=self.share * budget.epsilon)
        measured = marginals_within(
            share_budget,
            request.domain,
            order=self.marginals,
            cells=self.cells,
            adjacency=request.adjacency,
            records=request.expected_records,
            columns=False,
        )
        inner = self.inner.plan(
            replace(request, budget=replace(budget, epsilon=(1 - self.share) * budget.epsilon))
        )
        plan = PlanWithShare(
            request=request, inner=inner, share_budget=share_budget, measured=measured
        )
        if not fits(plan.events, budget):
            raise ValueError(
                f"certificate.share: {self.share}, but Gaussian noise of {self.name} and Laplace "
                f"noise of the share cannot be proved to cost {budget} together where the unit is "
                f"a {request.adjacency.unit}, or where noise is chosen on answers; set the share "
                "to 0 or a smaller one, or choose a mechanism without delta"
            )
        return plan

    def select(self, curator: AllCalls, plan: PlanWithShare) -> Any:
        return self.inner.select(curator, plan.inner)

    def measure(self, curator: AllCalls, plan: PlanWithShare, selection: Any) -> Measurements:
        """The mechanism's answers, then the marginals'."""
        own = self.inner.measure(curator, plan.inner, selection)
        marginals = curator.histograms(CERTIFICATE_CALL, plan.measured.queries)
        return own.with_call(CERTIFICATE_CALL, marginals)

    def fit(
        self,
        plan: PlanWithShare,
        measurements: Measurements,
        *,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> Fit:
        """The mechanism's fit, of its own measurements."""
        assert isinstance(self.inner, Fitting), "where the plan says so"
        return self.inner.fit(plan.inner, measurements, rng=rng, execution=execution)

    def generate(
        self,
        plan: PlanWithShare,
        measurements: Measurements,
        *,
        rows: int | None,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> SyntheticMeasure:
        """The mechanism's records, from its own measurements."""
        return self.inner.generate(
            plan.inner, measurements, rows=rows, rng=rng, execution=execution
        )

    def certify(
        self,
        plan: PlanWithShare,
        measurements: Measurements,
        synthetic: SyntheticMeasure,
        *,
        confidence: float,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> Certificate:
        """The mechanism's bounds, and those of the marginals, each with half of the failures."""
        each = 1 - (1 - confidence) / 2
        inner = self.inner.certify(
            plan.inner, measurements, synthetic, confidence=each, rng=rng, execution=execution
        )
        family = plan.measured.certify_marginals(
            measurements, synthetic.codes, confidence=each, compute=execution.compute, rng=rng
        )
        return replace(
            inner,
            confidence=confidence,
            bounds=(*family.bounds, *inner.bounds),
            method=(
                f"Two groups of bounds, each at confidence {each:g}, so that all hold jointly at "
                f"{confidence:g}. Measured for the certificate, {plan.measured.family.title}: "
                f"{family.method} The mechanism's own: {inner.method}"
            ),
            cost=plan.share_budget,
        )
