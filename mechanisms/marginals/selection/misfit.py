"""Scores for private choices: how badly the model of the moment fits a marginal.

Claim.   A score is an integer, UNIT * weight * (|h - expected|_1 - penalty) up to rounding of its
         public parts, and moves by at most UNIT * weight * `adjacency.l1` between neighbours.
Proof.   `privacy.queries.L1Score`; of several candidates the curator takes the largest sensitivity.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm, pi, sqrt

import numpy as np

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.queries import L1Score

# Expected counts are rounded to 1/UNIT records: fine beside any noise.
UNIT = 2**8
LARGEST_WEIGHT = 2**20


def misfit(
    clique: Clique,
    expected: Table,
    shape: Sequence[int],
    *,
    weight: int = 1,
    penalty: float = 0.0,
) -> L1Score:
    """The score of a candidate.

    Args:
        expected: records that a model has in each cell, shape (k_a for a in clique); finite.
        weight: of the candidate among the others, at least 1.
        penalty: records that are taken off, such as the misfit of noise alone.
    """
    assert np.isfinite(expected).all(), "a model's marginals are finite"
    return L1Score(
        cells=marginal(clique, shape),
        reference=np.rint(expected.reshape(-1) * UNIT).astype(np.int64),
        unit=UNIT,
        weight=weight,
        penalty=round(penalty * UNIT),
    )


def noise_misfit(sigma2: Fraction, cells: int) -> float:
    """Mean of |noise|_1 over so many cells, records; as for continuous Gaussian noise."""
    return sqrt(2 / pi * sigma2) * cells


def integer_weights(weights: Sequence[Fraction]) -> tuple[int, ...]:
    """Whole numbers in the same ratios; where these are too large, rounded in steps of
    1/LARGEST_WEIGHT of the largest, to at least one step."""
    scale = lcm(*(weight.denominator for weight in weights))
    whole = [int(weight * scale) for weight in weights]
    whole = [weight // gcd(*whole) for weight in whole]
    largest = max(whole)
    if largest > LARGEST_WEIGHT:
        whole = [max(1, round(Fraction(w * LARGEST_WEIGHT, largest))) for w in whole]
    return tuple(whole)
