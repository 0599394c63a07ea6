"""Measure a family's blocks, find weights on a support that fit them, draw records, certify.

Claim.   A run is private within `plan.budget`, and with the certificate's confidence every
         function of the columns of a block that is 1-Lipschitz has a mean over the synthetic
         records within the block's bound of its mean over the private ones.
Source.  "Certified private data release for sparse Lipschitz functions" (AISTATS 2024),
         Algorithm 1.
Proof.   sparse_lipschitz.md, beside this file, and ../../certificates/family.md.
Oracle.  tests/mechanisms/wasserstein/sparse_lipschitz/test_mechanism.py.
"""

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.blocks.estimate import FamilyEstimate
from hallmark.mechanisms.blocks.programs import Program, Support, solve
from hallmark.mechanisms.certificates.family import certify_family_and_columns
from hallmark.mechanisms.contract import Certificate, Measurements, SyntheticMeasure
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.execution import INLINE, Execution
from hallmark.mechanisms.privacy.calls import Measuring
from hallmark.mechanisms.request import Request
from hallmark.mechanisms.wasserstein.single_histogram.records import (
    public_records,
    records_along,
    refuse_no_rows,
)
from hallmark.mechanisms.wasserstein.sparse_lipschitz.plan import (
    DISCRETISATION_DOUBT,
    SparseLipschitzPlan,
    make_plan,
)

TIME_LIMIT = 600.0  # seconds for the program


CALL = "blocks"


class SparseLipschitz:
    """Certified release of low-dimensional marginals, for tables with a public cousin.

    Parameters, all optional: `marginals` (columns of a block, 2) or `blocks` (lists of columns);
    `cells` of a line ("auto" or a number); `noise` ("auto", "identity", "haar", "two-level",
    "gaussian", "superregular", "paper"); `loss` that the weights minimise ("U_T", "L_tree" or
    "L_T"); `support` ("auto", "public" or "grid") with at most `support_points` public records
    (4000); `measure_discretisation` (true).
    """

    name = "sparse-lipschitz"

    def plan(self, request: Request) -> SparseLipschitzPlan:
        """See `make_plan`."""
        return make_plan(request)

    def select(self, curator: Measuring, plan: SparseLipschitzPlan) -> None:
        """Nothing is left to choose: the plan says what is measured."""

    def measure(
        self, curator: Measuring, plan: SparseLipschitzPlan, selection: None
    ) -> Measurements:
        """All blocks in one call."""
        tables = curator.histograms(CALL, plan.queries)
        return Measurements(tables={CALL: tuple(tables)}, total=curator.total())

    def generate(
        self,
        plan: SparseLipschitzPlan,
        measurements: Measurements,
        *,
        rows: int | None,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> SyntheticMeasure:
        """Records on the support: as many as were measured, or `rows` of them.

        Raises:
            ValueError: `rows` is below 1.
        """
        refuse_no_rows(rows)
        execution.progress(0.0, "making the noisy marginals consistent")
        estimate = _estimate(plan, measurements)
        total = float(estimate.total)
        if total < 1:
            return public_records(plan.domain, rows or 1, {"measured_records": round(total)})
        support = Support.of(plan.family, plan.support)
        execution.progress(0.1, f"seeking weights on {support.size:,} points")
        program = Program(
            family=plan.family,
            support=support,
            targets=tuple(table / total for table in estimate.tables),
            loss=plan.loss,
        )
        weights = solve(program, time_limit=TIME_LIMIT)
        execution.progress(0.9, "rounding to records")
        chosen = records_along(
            _tour(support.codes, plan.domain), weights.shares, rows or round(total)
        )
        execution.progress(1.0, "records made")
        return SyntheticMeasure(
            codes=support.codes[chosen].astype(np.int32),
            history={
                "measured_records": round(total),
                "support_points": support.size,
                "loss": plan.loss,
                "misfit_of_support": program.loss_of(support.start),
                "misfit_of_weights": weights.loss,
                "no_weights_below": weights.bound if np.isfinite(weights.bound) else None,
                "solver": weights.status,
            },
        )

    def certify(
        self,
        plan: SparseLipschitzPlan,
        measurements: Measurements,
        synthetic: SyntheticMeasure,
        *,
        confidence: float,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> Certificate:
        """All blocks and all columns, jointly."""
        distances = None
        blocks_confidence = confidence
        if plan.discretisation is not None:
            answers = measurements.tables[CALL][len(plan.estimator.queries) :]
            doubt = float(DISCRETISATION_DOUBT) * (1 - confidence)
            distances = plan.discretisation.upper(answers, confidence=1 - doubt)
            blocks_confidence = confidence + doubt
        return certify_family_and_columns(
            plan.domain,
            plan.estimator,
            _estimate(plan, measurements),
            synthetic.codes,
            confidence=blocks_confidence,
            stated=confidence,
            compute=execution.compute,
            rng=rng,
            distances=distances,
        )


def _estimate(plan: SparseLipschitzPlan, measurements: Measurements) -> FamilyEstimate:
    answers = measurements.tables[CALL][: len(plan.estimator.queries)]
    return plan.estimator.estimate(answers, measurements.total)


def _tour(codes: AnyCodes, domain: Domain) -> NDArray[np.int64]:
    """An order in which near records come near each other, shape (rows,): interleaved bits."""
    bits = max(1, min(10, 62 // len(domain)))
    keys = np.zeros(len(codes), dtype=np.int64)
    for position, (attribute, column) in enumerate(zip(domain.attributes, codes.T, strict=True)):
        places = np.append(attribute.positions, 1.0)[column]
        steps = np.minimum((places * 2**bits).astype(np.int64), 2**bits - 1)
        for bit in range(bits):
            keys |= ((steps >> bit) & 1) << (bit * len(domain) + position)
    return np.argsort(keys, kind="stable")
