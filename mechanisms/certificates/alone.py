"""Certify records that were made elsewhere: the whole budget measures what the certificate needs.

Claim.   `measure` is private within `plan.budget`. With the certificate's confidence every bound
         holds for the given records: for all marginals of the order asked for, and for every
         column by itself.
Proof.   measured_marginals.py for the costs: the marginals' and the columns' fit the budget
         together. Accuracy: family.md and single_columns.md, beside this file. They bound events of
         the noise, on which the bounds hold for all tables of records at once; so nothing is asked
         of how the records came about, nor of what their maker knew.
Source.  "Certified private data release for sparse Lipschitz functions" (AISTATS 2024), Lemma 1,
         which asks nothing of how the synthetic data were made.
Oracle.  tests/mechanisms/certificates/test_alone.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hallmark.mechanisms.certificates.family import METRIC
from hallmark.mechanisms.certificates.measured_marginals import (
    CERTIFICATE_CALL,
    MeasuredMarginals,
    marginals_within,
)
from hallmark.mechanisms.contract import (
    Certificate,
    Forecast,
    Measurements,
    NoiseLine,
    SyntheticMeasure,
)
from hallmark.mechanisms.execution import INLINE, Execution
from hallmark.mechanisms.privacy.accountant import fits
from hallmark.mechanisms.privacy.calls import Measuring
from hallmark.mechanisms.privacy.events import Event
from hallmark.mechanisms.request import Request, Requested

MARGINALS = 2  # columns certified jointly, where the spec does not say
ASSUMPTION = (
    "The bounds hold however the certified records were made. If private data had a part in that, "
    "it cost privacy of its own, of which this certificate counts nothing."
)
"""What a certificate of given records does not say, beside what every certificate assumes."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CertificateAlonePlan(Requested):
    """What is measured to certify records that somebody else made. Every field is public.

    Attributes:
        measured: the marginals and single columns, with their noise.
    """

    measured: MeasuredMarginals

    @property
    def mechanism(self) -> str:
        return "certify"

    @property
    def source(self) -> str:
        return (
            "Certified private data release for sparse Lipschitz functions (AISTATS 2024), Lemma 1:"
            " the certificate alone, with exact Wasserstein distances; no records are made"
        )

    @property
    def events(self) -> tuple[Event, ...]:
        return self.measured.events

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        return self.measured.noise

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.measured.parameters

    def forecast(self) -> Forecast:
        """The bounds to expect of the largest marginal, of each, and of single columns."""
        return Forecast(
            metric=f"{METRIC}, largest over {self.measured.family.title}, as a share of the "
            "diameter",
            expected_error=min(1.0, self.measured.forecast),
            statement=(
                "forecast of the certificate of records that are distributed as the private ones: "
                "discretisation, and simulated noise; the bound of others is larger by about as "
                "much as they are off"
            ),
            memory_bytes=self.measured.memory_bytes
            + self.expected_records * (4 * len(self.domain) + 24),
            per_attribute=self.measured.forecast_columns(self.expected_records),
            jointly=self.measured.forecast_marginals(self.expected_records),
        )


@dataclass(frozen=True)
class CertificateAlone:
    """A certificate without a release: it plans, measures and certifies records that are given.

    Attributes:
        marginals: columns certified jointly; None for two, or one where there is but one.
        cells: of a line in these marginals; None chooses by forecast.
    """

    marginals: int | None = None
    cells: int | None = None

    @property
    def name(self) -> str:
        return "certify"

    def plan(self, request: Request) -> CertificateAlonePlan:
        """The grid, noise and share of single columns with the least forecast.

        Raises:
            ValueError: there are parameters, or the marginals do not exist or are too large.
        """
        domain, budget, parameters = request.domain, request.budget, request.parameters
        if parameters:
            raise ValueError(
                f"mechanism.{min(parameters)}: certify has no parameters; say what is measured by "
                "certificate.marginals and certificate.cells"
            )
        measured = marginals_within(
            budget,
            domain,
            order=self.marginals or min(MARGINALS, len(domain)),
            cells=self.cells,
            adjacency=request.adjacency,
            records=request.expected_records,
            columns=True,
        )
        assert fits(measured.events, budget), "what is planned fits the budget"
        return CertificateAlonePlan(request=request, measured=measured)

    def measure(self, curator: Measuring, plan: CertificateAlonePlan) -> Measurements:
        """All marginals and columns in one call."""
        tables = curator.histograms(CERTIFICATE_CALL, plan.measured.queries)
        return Measurements(tables={CERTIFICATE_CALL: tuple(tables)}, total=curator.total())

    def certify(
        self,
        plan: CertificateAlonePlan,
        measurements: Measurements,
        synthetic: SyntheticMeasure,
        *,
        confidence: float,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> Certificate:
        """Bounds for the given records: all marginals and all columns, jointly."""
        certificate = plan.measured.certify(
            measurements, synthetic.codes, confidence=confidence, compute=execution.compute, rng=rng
        )
        return replace(certificate, assumptions=(*certificate.assumptions, ASSUMPTION))
