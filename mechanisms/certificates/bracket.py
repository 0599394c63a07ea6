"""Enclose the true losses that a certificate bounds, for the internal review alone.

The numbers come from private counts without noise: they are as private as the table itself and must
not leave the restricted workspace, not even rounded, compared or summed up in words.

Claim.   W1 between a block's private and released distribution, values counted where they really
         lie within their cells and nulls at distance 1 from all values as in the certificate, is at
         least `lower` and at most `upper`.
Proof.   Points stand for records, and moving all records to their points moves a distribution by
         their mean distance at most. So W1 of the records differs from W1 of the points by at most
         the private and the released mean distance together.
Source.  "Certified private data release for sparse Lipschitz functions" (AISTATS 2024), (21) in
         Appendix A, where records are projected to a grid as well. On smooth data the enclosure is
         about 2 s / (s + 1) of 1 / (2k) to either side, so evaluate on a grid finer than the one
         that was measured.
Oracle.  tests/mechanisms/certificates/test_bracket.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from math import prod

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes, Counts, Floats
from hallmark.mechanisms.blocks.family import Block, Family
from hallmark.mechanisms.blocks.marginals import LINE_CANDIDATES, candidates, noisy_counts, over
from hallmark.mechanisms.compute import Compute
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.grids import axis
from hallmark.mechanisms.geometry.transport import MOST_FLOW_POINTS, transport_cost
from hallmark.mechanisms.privacy.cells import CellMap, count_codes, marginal

MOST_COMBINATIONS = 2**17  # of a block's codes, for which mean distances are counted exactly
MOST_POINTS = 2**18  # of all blocks together: some minutes of flows on one core


@dataclass(frozen=True, kw_only=True)
class Bracket:
    """Between which two numbers a true loss lies. PRIVATE: computed without noise.

    Attributes:
        target: named as in the certificate.
        lower, upper: as a share of the diameter.
    """

    target: str
    lower: float
    upper: float


def can_be_enclosed(domain: Domain, columns: Sequence[int]) -> bool:
    """Whether even the coarsest grid over these columns is small enough."""
    return noisy_counts(domain, (columns,), 1) <= MOST_POINTS


def evaluation_family(domain: Domain, column_sets: Sequence[Sequence[int]]) -> Family:
    """Blocks on the finest grid that flows are affordable on; public.

    Raises:
        ValueError: as `blocks.marginals.over`; no set of columns that `can_be_enclosed` is too
            large.
    """
    best, radius = 1, np.inf
    for k in (1, *candidates(domain, LINE_CANDIDATES[-1])):
        each = max(noisy_counts(domain, (columns,), k) for columns in column_sets)
        if each > MOST_FLOW_POINTS or noisy_counts(domain, column_sets, k) > MOST_POINTS:
            break
        used = {column for columns in column_sets for column in columns}
        moved = max(axis(domain.attributes[column], k).offsets.max() for column in used)
        if moved < radius:
            best, radius = k, moved
    return over(domain, column_sets, best)


def maps_to_count(family: Family) -> tuple[CellMap, ...]:
    """What `enclose` wants to be counted, a map for every block.

    All combinations of the columns' codes, from which points and distances follow; or, where these
    are too many, the points alone.
    """
    return tuple(_map_to_count(block, family.domain.shape) for block in family.blocks)


def enclose(
    family: Family, private: Sequence[Counts], synthetic_codes: AnyCodes, *, compute: Compute
) -> tuple[Bracket, ...]:
    """Enclosures for the largest block, where there are several, and for block after block.

    Args:
        family: the blocks to compare, such as an `evaluation_family`.
        private: counts of the private records by `maps_to_count(family)`.
        synthetic_codes: the released records, shape (rows, attributes), rows >= 1.
    Raises:
        ValueError: there is no synthetic record, or the counts are not of these maps.
    """
    if len(synthetic_codes) == 0:
        raise ValueError("no synthetic record: a distribution without records has no distance")
    maps = maps_to_count(family)
    sizes = [cells.size for cells in maps]
    if [len(counts) for counts in private] != sizes:
        raise ValueError(f"private counts of {[len(c) for c in private]} cells, not of {sizes}")
    released = count_codes(synthetic_codes, maps)
    found = list(
        compute.map(
            partial(_enclose, family.domain.shape),
            list(zip(family.blocks, private, released, strict=True)),
            doing="comparing with the private data",
        )
    )
    if len(found) > 1:
        largest = Bracket(
            target=family.title,
            lower=max(bracket.lower for bracket in found),
            upper=max(bracket.upper for bracket in found),
        )
        found.insert(0, largest)
    return tuple(found)


def _map_to_count(block: Block, shape: Sequence[int]) -> CellMap:
    combinations = prod(shape[column] for column in block.columns)
    return marginal(block.columns, shape) if combinations <= MOST_COMBINATIONS else block.cells


def _enclose(shape: Sequence[int], counted: tuple[Block, Counts, Counts]) -> Bracket:
    block, private, released = counted
    if not private.any():
        return Bracket(target=block.name, lower=0.0, upper=1.0)
    points, distances = _points_and_distances(block, shape)
    moved = np.zeros((1, block.space.size))
    np.add.at(moved[0], points, private / private.sum() - released / released.sum())
    cost = float(transport_cost(block.space, moved)[0])
    slack = float(private @ distances / private.sum() + released @ distances / released.sum())
    # Along a tree the cost is more than W1, and says nothing from below.
    least = cost - slack if block.space.size <= MOST_FLOW_POINTS else 0.0
    return Bracket(target=block.name, lower=max(0.0, least), upper=min(1.0, cost + slack))


def _points_and_distances(block: Block, shape: Sequence[int]) -> tuple[Counts, Floats]:
    """By cell of the map that is counted: the point, and how far a record may lie from it."""
    if _map_to_count(block, shape) is block.cells:
        size = block.space.size
        return np.arange(size), np.full(size, block.radius)
    points = reduce(np.add.outer, block.cells.tables)
    return points.ravel(), reduce(np.maximum.outer, block.offsets).ravel()
