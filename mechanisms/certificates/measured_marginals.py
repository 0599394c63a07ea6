"""Choose the marginals that are measured for a certificate alone: their grid, and their noise.

Everything here follows from public numbers, by simulations with fixed seeds: planning again gives
the same.

Oracle.  tests/mechanisms/certificates/test_granted.py, test_given.py.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mechanisms.families.family import Family
from mechanisms.families.marginals import ever_finer
from mechanisms.families.noise import QUANTILE, chosen_strategies
from mechanisms.geometry.domain import Domain
from mechanisms.privacy.adjacency import Adjacency
from mechanisms.privacy.budget import Budget
from mechanisms.strategies.strategy import Strategy

FINEST = 32  # cells of a line, where nobody asks for more: flows take time


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasuredMarginals:
    """All marginals of an order, each with the noise that it is measured with.

    Attributes:
        family: the marginals.
        strategies: how each is measured.
        k: cells of a line in them.
        forecast: of the largest marginal's bound for records as good as the noise lets one see.
    """

    family: Family
    strategies: tuple[Strategy, ...]
    k: int
    forecast: float


def marginals_within(
    budget: Budget,
    domain: Domain,
    *,
    order: int,
    cells: int | None,
    adjacency: Adjacency,
    records: int,
) -> MeasuredMarginals:
    """The grid with the least forecast of discretisation and noise, for the whole budget.

    Args:
        order: columns certified jointly.
        cells: of a line; None chooses.
        records: about as many as there are.
    Raises:
        ValueError: there are not so many columns, or the tables are too large.
    """
    if order > len(domain):
        raise ValueError(
            f"certificate.marginals: {order}, but there are only {len(domain)} columns"
        )
    column_sets = tuple(combinations(range(len(domain)), order))
    best, least = None, np.inf
    for k, family in ever_finer(domain, column_sets, cells, finest=FINEST):
        strategies, cost = chosen_strategies("auto", family, budget, adjacency)
        noise = (QUANTILE + 1) * cost / max(records, 1)
        forecast = 2 * family.radius + noise
        if best is None or forecast < least:
            best, least = (
                MeasuredMarginals(family=family, strategies=strategies, k=k, forecast=forecast),
                forecast,
            )
        if noise > least or family.radius == 0:
            break
    assert best is not None, "there is a candidate"
    return best
