"""Plan PSMM: the grid, and the noise on its counts.

Claim.   The curator's answers to the plan's queries are epsilon-differentially private, with
         epsilon exactly that of the budget.
Proof.   psmm.md, beside this file; the strategy states its own cost.
Source.  He, Vershynin, Zhu (2023), arXiv:2302.05552, Algorithm 1, whose privacy claim
         (Proposition 5) misses a factor of two where records are replaced.
Oracle.  tests/mechanisms/wasserstein/psmm/test_plan.py enumerates all neighbours of small tables.
"""

from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.blocks.marginals import whole
from hallmark.mechanisms.blocks.strategies.identity import identity
from hallmark.mechanisms.blocks.strategies.strategy import Strategy
from hallmark.mechanisms.domain.domain import Domain, Kind
from hallmark.mechanisms.geometry.finite_metrics import MAX_POINTS as MAX_METRIC_POINTS
from hallmark.mechanisms.geometry.line import is_line, path_loss, tree_loss
from hallmark.mechanisms.geometry.transport import hub_transport
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.transforms import Total
from hallmark.mechanisms.request import Request
from hallmark.mechanisms.wasserstein.single_histogram.design import Design, best_design
from hallmark.mechanisms.wasserstein.single_histogram.grid import Grid, grids
from hallmark.mechanisms.wasserstein.single_histogram.parameters import grids_asked_for
from hallmark.mechanisms.wasserstein.single_histogram.plan import HistogramPlan
from hallmark.mechanisms.wasserstein.single_histogram.settled_strategy import SettledStrategy

MOST_POINTS = 2**16  # projected exactly in minutes
MOST_TRIED = 2**14  # in seconds
MOST_TRANSPORTED = 2**10  # points up to which the cost of noise is found by exact transport
NOISE_DRAWS = 8  # for the mean cost of the noise
TOTAL_SHARE = Fraction(1, 20)  # of epsilon, for a private number of records
SOURCE = (
    "He, Vershynin, Zhu (2023), Algorithmically effective differentially private synthetic data, "
    "COLT, Algorithm 1, with the accounting corrected for the neighbouring relation and the "
    "projection of Algorithm 2 corrected"
)


def make_plan(request: Request) -> HistogramPlan:
    """Spend exactly `budget.epsilon`; a delta in the budget stays unused. Public.

    Raises:
        ValueError: an unknown parameter or value of it, or a domain with too many points.
    """
    domain = request.domain
    request.refuse_unknown("psmm", {"cells"})
    metric = any(attribute.kind is Kind.METRIC for attribute in domain.attributes)
    limit = MAX_METRIC_POINTS if metric else MOST_POINTS
    costs = _NoiseCosts(domain, request.budget.epsilon, request.adjacency)
    tried = grids_asked_for(
        domain, request.parameters, most_points=limit, most_tried=min(limit, MOST_TRIED)
    )
    return HistogramPlan(
        mechanism="psmm",
        source=SOURCE,
        request=request,
        design=best_design(tried, costs.design, records=request.expected_records),
        projection="transport",
        settings={},
    )


def noisy_counts(size: int, *, epsilon: Fraction, adjacency: Adjacency) -> Strategy:
    """Equal noise on all counts that costs exactly `epsilon`.

    A private number of records is the sum of the counts or, where so many points make a poor sum,
    asked for by itself. It changes by c_0 where counts change by c, so with share s of epsilon its
    variance is (c_0 / (s c))^2 times a count's.
    """
    moved = Total().l1(adjacency)
    if adjacency.total_is_public or size * TOTAL_SHARE**2 <= Fraction(moved, adjacency.l1) ** 2:
        return identity(size, epsilon=epsilon, adjacency=adjacency)
    return SettledStrategy(
        strategy=identity(size, epsilon=(1 - TOTAL_SHARE) * epsilon, adjacency=adjacency),
        total_scale=moved / (TOTAL_SHARE * epsilon),
    )


class _NoiseCosts:
    """What evening out the noise costs on average, on grids of one domain.

    By exact transport on small grids. On larger ones transport along the tree is a bound in linear
    time; it is scaled by what it overstates the cost by on the finest of the small grids.
    """

    def __init__(self, domain: Domain, epsilon: Fraction, adjacency: Adjacency) -> None:
        self._domain, self._epsilon, self._adjacency = domain, epsilon, adjacency

    def design(self, grid: Grid) -> Design:
        """The grid with the noise on its counts, and what that costs."""
        family = whole(self._domain, grid.k)
        strategy = noisy_counts(grid.size, epsilon=self._epsilon, adjacency=self._adjacency)
        space, errors = family.blocks[0].space, self._errors(strategy)
        if is_line(space):
            cost = path_loss(space, errors, surplus_cost=0.5)
        elif space.size <= MOST_TRANSPORTED:
            cost = hub_transport(space, errors)
        else:
            cost = tree_loss(space, errors, surplus_cost=0.5) * self._overstated
        return Design(grid=grid, family=family, strategy=strategy, noise_cost=float(cost.mean()))

    @cached_property
    def _overstated(self) -> float:
        """Exact cost of the noise over that along the tree, on the finest small grid."""
        try:
            *_, finest = grids(self._domain, most_points=MOST_TRANSPORTED)
        except ValueError:  # there is no small grid: keep to the bound
            return 1.0
        design = self.design(finest)
        along_tree = tree_loss(design.space, self._errors(design.strategy), surplus_cost=0.5)
        bound = max(float(along_tree.mean()), design.noise_cost)
        return design.noise_cost / bound if bound else 1.0  # no draw had any noise

    def _errors(self, strategy: Strategy) -> NDArray[np.float64]:
        return strategy.simulate(
            NOISE_DRAWS,
            np.random.default_rng(0),  # a plan is the same each time it is made
            total_is_public=self._adjacency.total_is_public,
        )
