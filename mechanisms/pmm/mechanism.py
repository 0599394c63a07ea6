"""PMM: count a hierarchical partition with noise, make the counts add up, draw records.

Claim.   A run is epsilon-differentially private, epsilon = `plan.budget.epsilon`, and its joint
         Wasserstein error obeys the bound of the certificate.
Source.  He, Vershynin, Zhu (2023), Algorithmically effective differentially private synthetic
         data, arXiv:2302.05552, Algorithms 3 and 4.
Proof.   Privacy in plan.py; accuracy in pmm.md.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mechanisms.contract import Certificate, Measurements, Progress, SyntheticMeasure
from mechanisms.geometry.domain import Domain
from mechanisms.pmm.certify import certify
from mechanisms.pmm.plan import PMMPlan, make_plan
from mechanisms.pmm.tree import consistent_leaves
from mechanisms.privacy.adjacency import Adjacency
from mechanisms.privacy.budget import Budget
from mechanisms.privacy.cells import Counts
from mechanisms.privacy.curator import Curator


class PMM:
    """The private measure mechanism, for tables of few columns, in pure epsilon.

    Parameters, all optional: `depth` ("auto", or the number of levels of the partition) and
    `consistency` ("uniform" or "proportional").
    """

    name = "pmm"

    def plan(
        self,
        domain: Domain,
        *,
        budget: Budget,
        adjacency: Adjacency,
        expected_records: int,
        parameters: Mapping[str, Any],
    ) -> PMMPlan:
        """See `make_plan`."""
        return make_plan(
            domain,
            budget=budget,
            adjacency=adjacency,
            expected_records=expected_records,
            parameters=parameters,
        )

    def select(self, curator: Curator, plan: PMMPlan) -> None:
        """Nothing is left to choose: the plan says what is measured."""

    def measure(self, curator: Curator, plan: PMMPlan, selection: None) -> Measurements:
        """All levels of the partition in one call."""
        tables = curator.histograms("levels", plan.queries) if plan.queries else []
        return Measurements(tables=tuple(tables), total=curator.total())

    def generate(
        self,
        plan: PMMPlan,
        measurements: Measurements,
        *,
        rows: int | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> SyntheticMeasure:
        """Records drawn from the leaves: as many as were measured, or `rows` of them.

        Where the number of records comes out as 0 there is nothing to draw from, and all rows (one
        of them, unless `rows` says otherwise) are the same public record, the middle cell of every
        attribute.

        Raises:
            ValueError: `rows` is below 1.
        """
        if rows is not None and rows < 1:
            raise ValueError(f"output.rows: {rows}; ask for at least 1")
        progress(0.0, "making the noisy counts add up")
        counts = consistent_counts(plan, measurements)
        total = int(counts.sum())
        if total == 0:
            middle = [attribute.levels // 2 for attribute in plan.domain.attributes]
            codes = np.tile(np.array(middle, dtype=np.int32), (rows or 1, 1))
        else:
            progress(0.5, "drawing records")
            copies = apportion(counts, rows or total)
            codes = plan.partition.draw(np.repeat(np.arange(len(copies)), copies), rng)
        progress(1.0, "records drawn")
        return SyntheticMeasure(
            codes=codes,
            history={"measured_records": total, "occupied_leaves": int((counts > 0).sum())},
        )

    def certify(
        self,
        plan: PMMPlan,
        measurements: Measurements,
        synthetic: SyntheticMeasure,
        *,
        confidence: float,
        rng: np.random.Generator,
    ) -> Certificate:
        """See `mechanisms.pmm.certify.certify`."""
        return certify(plan, measurements, synthetic, confidence=confidence, rng=rng)


def consistent_counts(plan: PMMPlan, measurements: Measurements) -> Counts:
    """Nonnegative integer leaf counts, shape (leaves,), close to the noisy counts of all levels.

    They sum to the number of records: the public one, or the noisy root, at least 0.
    """
    tables, total = list(measurements.tables), measurements.total
    if total is None:
        total = max(0, int(tables.pop(0)[0]))
    empty = [plan.partition.empty(level) for level in range(1, plan.partition.depth + 1)]
    return consistent_leaves(total, tables, empty, plan.consistency)


def apportion(counts: Counts, rows: int) -> Counts:
    """`rows` records shared among leaves by rounding the cumulative counts, in integers.

    Every cumulative share is off by at most 1/(2 rows), so neighbouring leaves even out, unlike
    with rounding leaf by leaf. The identity where `rows` is the sum of `counts`, which must not
    be 0.
    """
    total = int(counts.sum())
    bounds = (2 * rows * np.cumsum(counts) + total) // (2 * total)
    return np.diff(bounds, prepend=0)
