"""Plan superregular noise: the path through the points, the tree on it, and its scales.

Claim.   The curator's answers to the plan's queries are epsilon-differentially private; "tight"
         scales cost exactly epsilon, those of the paper less.
Proof.   superregular.md, beside this file; the strategy states its own cost.
Source.  Boedihardjo, Strohmer, Vershynin (2024), Private measures, random walks, and synthetic
         data, arXiv:2204.09167, Theorems 3.1 and 7.2.
Oracle.  tests/mechanisms/wasserstein/superregular/test_plan.py enumerates all neighbours of small
         tables.
"""

from fractions import Fraction
from typing import Any, get_args

import numpy as np

from hallmark.mechanisms.blocks.marginals import whole
from hallmark.mechanisms.blocks.strategies.haar import Mode, superregular
from hallmark.mechanisms.blocks.strategies.strategy import Strategy
from hallmark.mechanisms.domain.domain import Kind
from hallmark.mechanisms.geometry.finite_metrics import MAX_POINTS as MAX_METRIC_POINTS
from hallmark.mechanisms.geometry.grids import MAX_SHORT_POINTS, Path
from hallmark.mechanisms.geometry.line import path_loss
from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.request import Request
from hallmark.mechanisms.wasserstein.single_histogram.design import Design, best_design
from hallmark.mechanisms.wasserstein.single_histogram.grid import Grid
from hallmark.mechanisms.wasserstein.single_histogram.parameters import AUTO, grids_asked_for
from hallmark.mechanisms.wasserstein.single_histogram.plan import HistogramPlan
from hallmark.mechanisms.wasserstein.single_histogram.settled_strategy import SettledStrategy

MOST_POINTS = 2**20
MOST_TRIED = 2**16
NOISE_DRAWS = 16  # for the mean cost of the noise
SOURCE = (
    "Boedihardjo, Strohmer, Vershynin (2024), Private measures, random walks, and synthetic data, "
    "Probability Theory and Related Fields 189, Theorem 7.2 and Corollary 7.4, with noise scales "
    "corrected for the neighbouring relation"
)


def make_plan(request: Request) -> HistogramPlan:
    """Spend at most `budget.epsilon`; a delta in the budget stays unused. Public.

    Raises:
        ValueError: an unknown parameter or value of it, a domain with too many points, or a path
            that does not suit it.
    """
    domain, adjacency, parameters = request.domain, request.adjacency, request.parameters
    request.refuse_unknown("superregular", {"cells", "path", "mode"})
    mode: Mode = _one_of("mode", parameters.get("mode", "tight"), get_args(Mode))
    path = _one_of("path", parameters.get("path", AUTO), (AUTO, *get_args(Path)))
    metric = any(attribute.kind is Kind.METRIC for attribute in domain.attributes)
    if path == AUTO:
        path = "short" if metric else "snake"
    limit = MAX_METRIC_POINTS if metric else MAX_SHORT_POINTS if path == "short" else MOST_POINTS

    def design(grid: Grid) -> Design:
        family = whole(domain, grid.k, path=path)
        space = family.blocks[0].space
        strategy = _strategy(space, request.budget.epsilon, adjacency, mode)
        errors = strategy.simulate(
            NOISE_DRAWS,
            np.random.default_rng(0),  # a plan is the same each time it is made
            total_is_public=adjacency.total_is_public,
        )
        cost = float(path_loss(space, errors, surplus_cost=0.5).mean())
        return Design(grid=grid, family=family, strategy=strategy, noise_cost=cost)

    tried = grids_asked_for(
        domain, parameters, most_points=limit, most_tried=min(limit, MOST_TRIED)
    )
    if path == "hilbert" and parameters.get("cells", AUTO) == AUTO:
        # Its curve needs such a k, and as many points a side; what lacks them is refused in words.
        powers = [grid for grid in tried if grid.k.bit_count() == 1]
        tried = [grid for grid in powers if set(grid.shape) == {grid.k}] or powers
    return HistogramPlan(
        mechanism="superregular",
        source=SOURCE,
        request=request,
        design=best_design(tried, design, records=request.expected_records),
        projection="path",
        settings={"path": path, "mode": mode},
    )


def _strategy(space: FiniteSpace, epsilon: Fraction, adjacency: Adjacency, mode: Mode) -> Strategy:
    noise = superregular(space, epsilon=epsilon, adjacency=adjacency, mode=mode)
    # The published noise has a root and padding even where the sum is known: bring it back to it.
    return noise if mode == "tight" else SettledStrategy(strategy=noise)


def _one_of(name: str, given: Any, allowed: tuple[str, ...]) -> Any:
    if given not in allowed:
        listed = " or ".join(repr(value) for value in allowed)
        raise ValueError(f"mechanism.{name}: {given!r}; use {listed}")
    return given
