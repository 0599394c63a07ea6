"""Choose the noise of a family's blocks by what it costs in transport, from public numbers alone.

Claim.   The choice reads no data, so it costs no privacy; made again, it is the same.
Proof.   It is a function of the spaces, the budget and the relation: seeds are fixed.
Source.  "Certified private data release for sparse Lipschitz functions" (AISTATS 2024), Section 3,
         has Haar noise along a path; equal noise on all cells, centred, costs a third to an eighth
         of that for blocks of two columns and more, and Gaussian noise less again for many blocks.
Oracle.  tests/mechanisms/blocks/test_choose_noise.py holds the costs to measured tables.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from hallmark.mechanisms.blocks.family import Block, Family
from hallmark.mechanisms.blocks.strategies.haar import haar, paper_haar, superregular
from hallmark.mechanisms.blocks.strategies.identity import Identity, identity
from hallmark.mechanisms.blocks.strategies.strategy import Strategy
from hallmark.mechanisms.blocks.strategies.two_level import two_level
from hallmark.mechanisms.geometry.line import is_line
from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.geometry.transport import transport_cost
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calibration import gaussian_sigma2
from hallmark.mechanisms.privacy.events import Event
from hallmark.mechanisms.privacy.queries import GaussianNoise

NoiseChoice = Literal["auto", "identity", "haar", "two-level", "gaussian", "superregular", "paper"]

DRAWS = 8  # simulated of each candidate
LINE_DRAWS = 64  # on a line costs vary more, by half of their mean, and are sums, without flows
_BATCH = 1 << 21  # noisy counts simulated at a time
QUANTILE = 1.4  # upper quantile of the largest block's cost over the mean of one, about


def chosen_strategies(
    noise: NoiseChoice,
    family: Family,
    budget: Budget,
    adjacency: Adjacency,
    *,
    beside: tuple[Event, ...] = (),
) -> tuple[tuple[Strategy, ...], float]:
    """One strategy a block, and what the costliest block's noise costs on average.

    "auto" simulates all that the budget allows on the largest line and on the largest other block,
    before any data are touched, with a fixed seed; blocks of a kind are measured alike. Every block
    costs the same part of the budget.

    Args:
        beside: what else Gaussian noise leaves room for in the budget; with other noise, the caller
            leaves it out of the budget.
    Returns:
        The strategies in the blocks' order; and records times distance.
    Raises:
        ValueError: Gaussian noise under a budget without delta, or two levels of what is no line.
    """
    if noise == "gaussian" and budget.is_pure:
        raise ValueError("mechanism.noise: gaussian, which needs privacy.delta above 0")
    assert noise == "gaussian" or not beside, "no other noise is calibrated beside events"
    lines = [is_line(block.space) for block in family.blocks]
    chosen, costs = {}, []
    for line in set(lines):
        alike = [b for b, own in zip(family.blocks, lines, strict=True) if own == line]
        largest = max(alike, key=lambda block: block.space.size)
        expected = {
            name: expected_noise(
                largest.space,
                _strategy(name, largest, len(family), budget, adjacency, beside),
                adjacency=adjacency,
            )
            for name in _candidates(noise, line, budget)
        }
        chosen[line] = min(expected, key=expected.__getitem__)
        costs.append(expected[chosen[line]])
    strategies = tuple(
        _strategy(chosen[line], block, len(family), budget, adjacency, beside)
        for block, line in zip(family.blocks, lines, strict=True)
    )
    return strategies, max(costs)


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


def _candidates(noise: NoiseChoice, line: bool, budget: Budget) -> Sequence[NoiseChoice]:
    if noise != "auto":
        return (noise,)
    on_lines: tuple[NoiseChoice, ...] = ("two-level",) if line else ()
    with_delta: tuple[NoiseChoice, ...] = () if budget.is_pure else ("gaussian",)
    return ("identity", "haar", *on_lines, *with_delta)


def _strategy(
    name: NoiseChoice,
    block: Block,
    blocks: int,
    budget: Budget,
    adjacency: Adjacency,
    beside: tuple[Event, ...],
) -> Strategy:
    epsilon = budget.epsilon / blocks
    match name:
        case "identity":
            return identity(block.space.size, epsilon=epsilon, adjacency=adjacency)
        case "haar":
            return haar(block.space.tree, epsilon=epsilon, adjacency=adjacency)
        case "two-level":
            if not is_line(block.space):
                raise ValueError(f"mechanism.noise: two-level, but {block.name} is no line")
            return two_level(block.space, epsilon=epsilon, adjacency=adjacency)
        case "superregular":
            return superregular(block.space, epsilon=epsilon, adjacency=adjacency)
        case "paper":
            return paper_haar(block.space, epsilon=epsilon, adjacency=adjacency)
        case "gaussian":
            calibration = gaussian_sigma2(
                budget,
                l2_squared=adjacency.l2_squared,
                unit_moves=adjacency.unit_moves,
                count=blocks,
                beside=beside,
            )
            return Identity(size=block.space.size, cell_noise=GaussianNoise(calibration.value))
    raise ValueError(f"mechanism.noise: {name!r} is no strategy")
