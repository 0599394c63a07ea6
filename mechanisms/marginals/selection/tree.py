"""`mst`: measure all columns, choose a tree of dependent pairs privately, and measure its pairs.

Claim.   A run is (epsilon, delta)-differentially private within the budget, under `adjacency`.
Proof.   Three parts of rho / 3 each: the one-way marginals; one private choice less than there are
         columns, each among the pairs that join two parts of the forest so far; and the pairs that
         were chosen. Which pairs are asked depends on answers, but the noise and the number of
         draws do not: every event is fixed beforehand and bounds its draw whatever was chosen (the
         sensitivity of a marginal, and of a misfit, is the same for all of them). So the list may
         be composed adaptively by every route of the accountant, privacy losses included, and no
         event is `adaptive`. rho itself comes from `calibration` of this very list.
Source.  McKenna, Miklau, Sheldon (2021), "Winning the NIST contest: a scalable and general approach
         to differentially private synthetic data", arXiv:2108.04978, Algorithms 1 to 3. Ours: no
         compression of rare values, since cells are public, and exact noise.
Oracle.  tests/mechanisms/marginals/selection/test_tree.py enumerates the law of the choices.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.domain.cliques import Clique, cells
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.simplex import project_on_simplex
from hallmark.mechanisms.marginals.evidence import Evidence
from hallmark.mechanisms.marginals.selection.design import (
    Answer,
    Asked,
    Effort,
    Modeller,
    columns,
    line_of_columns,
)
from hallmark.mechanisms.marginals.selection.misfit import misfit
from hallmark.mechanisms.marginals.selection.settings import Settings, refuse_unknown
from hallmark.mechanisms.marginals.selection.spending import (
    choice_epsilon,
    gaussian_event,
    marginal_sigma2,
    refuse_unservable,
)
from hallmark.mechanisms.marginals.selection.turn import choice_call
from hallmark.mechanisms.marginals.selection.workload import refuse_large
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calibration import largest_rho
from hallmark.mechanisms.privacy.calls import MarginalRounds
from hallmark.mechanisms.privacy.events import Event, ExponentialMechanism

_PAIRS = "pairs"  # the call that measures them

Pick = Callable[[Sequence[Clique]], int]
"""Which of several pairs joins the tree next, by position."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TreeDesign:
    """All one-way marginals, then the pairs of a tree. Every field is public.

    Attributes:
        rho: what the whole costs, in zCDP.
    """

    domain: Domain
    adjacency: Adjacency
    rho: Fraction

    @property
    def name(self) -> str:
        return "mst"

    @property
    def source(self) -> str:
        return (
            "McKenna, Miklau, Sheldon (2021), Winning the NIST contest, arXiv:2108.04978, "
            "Algorithms 1 to 3"
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        one_way, choice, pair = _noise(self.rho, self.adjacency, len(self.domain))
        return {
            "rho": str(self.rho),
            "one_way_sigma2": str(one_way),
            "choices": len(self.domain) - 1,
            "choice_epsilon": str(choice) if choice else None,
            "pair_sigma2": str(pair) if pair else None,
        }

    @cached_property
    def first(self) -> tuple[Asked, ...]:
        sigma2, _, _ = _noise(self.rho, self.adjacency, len(self.domain))
        return columns(self.domain, sigma2)

    @property
    def largest(self) -> tuple[Clique, ...]:
        """The one-way marginals, and the pairs of the tree that has the most cells."""
        shape = self.domain.shape

        def widest(pairs: Sequence[Clique]) -> int:
            return max(range(len(pairs)), key=lambda i: cells(pairs[i], shape))

        return (*((a,) for a in range(len(self.domain))), *_tree(len(self.domain), widest))

    @property
    def effort(self) -> Effort:
        """Of all pairs in each round; no model but the product of columns is needed."""
        pairs = list(combinations(range(len(self.domain)), 2))
        rounds = len(self.domain) - 1
        entries = sum(cells(pair, self.domain.shape) for pair in pairs)
        return Effort(candidates=rounds * len(pairs), cells=rounds * entries)

    @property
    def events(self) -> tuple[Event, ...]:
        return _events(self.rho, self.adjacency, len(self.domain))

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        attributes, shape = len(self.domain), self.domain.shape
        _, epsilon, sigma2 = _noise(self.rho, self.adjacency, attributes)
        ones = line_of_columns(self.domain, self.first, self.adjacency)
        if epsilon is None or sigma2 is None:
            return (ones,)
        pairs = self.largest[attributes:]
        return (
            ones,
            NoiseLine.of_choices(
                ExponentialMechanism(epsilon=epsilon, times=len(pairs)),
                f"choice of the {len(pairs)} pairs of a tree, one by one",
                adjacency=self.adjacency,
            ),
            NoiseLine.of(
                Asked(pairs[0], sigma2).query(shape),
                f"the {len(pairs)} two-way marginals of the tree (entries: at most)",
                sum(cells(pair, shape) for pair in pairs),
                adjacency=self.adjacency,
                times=len(pairs),
            ),
        )

    def rounds(
        self, curator: MarginalRounds, first: Sequence[Answer], modeller: Modeller
    ) -> tuple[Answer, ...]:
        """The choices, one call each, and the chosen pairs in one call."""
        _, epsilon, sigma2 = _noise(self.rho, self.adjacency, len(self.domain))
        if epsilon is None or sigma2 is None:
            return ()
        shape = self.domain.shape
        evidence = modeller.evidence(first, curator.total())
        ones = one_way_shares(evidence)
        event = ExponentialMechanism(epsilon=epsilon)
        calls = iter(range(1, len(self.domain)))

        def private(pairs: Sequence[Clique]) -> int:
            scores = [
                misfit(pair, evidence.total * np.multiply.outer(*(ones[a] for a in pair)), shape)
                for pair in pairs
            ]
            return curator.choose(choice_call(next(calls)), scores, event)

        asked = [Asked(pair, sigma2) for pair in _tree(len(self.domain), private)]
        tables = curator.histograms(_PAIRS, [one.query(shape) for one in asked])
        return tuple(Answer(one, table, _PAIRS) for one, table in zip(asked, tables, strict=True))


def plan_tree(
    domain: Domain, *, budget: Budget, adjacency: Adjacency, settings: Settings
) -> TreeDesign:
    """A tree of pairs; it has no settings.

    Raises:
        ValueError: a setting, a budget without delta, or tables that are too large.
    """
    refuse_unservable(budget, domain)
    refuse_unknown(settings, (), "mst")
    attributes = len(domain)
    refuse_large(combinations(range(attributes), 2), domain, "the pairs to choose among")
    return TreeDesign(
        domain=domain, adjacency=adjacency, rho=_calibrated(budget, adjacency, attributes)
    )


def one_way_shares(evidence: Evidence) -> list[Table]:
    """Distribution of every attribute: its noisy counts, made nonnegative with sum 1."""
    return [
        project_on_simplex(evidence.by_clique[(a,)].counts, evidence.total).masses / evidence.total
        for a in range(len(evidence.domain))
    ]


def _tree(attributes: int, pick: Pick) -> tuple[Clique, ...]:
    """Kruskal's forest, grown to a tree by the pairs that `pick` takes of those that join parts."""
    part = list(range(attributes))
    tree: list[Clique] = []
    while len(tree) < attributes - 1:
        joining = [(a, b) for a, b in combinations(range(attributes), 2) if part[a] != part[b]]
        a, b = joining[pick(joining)]
        tree.append((a, b))
        part = [part[a] if own == part[b] else own for own in part]
    return tuple(tree)


@lru_cache(maxsize=64)
def _calibrated(budget: Budget, adjacency: Adjacency, attributes: int) -> Fraction:
    return largest_rho(lambda rho: _events(rho, adjacency, attributes), budget).value


def _events(rho: Fraction, adjacency: Adjacency, attributes: int) -> tuple[Event, ...]:
    one_way, choice, pair = _noise(rho, adjacency, attributes)
    ones = gaussian_event(one_way, adjacency, times=attributes)
    if choice is None or pair is None:
        return (ones,)
    return (
        ones,
        ExponentialMechanism(epsilon=choice, times=attributes - 1),
        gaussian_event(pair, adjacency, times=attributes - 1),
    )


def _noise(
    rho: Fraction, adjacency: Adjacency, attributes: int
) -> tuple[Fraction, Fraction | None, Fraction | None]:
    """sigma2 of a one-way marginal, epsilon of a choice and sigma2 of a pair; of a single column
    there are no pairs."""
    if attributes == 1:
        return marginal_sigma2(rho, adjacency), None, None
    third = rho / 3
    return (
        marginal_sigma2(third, adjacency, attributes),
        choice_epsilon(third, attributes - 1),
        marginal_sigma2(third, adjacency, attributes - 1),
    )
