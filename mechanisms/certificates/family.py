"""Certify all blocks of a family at once: the papers' certificate, for any synthetic records.

Claim.   With probability at least `confidence` over the noise and the simulation together, for all
         blocks at once, W1(private block, released block) <= its bound's value; and so for the
         largest of them.
Proof.   family.md, beside this file. It holds for every synthetic table, however it was made.
Source.  "Certified private data release for sparse Lipschitz functions" (AISTATS 2024), eq. (4) and
         (17); Sections 5.2 and 5.4.
Oracle.  tests/mechanisms/certificates/test_family.py simulates releases and counts misses.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes, Floats
from hallmark.mechanisms.blocks.estimate import FamilyEstimate, FamilyEstimator
from hallmark.mechanisms.blocks.family import Block, Family
from hallmark.mechanisms.blocks.single_columns import SingleColumns
from hallmark.mechanisms.certificates.quantiles import kept_statistics, least_draws
from hallmark.mechanisms.certificates.simultaneous import draws_needed, simultaneous_quantiles
from hallmark.mechanisms.certificates.single_columns import (
    ASSUMPTIONS,
    ColumnCertificate,
    ColumnErrors,
    ColumnEstimates,
    certify_single_columns,
)
from hallmark.mechanisms.compute import Compute
from hallmark.mechanisms.contract import Bound, Certificate
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.transport import (
    HUB_RADIUS,
    MOST_FLOW_POINTS,
    is_small,
    transport_cost,
)
from hallmark.mechanisms.privacy.cells import count_codes

METRIC = (
    "1-Wasserstein distance of the joint distribution of the columns named, records compared by "
    "their largest difference over these columns"
)
JOINT_SHARE = 0.8  # of the failure probability for the blocks, the rest for single columns
PILOT = 20  # draws that only set the blocks' scales
SECONDS = 120.0  # that the flows of a simulation may take on one core, roughly
GOOD_DRAWS = 500
BATCH = 1 << 21  # noisy counts that are simulated at a time
_FLOW_SECONDS, _FLOW_GROWTH = 2.5e-6, 1.25  # of one flow: seconds * points^growth, measured
_COUNT_SECONDS = 5e-8  # of one noisy count, to draw and to make consistent


@dataclass(frozen=True, eq=False, kw_only=True)
class FamilyCertificate:
    """Jointly valid bounds: for the largest of all blocks, then block by block; and the method."""

    bounds: tuple[Bound, ...]
    method: str


def certify_family(
    estimator: FamilyEstimator,
    estimate: FamilyEstimate,
    synthetic_codes: AnyCodes,
    *,
    confidence: float,
    compute: Compute,
    distances: Floats | None = None,
) -> FamilyCertificate:
    """Bounds for these records.

    Args:
        estimate: `estimator.estimate` of the noisy answers.
        synthetic_codes: the released records, shape (rows, attributes), rows >= 1.
        distances: for every block, a bound on the sum of the private records' distances from their
            points, records times distance; where it is not given, the radius stands for the mean.
    Raises:
        ValueError: there is no synthetic record.
    """
    if len(synthetic_codes) == 0:
        raise ValueError("no synthetic record: a distribution without records has no distance")
    family = estimator.family
    noise = noise_quantiles(estimator, confidence=confidence, compute=compute)
    records = float(estimate.total) - noise.total
    misfits = np.array(misfit_costs(family, estimate, synthetic_codes, compute=compute))
    bounds = []
    for position, (block, quantile, misfit) in enumerate(
        zip(family.blocks, noise.blocks, misfits, strict=True)
    ):
        terms = {"discretisation": block.radius}
        if records > 0:
            if distances is not None:
                terms["discretisation"] = min(block.radius, float(distances[position]) / records)
            terms["privatisation"] = float(quantile) / records
            terms["projection"] = float(misfit) / records
        terms["rounding to records"] = block.mean_distance_to_points(synthetic_codes)
        compared = [family.domain.attributes[column] for column in block.columns]
        alone = compared[0] if len(compared) == 1 else None
        bounds.append(
            Bound.of_terms(
                block.name,
                tuple(attribute.name for attribute in compared),
                METRIC,
                terms,
                complete=records > 0,
                scale=alone.scale if alone else 1.0,
                unit=alone.distance_unit if alone else "",
            )
        )
    if len(bounds) > 1:
        worst = max(bounds, key=lambda bound: sum(bound.terms.values()))
        largest = Bound.of_terms(family.title, (), METRIC, worst.terms, complete=records > 0)
        bounds.insert(0, largest)
    return FamilyCertificate(bounds=tuple(bounds), method=noise.method)


@dataclass(frozen=True, eq=False, kw_only=True)
class NoiseQuantiles:
    """What the noise costs at most, in all blocks at once. Public.

    Attributes:
        blocks: records times distance, shape (blocks,).
        total: by how much the number of records is overestimated at most; 0 where it is public.
        method: how they were found, in words.
    """

    blocks: Floats
    total: float
    method: str


def noise_quantiles(
    estimator: FamilyEstimator, *, confidence: float, compute: Compute
) -> NoiseQuantiles:
    """Simulated, or kept from an earlier certificate of the same design."""
    draws = PILOT + affordable_draws(estimator.family, confidence)
    statistics = kept_statistics(
        partial(noise_costs, estimator),
        draws=draws,
        digest=hashlib.sha256(f"costs {MOST_FLOW_POINTS} {estimator.digest}".encode()).hexdigest(),
        compute=compute,
        doing=f"simulating noise on {len(estimator.family)} tables, {draws} times",
    )
    quantiles = simultaneous_quantiles(
        [statistics], confidence=confidence, pilot=PILOT, reused=True
    )
    total = 0.0 if estimator.total_is_public else float(quantiles.values[-1])
    exact = all(is_small(block.space) for block in estimator.family.blocks)
    private = (
        ""
        if estimator.total_is_public
        else " The same event bounds the private number of records, by which errors are divided."
    )
    return NoiseQuantiles(
        blocks=quantiles.values[: len(estimator.family)],
        total=total,
        method=(
            f"Transport of the noise, {'exactly by minimum-cost flows' if exact else 'along trees'}"
            f", at most the {quantiles.rank}th smallest of {quantiles.draws} simulations of the "
            "largest standardised cost over all tables. Simulations depend on the design alone and "
            f"are kept, so the rank allows for their use in many releases.{private}"
        ),
    )


def affordable_draws(family: Family, confidence: float) -> int:
    """The draws that a good quantile needs, or fewer where large tables make them slow."""
    affordable = int(SECONDS / _seconds_a_draw(family))
    return max(least_draws(confidence), min(GOOD_DRAWS, affordable))


def simulation_seconds(family: Family, confidence: float) -> float:
    """CPU time of `noise_quantiles`, roughly, where nothing was kept."""
    return (PILOT + affordable_draws(family, confidence)) * _seconds_a_draw(family)


def _seconds_a_draw(family: Family) -> float:
    return family.cells * _COUNT_SECONDS + sum(
        _FLOW_SECONDS * block.space.size**_FLOW_GROWTH
        for block in family.blocks
        if is_small(block.space)
    )


def misfit_costs(
    family: Family, estimate: FamilyEstimate, synthetic_codes: AnyCodes, *, compute: Compute
) -> list[float]:
    """Transport from estimate to released records, for every block, records times distance."""
    # Counted here: workers get tables, whatever the number of records.
    counts = count_codes(synthetic_codes, [block.cells for block in family.blocks])
    total = float(estimate.total)
    misfits = [
        (block, table - total * (rows / len(synthetic_codes)))
        for block, table, rows in zip(family.blocks, estimate.tables, counts, strict=True)
    ]
    return list(
        compute.map(_misfit_cost, misfits, doing="comparing the records with the measurements")
    )


def certify_family_and_columns(
    domain: Domain,
    estimator: FamilyEstimator,
    estimate: FamilyEstimate,
    synthetic_codes: AnyCodes,
    *,
    confidence: float,
    compute: Compute,
    rng: np.random.Generator,
    distances: Floats | None = None,
    stated: float | None = None,
) -> Certificate:
    """A whole certificate: the blocks, and every column that some block holds by itself.

    Arguments as of `certify_family`; `stated` is the confidence to state, where `distances` take
    the rest of its failure probability.
    """
    joint, single = shared(confidence)
    blocks = certify_family(
        estimator,
        estimate,
        synthetic_codes,
        confidence=joint,
        compute=compute,
        distances=distances,
    )
    single_columns = SingleColumns(estimator.family)
    own = Domain(tuple(domain.attributes[column] for column in single_columns.columns))
    columns = certify_single_columns(
        own,
        ColumnEstimates(
            counts=single_columns(estimate.tables),
            total=float(estimate.total),
            coarsening=single_columns.coarsening,
        ),
        column_errors(estimator, single_columns, draws_needed(single), rng),
        synthetic_codes[:, single_columns.columns],
        total_is_public=estimator.total_is_public,
        confidence=single,
    )
    stated = confidence if stated is None else stated
    measured = (
        ""
        if distances is None
        else "The records' mean distances from their points were measured with noise of their own, "
        f"at confidence {1 - (confidence - stated):g}. "
    )
    return together(blocks, columns, confidence=confidence, stated=stated, of_distances=measured)


def shared(confidence: float) -> tuple[float, float]:
    """Confidence of the blocks, and of the columns, that make this one together.

    Raises:
        ValueError: it is not in (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"certificate.confidence: {confidence}; give a number between 0 and 1")
    return 1 - JOINT_SHARE * (1 - confidence), 1 - (1 - JOINT_SHARE) * (1 - confidence)


