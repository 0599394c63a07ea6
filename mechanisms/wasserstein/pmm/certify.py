"""Certify a PMM or PMM-H release: all columns jointly, and every column by itself.

Claim.   With probability at least `confidence` over the noise and the simulation together, all
         bounds of the certificate hold at once, for these synthetic records or any others. Half of
         the failure probability is granted to the joint bound, half to the one-way marginals.
Method.  The unclipped answers of all levels give a linear unbiased estimate of the leaf histogram,
         so the law of its error is that of the same estimate made from noise alone. W1 is bounded
         by the cost of transport along the partition's tree, which is a norm and splits into the
         noise's part, a quantile of simulations, and the distance from estimate to release, which
         is computed.
Proof.   pmm.md, beside this file, and ../../certificates/single_columns.md.
Oracle.  tests/mechanisms/wasserstein/pmm/test_certify.py simulates releases and counts misses.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.certificates.joint import joint_bound
from hallmark.mechanisms.certificates.simultaneous import draws_needed, simultaneous_quantiles
from hallmark.mechanisms.certificates.single_columns import (
    ASSUMPTIONS,
    ColumnErrors,
    ColumnEstimates,
    certify_single_columns,
)
from hallmark.mechanisms.contract import Bound, Certificate, Measurements, SyntheticMeasure
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.wasserstein.pmm.plan import LEVELS_CALL, PMMPlan
from hallmark.mechanisms.wasserstein.pmm.tree import transport_cost

SIMULATED = 1 << 30  # noisy entries to rank; with those of the pilot about a minute


def certify(
    plan: PMMPlan,
    measurements: Measurements,
    synthetic: SyntheticMeasure,
    *,
    confidence: float,
    rng: np.random.Generator,
) -> Certificate:
    """Bounds that hold jointly, for these synthetic records.

    Raises:
        ValueError: the confidence is outside (0, 1), or the records do not fit the domain.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"certificate.confidence: {confidence}; give a number between 0 and 1")
    each = 1 - (1 - confidence) / 2
    model, public = plan.noise_model(), measurements.total
    root = () if public is None else (np.array([public], dtype=np.int64),)
    leaves = model.leaves([*root, *measurements.tables[LEVELS_CALL]])
    total = float(leaves.sum()) if public is None else float(public)
    moves: list[NDArray[np.float64]] = []

    def errors() -> Iterator[ColumnErrors]:
        """One simulation serves both groups of bounds."""
        draws = draws_needed(each, affordable=SIMULATED // max(1, model.entries))
        for one_way, statistics in model.simulate(draws, rng):
            moves.append(statistics)
            yield one_way

    columns = certify_single_columns(
        plan.domain,
        ColumnEstimates(counts=model.one_way(leaves), total=total, coarsening=plan.coarsening),
        errors(),
        synthetic.codes,
        total_is_public=public is not None,
        confidence=each,
    )
    quantiles = simultaneous_quantiles(moves, confidence=each)
    moved, excess = (float(value) for value in quantiles.values)
    partition = plan.partition
    rows = np.bincount(partition.leaf_map(synthetic.codes), minlength=partition.leaves)
    released = rows / len(synthetic.codes)
    misfit = transport_cost(leaves - total * released, model.costs)
    joint = _joint_bound(
        plan.domain,
        discretisation=float(released @ partition.diameters(partition.depth)),
        noise=moved,
        misfit=float(misfit),
        records=total - (0.0 if public is not None else excess),
    )
    return Certificate(
        confidence=confidence,
        bounds=(joint, *columns.bounds),
        method=(
            f"Two groups of bounds, each at confidence {each:g}, so that all hold jointly at "
            f"{confidence:g}. All columns jointly: transport along the tree of the partition; the "
            f"noise term is the {quantiles.rank}th smallest of {quantiles.draws} fresh "
            f"simulations, simulation error included. Column by column: {columns.method}"
        ),
        assumptions=ASSUMPTIONS,
        measured=columns.measured,
    )


def _joint_bound(
    domain: Domain, *, discretisation: float, noise: float, misfit: float, records: float
) -> Bound:
    """Bound over all columns; `records` bounds the private number of records from below."""
    terms = {"discretisation": discretisation}
    if records > 0:
        terms |= {"privatisation": noise / records, "projection": misfit / records}
    return joint_bound(domain, terms, complete=records > 0)
