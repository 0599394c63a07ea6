"""PrivPGD: measure all pairs of columns, denoise them, and fit records to what is left.

Records start from the Chow-Liu tree of the denoised pairs, are moved by the particle descent where
`epochs` asks for it, and are polished by local search.

Claim.   A run is (epsilon, delta)-differentially private within `plan.budget`, and its one-way
         marginals obey the bounds of the certificate.
Source.  Donhauser, Abad, Hulkund, Yang (2024), "Privacy-preserving data release leveraging
         optimal transport and particle gradient descent", ICML. Ours are the denoising, the start
         from a tree, and the polish (see these modules).
Proof.   Privacy in plan.py; the certificate in ../certificates/one_way.md.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechanisms.certificates.one_way import (
    ASSUMPTIONS,
    OneWayErrors,
    OneWayEstimate,
    certify_one_way,
)
from mechanisms.certificates.simultaneous import draws_needed
from mechanisms.compute import SERIAL, Compute
from mechanisms.contract import (
    Certificate,
    Measurements,
    Progress,
    SyntheticMeasure,
    refuse_public,
)
from mechanisms.geometry.domain import Domain
from mechanisms.privacy.adjacency import Adjacency
from mechanisms.privacy.budget import Budget
from mechanisms.privacy.cells import Codes
from mechanisms.privacy.curator import Curator
from mechanisms.privacy.simulation import simulate_discrete_gaussian
from mechanisms.privpgd.chow_liu import sample_tree
from mechanisms.privpgd.denoise import Targets, denoise
from mechanisms.privpgd.one_ways import combine, margins, simulate_errors
from mechanisms.privpgd.particles import descend
from mechanisms.privpgd.plan import PrivPGDPlan, make_plan
from mechanisms.privpgd.polish import polish

# Progress when the descent starts and ends: it is most of the time where it is asked for.
_STARTED, _DESCENDED = 0.05, 0.75


class PrivPGD:
    """Particle descent on all two-way marginals, for tables of many columns.

    Parameters, all optional: see `parameters.Parameters`.
    """

    name = "privpgd"

    def plan(
        self,
        domain: Domain,
        *,
        budget: Budget,
        adjacency: Adjacency,
        expected_records: int,
        parameters: Mapping[str, Any],
        public: Codes | None = None,
    ) -> PrivPGDPlan:
        """See `make_plan`."""
        refuse_public(self.name, public)
        return make_plan(
            domain,
            budget=budget,
            adjacency=adjacency,
            expected_records=expected_records,
            parameters=parameters,
        )

    def select(self, curator: Curator, plan: PrivPGDPlan) -> None:
        """Nothing is left to choose: all pairs are measured."""

    def measure(self, curator: Curator, plan: PrivPGDPlan, selection: None) -> Measurements:
        """All marginals in one call."""
        tables = curator.histograms("marginals", plan.queries)
        return Measurements(tables=tuple(tables), total=curator.total())

    def generate(
        self,
        plan: PrivPGDPlan,
        measurements: Measurements,
        *,
        rows: int | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> SyntheticMeasure:
        """Records whose pairs look like the denoised ones: as many as were measured, or `rows`.

        Where the number of records is measured, at least one comes out.

        Raises:
            ValueError: `rows` is below 1.
        """
        if rows is not None and rows < 1:
            raise ValueError(f"output.rows: {rows}; ask for at least 1")
        progress(0.0, "denoising the marginals")
        settings, shape = plan.settings, plan.domain.shape
        targets, total = denoised(plan, measurements)
        rows = rows or max(1, round(total))
        losses: list[float] = []
        errors: list[float] = []
        if settings.epochs and targets.pairs:
            start = sample_tree(targets, min(rows, settings.particles), rng)
            moved, losses = descend(
                start,
                targets.pairs,
                shape,
                descent=settings.descent,
                rng=rng,
                report=_within(progress, _STARTED, _DESCENDED, "moving particles"),
            )
            codes = repeated(moved, rows, rng)
        else:
            codes = sample_tree(targets, rows, rng)
        if settings.sweeps and targets.pairs:
            codes, errors = polish(
                codes,
                targets,
                proposals=settings.sweeps * codes.size,
                rng=rng,
                report=_within(progress, _DESCENDED, 1.0, "polishing records"),
            )
        progress(1.0, "records generated")
        return SyntheticMeasure(
            codes=codes,
            history={
                "estimated_records": total,
                "descent_loss": losses,
                "polish_squared_error": errors,
            },
        )

    def certify(
        self,
        plan: PrivPGDPlan,
        measurements: Measurements,
        synthetic: SyntheticMeasure,
        *,
        confidence: float,
        rng: np.random.Generator,
        compute: Compute = SERIAL,
    ) -> Certificate:
        """Bounds on every one-way marginal that hold jointly, for these synthetic records.

        Raises:
            ValueError: the confidence is outside (0, 1), or the records do not fit the domain.
        """
        if not 0 < confidence < 1:
            raise ValueError(f"certificate.confidence: {confidence}; give a number between 0 and 1")
        public = plan.adjacency.total_is_public
        counts, total = one_ways(plan, measurements)
        error_counts, error_totals = simulate_errors(
            plan.domain.shape,
            plan.cliques,
            simulate_discrete_gaussian,
            plan.sigma2,
            total_is_public=public,
            draws=draws_needed(confidence),
            rng=rng,
        )
        columns = certify_one_way(
            plan.domain,
            OneWayEstimate(counts=counts, total=total),
            OneWayErrors(counts=error_counts, total=error_totals),
            synthetic.codes,
            total_is_public=public,
            confidence=confidence,
        )
        return Certificate(
            confidence=confidence,
            bounds=columns.bounds,
            method=(
                "Estimates: for each column, the inverse-variance mean over all its two-way "
                f"marginals, adjusted to the number of records. {columns.method}"
            ),
            assumptions=ASSUMPTIONS,
            measured=columns.measured,
        )


def one_ways(
    plan: PrivPGDPlan, measurements: Measurements
) -> tuple[tuple[NDArray[np.float64], ...], float]:
    """Unbiased counts of every column, shape (cells,), and the number of records."""
    shape = plan.domain.shape
    every = (
        margins(clique, shape, table)
        for clique, table in zip(plan.cliques, measurements.tables, strict=True)
    )
    counts, total = combine(shape, every, total=measurements.total)
    return counts, float(total)


def denoised(plan: PrivPGDPlan, measurements: Measurements) -> tuple[Targets, float]:
    """Targets of the generator, and the number of records, public or estimated."""
    counts, total = one_ways(plan, measurements)
    shape = plan.domain.shape
    pairs = {
        (clique[0], clique[1]): table.reshape([shape[a] for a in clique]).astype(np.float64)
        for clique, table in zip(plan.cliques, measurements.tables, strict=True)
        if len(clique) == 2
    }
    # Noise may leave no record, or fewer than none: then the tables are noise over one record.
    targets = denoise(counts, pairs, total=max(total, 1.0), sigma=float(plan.sigma2) ** 0.5)
    return targets, total


def repeated(codes: NDArray[np.int32], rows: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """`rows` records, each of `codes` floor or ceil(rows / len(codes)) times, at random."""
    return codes[rng.permutation(len(codes))[np.arange(rows) % len(codes)]]


def _within(progress: Progress, start: float, end: float, doing: str) -> Callable[[float], None]:
    return lambda share: progress(start + share * (end - start), doing)
