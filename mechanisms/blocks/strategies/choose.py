"""Choose how one space is measured, by what the noise costs in transport. Public.

Claim.   The choice reads no data, so it costs no privacy; made again, it is the same.
Proof.   It is a function of the space, the budget and the relation: seeds are fixed.
Oracle.  tests/mechanisms/blocks/strategies/test_choose.py holds the costs to measured tables.
"""

from fractions import Fraction

import numpy as np

from hallmark.mechanisms.blocks.strategies.haar import haar
from hallmark.mechanisms.blocks.strategies.identity import identity
from hallmark.mechanisms.blocks.strategies.strategy import Strategy
from hallmark.mechanisms.blocks.strategies.two_level import two_level
from hallmark.mechanisms.geometry.line import is_line
from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.geometry.transport import transport_cost
from hallmark.mechanisms.privacy.adjacency import Adjacency

DRAWS = 8  # simulated of each candidate
LINE_DRAWS = 64  # on a line costs vary more, by half of their mean, and are sums, without flows
_BATCH = 1 << 21  # noisy counts simulated at a time


def best_strategy(space: FiniteSpace, *, epsilon: Fraction, adjacency: Adjacency) -> Strategy:
    """The strategy whose noise is cheapest to even out, among those that cost exactly `epsilon`.

    Equal noise on all points, noise on the tree of the space and, on a line, noise on two levels.
    """
    candidates: list[Strategy] = [
        identity(space.size, epsilon=epsilon, adjacency=adjacency),
        haar(space.tree, epsilon=epsilon, adjacency=adjacency),
    ]
    if is_line(space):
        candidates.append(two_level(space, epsilon=epsilon, adjacency=adjacency))
    return min(
        candidates, key=lambda strategy: expected_noise(space, strategy, adjacency=adjacency)
    )


def expected_noise(
    space: FiniteSpace, strategy: Strategy, *, adjacency: Adjacency, draws: int | None = None
) -> float:
    """Mean W1 between an estimate and the truth, simulated; records times distance.

    A wrong number of records settles at distance 1/2. On spaces too large for exact transport the
    mean of a bound: `transport_cost`.
    """
    if draws is None:
        draws = LINE_DRAWS if adjacency.total_is_public and is_line(space) else DRAWS
    rng = np.random.default_rng(0)  # a plan is the same each time it is made
    batch = max(1, _BATCH // space.size)
    costs = [
        transport_cost(
            space,
            strategy.simulate(
                min(batch, draws - start), rng, total_is_public=adjacency.total_is_public
            ),
        )
        for start in range(0, draws, batch)
    ]
    return float(np.concatenate(costs).mean())