def together(
    blocks: FamilyCertificate,
    columns: ColumnCertificate,
    *,
    confidence: float,
    stated: float,
    of_distances: str,
) -> Certificate:
    """Blocks and columns, certified at the confidences of `shared(confidence)`.

    Args:
        stated: the confidence of all together, of whose failure probability the distances of the
            private records took the rest.
        of_distances: how these were bounded, in a sentence that ends with a space, or nothing.
    """
    joint, single = shared(confidence)
    return Certificate(
        confidence=stated,
        bounds=(*blocks.bounds, *columns.bounds),
        method=(
            f"Groups of bounds, at confidence {joint:g} and {single:g}, so that all hold jointly "
            f"at {stated:g}. Columns jointly: {blocks.method} {of_distances}Column by column: "
            f"{columns.method}"
        ),
        assumptions=ASSUMPTIONS,
        measured=columns.measured,
    )


def column_errors(
    estimator: FamilyEstimator, single_columns: SingleColumns, draws: int, rng: np.random.Generator
) -> Iterator[ColumnErrors]:
    """Errors of the columns' histograms in the estimated tables, from fresh draws, in batches."""
    for noise in _simulated(estimator, draws, rng):
        total = np.zeros_like(noise.total) if estimator.total_is_public else noise.total
        yield ColumnErrors(counts=single_columns(noise.tables), total=total)


def noise_costs(estimator: FamilyEstimator, draws: int, rng: np.random.Generator) -> Floats:
    """Per draw: what each block's noise costs and, where it is private, the total's error."""
    costs = []
    for noise in _simulated(estimator, draws, rng):
        blocks = zip(estimator.family.blocks, noise.tables, strict=True)
        moved = [transport_cost(block.space, table) for block, table in blocks]
        if not estimator.total_is_public:
            moved = [cost + HUB_RADIUS * np.abs(noise.total) for cost in moved]
            moved.append(noise.total)
        costs.append(np.stack(moved, axis=1))
    return np.concatenate(costs)


def _simulated(
    estimator: FamilyEstimator, draws: int, rng: np.random.Generator
) -> Iterator[FamilyEstimate]:
    """Errors of the estimate, in batches that fit into memory."""
    batch = max(1, BATCH // estimator.family.cells)
    for start in range(0, draws, batch):
        yield estimator.simulate(min(batch, draws - start), rng)


def _misfit_cost(pair: tuple[Block, Floats]) -> float:
    block, misfit = pair
    return float(transport_cost(block.space, misfit[None])[0])
