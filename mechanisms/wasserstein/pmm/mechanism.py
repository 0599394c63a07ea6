"""PMM and PMM-H: measure a hierarchical partition with noise, make it add up, draw records.

Claim.   A run is epsilon-differentially private, epsilon = `plan.budget.epsilon`, and its joint
         Wasserstein error obeys the bound of the certificate.
Source.  He, Vershynin, Zhu (2023), Algorithmically effective differentially private synthetic
         data, arXiv:2302.05552, Algorithms 3 and 4.
Proof.   Privacy in plan.py; accuracy in pmm.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.contract import Certificate, Measurements, SyntheticMeasure
from hallmark.mechanisms.execution import INLINE, Execution
from hallmark.mechanisms.privacy.calls import Measuring
from hallmark.mechanisms.request import Request
from hallmark.mechanisms.wasserstein.pmm.certify import certify
from hallmark.mechanisms.wasserstein.pmm.design import NodeCounts, SiblingDifferences
from hallmark.mechanisms.wasserstein.pmm.plan import LEVELS_CALL, PMMPlan, make_plan
from hallmark.mechanisms.wasserstein.single_histogram.records import (
    public_records,
    records_along,
    refuse_no_rows,
)


@dataclass(frozen=True)
class TreeMechanism:
    """A private measure mechanism, for tables of few columns, in pure epsilon.

    Parameters, all optional: `depth` ("auto", or the number of levels of the partition), and the
    fields of the design.

    Attributes:
        design: what is measured of every level.
    """

    design: type[NodeCounts] | type[SiblingDifferences]

    @property
    def name(self) -> str:
        return self.design.mechanism

    def plan(self, request: Request) -> PMMPlan:
        """See `make_plan`.

        Raises:
            ValueError: an unknown parameter or value of it.
        """
        parameters = request.parameters
        known = {"depth", *(field.name for field in fields(self.design))}
        request.refuse_unknown(self.name, known)
        return make_plan(
            self.design(**{name: parameters[name] for name in set(parameters) - {"depth"}}),
            request,
        )

    def select(self, curator: Measuring, plan: PMMPlan) -> None:
        """Nothing is left to choose: the plan says what is measured."""

    def measure(self, curator: Measuring, plan: PMMPlan, selection: None) -> Measurements:
        """All levels of the partition in one call."""
        tables = curator.histograms(LEVELS_CALL, plan.queries) if plan.queries else []
        return Measurements(tables={LEVELS_CALL: tuple(tables)}, total=curator.total())

    def generate(
        self,
        plan: PMMPlan,
        measurements: Measurements,
        *,
        rows: int | None,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> SyntheticMeasure:
        """Records drawn from the leaves: as many as were measured, or `rows` of them.

        Where the number of records comes out as 0 there is nothing to draw from, and all rows (one
        of them, unless `rows` says otherwise) are the same public record, the middle cell of every
        attribute.

        Raises:
            ValueError: `rows` is below 1.
        """
        refuse_no_rows(rows)
        execution.progress(0.0, "making the noisy answers add up")
        records = number_of_records(measurements)
        if records == 0:
            return public_records(plan.domain, rows or 1, _history(records, 0))
        masses = leaf_masses(plan, measurements)
        execution.progress(0.5, "drawing records")
        leaves = records_along(np.arange(len(masses)), masses, rows or records)
        codes = plan.partition.draw(leaves, rng)
        execution.progress(1.0, "records drawn")
        return SyntheticMeasure(codes=codes, history=_history(records, int((masses > 0).sum())))

    def certify(
        self,
        plan: PMMPlan,
        measurements: Measurements,
        synthetic: SyntheticMeasure,
        *,
        confidence: float,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> Certificate:
        """See `mechanisms.wasserstein.pmm.certify.certify`."""
        return certify(plan, measurements, synthetic, confidence=confidence, rng=rng)


def number_of_records(measurements: Measurements) -> int:
    """The public number of records or, where it is private, the noisy one, at least 0."""
    if measurements.total is not None:
        return measurements.total
    return max(0, int(measurements.tables[LEVELS_CALL][0][0]))


def leaf_masses(plan: PMMPlan, measurements: Measurements) -> Floats:
    """Nonnegative leaf masses, shape (leaves,), that sum to the number of records."""
    below = measurements.tables[LEVELS_CALL][1 if measurements.total is None else 0 :]
    empty = plan.partition.empties
    return plan.design.released(number_of_records(measurements), below, empty)


def _history(records: int, leaves: int) -> Mapping[str, Any]:
    return {"measured_records": records, "occupied_leaves": leaves}
