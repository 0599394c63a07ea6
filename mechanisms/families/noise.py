"""Choose the noise of a family's blocks by what it costs in transport, from public numbers alone.

Source.  "Certified private data release for sparse Lipschitz functions" (AISTATS 2024), Section 3,
         has Haar noise along a path; equal noise on all cells, centred, costs a third to an eighth
         of that for blocks of two columns and more, and Gaussian noise less again for many blocks.
Oracle.  tests/mechanisms/families/test_noise.py.
"""

from typing import Literal

import numpy as np

from mechanisms.certificates.family import transport_cost
from mechanisms.families.family import Block, Family
from mechanisms.privacy.adjacency import Adjacency
from mechanisms.privacy.budget import Budget
from mechanisms.privacy.calibration import gaussian_sigma2
from mechanisms.privacy.queries import GaussianNoise
from mechanisms.strategies.haar import haar, paper_haar, superregular
from mechanisms.strategies.identity import Identity, identity
from mechanisms.strategies.strategy import Strategy

Noise = Literal["auto", "identity", "haar", "gaussian", "superregular", "paper"]

DRAWS = 4  # simulated of each
QUANTILE = 1.4  # upper quantile of the largest block's cost over the mean of one, about


def chosen_strategies(
    noise: Noise, family: Family, budget: Budget, adjacency: Adjacency
) -> tuple[tuple[Strategy, ...], float]:
    """One strategy a block, and what its noise costs on average in the largest block.

    "auto" simulates all that the budget allows, before any data are touched, with a fixed seed.
    Every block costs the same part of the budget.

    Returns:
        The strategies in the blocks' order; and records times distance.
    Raises:
        ValueError: Gaussian noise under a budget without delta.
    """
    names: tuple[Noise, ...] = (noise,)
    if noise == "auto":
        names = ("identity", "haar") if budget.is_pure else ("identity", "haar", "gaussian")
    if noise == "gaussian" and budget.is_pure:
        raise ValueError("mechanism.noise: gaussian, which needs privacy.delta above 0")
    largest = max(family.blocks, key=lambda block: block.space.size)
    costs = {}
    for name in names:
        strategy = _strategy(name, largest, len(family), budget, adjacency)
        errors = strategy.simulate(
            DRAWS, np.random.default_rng(0), total_is_public=adjacency.total_is_public
        )
        costs[name] = float(transport_cost(largest.space, errors).mean())
    best = min(costs, key=costs.__getitem__)
    strategies = tuple(
        _strategy(best, block, len(family), budget, adjacency) for block in family.blocks
    )
    return strategies, costs[best]


def _strategy(
    name: Noise, block: Block, blocks: int, budget: Budget, adjacency: Adjacency
) -> Strategy:
    epsilon = budget.epsilon / blocks
    match name:
        case "identity":
            return identity(block.space.size, epsilon=epsilon, adjacency=adjacency)
        case "haar":
            return haar(block.space.tree, epsilon=epsilon, adjacency=adjacency)
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
            )
            return Identity(size=block.space.size, cell_noise=GaussianNoise(calibration.value))
    raise ValueError(f"mechanism.noise: {name!r} is no strategy")
