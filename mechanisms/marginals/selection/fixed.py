"""Selections that are fixed beforehand: all marginals of so many columns, or a weighted list.

Large ones may be measured twice, in cells and with a share of the budget in groups of cells. Noise
of one deviation hides what a table says of large parts of it the more, the more cells they have.

Claim.   The answers to `FixedDesign.first` are (epsilon, delta)-differentially private within the
         budget, under `adjacency`.
Proof.   No event depends on an answer. A unit changes one marginal by at most sqrt(l2_squared) in
         L2 norm (`adjacency`), so marginal S with noise sigma2 / w_S^2 costs l2_squared w_S^2 /
         (2 sigma2) in zCDP: Canonne, Kamath, Steinke (2020), arXiv:2004.00010, Theorem 14. The
         noise comes from `calibration`, which proves on which side of the budget these very events
         lie, privacy losses included.
Source.  Donhauser, Abad, Hulkund, Yang (2024), "Privacy-preserving data release leveraging optimal
         transport and particle gradient descent", ICML, measures all pairs with equal noise. Counts
         on several grids: Hay, Rastogi, Miklau, Suciu (2010), "Boosting the accuracy of
         differentially private histograms through consistency", PVLDB 3(1).
Oracle.  tests/mechanisms/marginals/selection/test_fixed.py enumerates all neighbours.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import log2, prod, sqrt
from typing import Any

from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.domain.cliques import Clique, cells, title
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.cell_groups import sizes_of
from hallmark.mechanisms.marginals.selection.design import Answer, Asked, Effort, Modeller
from hallmark.mechanisms.marginals.selection.settings import (
    Settings,
    refuse_unknown,
    share_or_zero,
    short,
)
from hallmark.mechanisms.marginals.selection.spending import (
    gaussian_event,
    marginal_sigma2,
    refuse_unservable,
)
from hallmark.mechanisms.marginals.selection.workload import (
    Priorities,
    Target,
    Workload,
    parse_priorities,
    parse_target,
    parse_workload,
    refuse_large,
    with_more_of,
)
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calibration import gaussian_sigma2, largest_rho
from hallmark.mechanisms.privacy.calls import MarginalRounds
from hallmark.mechanisms.privacy.events import Event, merged
from hallmark.mechanisms.privacy.rounding import decimal_above

_DIGITS = 6  # of a noise parameter, which is rounded up: a little more noise, a short number
_STEPS = 4  # weights between one power of two and the next
# benchmarks/levers.py has what groups gain.
GROUPS = 4  # of an attribute in a coarse table
_FEWER = 2  # a table is measured in groups, too, where these are fewer than cells by this factor


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedDesign:
    """Marginals that are measured in one call. Every field is public.

    Attributes:
        workload: what is measured in cells: `asked` as the emphasis weighs it, and `more`.
        added: one-way marginals of attributes that it leaves out.
        grouped: marginals of the workload that are measured in groups of cells, too.
        sigma2: noise parameter of every table, in the order workload, added, grouped; records^2.
        emphasis: exponent of the cells in the weights; 0 where weights are as asked.
        coarse: share of the budget, in zCDP, for the groups.
        more: what is in the workload besides, `priorities` or a `target`.
        asked: the workload as the spec has it.
    """

    domain: Domain
    adjacency: Adjacency
    workload: Workload
    added: tuple[Clique, ...]
    grouped: tuple[Clique, ...]
    sigma2: tuple[Fraction, ...]
    emphasis: Fraction = Fraction(0)
    coarse: Fraction = Fraction(0)
    more: Mapping[str, Priorities | Target] = field(default_factory=dict)
    asked: Workload

    @property
    def name(self) -> str:
        return "all"

    @property
    def source(self) -> str:
        return (
            "Donhauser, Abad, Hulkund, Yang (2024), Privacy-preserving data release leveraging "
            "optimal transport and particle gradient descent, ICML, section 3"
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        named = {"one_ways_added": [title(clique, self.domain.names) for clique in self.added]}
        sigma2 = [str(s) for s in sorted(set(self.sigma2))]
        return {
            **self.asked.to_json(self.domain),
            **{name: more.to_json(self.domain) for name, more in self.more.items()},
            **(named if self.added else {}),
            "emphasis": float(self.emphasis),
            **({"coarse": float(self.coarse), "groups": GROUPS} if self.grouped else {}),
            "sigma2": sigma2[0] if len(sigma2) == 1 else sigma2,
        }

    @cached_property
    def first(self) -> tuple[Asked, ...]:
        fine = len(self.largest)
        return (
            *(Asked(c, s) for c, s in zip(self.largest, self.sigma2[:fine], strict=True)),
            *(
                Asked(c, s, groups=GROUPS)
                for c, s in zip(self.grouped, self.sigma2[fine:], strict=True)
            ),
        )

    @property
    def largest(self) -> tuple[Clique, ...]:
        return (*self.workload.cliques, *self.added)

    @property
    def effort(self) -> Effort:
        return Effort()

    @property
    def events(self) -> tuple[Event, ...]:
        return merged(gaussian_event(sigma2, self.adjacency) for sigma2 in self.sigma2)

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        lines, shape = [], self.domain.shape
        for groups, sigma2 in sorted({(a.groups or 0, a.sigma2) for a in self.first}):
            alike = [a for a in self.first if (a.groups or 0, a.sigma2) == (groups, sigma2)]
            lines.append(
                NoiseLine.of(
                    alike[0].query(shape),
                    self._what([asked.clique for asked in alike])
                    + (f", in {groups} groups of cells a column" if groups else ""),
                    sum(prod(asked.sizes(shape)) for asked in alike),
                    adjacency=self.adjacency,
                    times=len(alike),
                )
            )
        return tuple(lines)

    def rounds(
        self, curator: MarginalRounds, first: Sequence[Answer], modeller: Modeller
    ) -> tuple[Answer, ...]:
        """No rounds: nothing is left to ask."""
        return ()

    def _what(self, alike: Sequence[Clique]) -> str:
        if len(alike) == 1:
            return f"the marginal {title(alike[0], self.domain.names)}"
        if len(alike) == len(self.largest) and self.workload.ways is not None:
            return f"all {len(alike)} {self.workload.ways}-way marginals"
        return f"{len(alike)} marginals, such as {title(alike[0], self.domain.names)}"


def plan_fixed(
    domain: Domain, *, budget: Budget, adjacency: Adjacency, settings: Settings
) -> FixedDesign:
    """All marginals of `ways` columns (2, where nothing is set) with equal noise; or a listed
    `workload` with noise sigma / weight, where columns in no marginal are measured by themselves
    with the mean of the weights. An `emphasis` e multiplies the weight of a marginal of m cells by
    m^e: large tables have more to lose to noise of the same size. `coarse` is the share of the
    budget for the same marginals in groups of cells, where they are large. `priorities` name
    columns that have marginals of more of them besides, `target` one whose pairs are measured more
    precisely.

    Raises:
        ValueError: a wrong setting, a budget without delta, or tables that are too large.
    """
    refuse_unservable(budget, domain)
    refuse_unknown(
        settings, ("ways", "workload", "emphasis", "coarse", "priorities", "target"), "all"
    )
    given = parse_workload(settings, domain)
    emphasis = share_or_zero(settings, "emphasis")
    coarse = share_or_zero(settings, "coarse")
    sections = {
        "target": parse_target(settings, domain),
        "priorities": parse_priorities(settings, domain),
    }
    more = {name: section for name, section in sections.items() if section is not None}
    workload = _emphasised(given, emphasis, domain)
    for section in more.values():
        workload = with_more_of(workload, section)
    covered = {a for clique in workload.cliques for a in clique}
    added = tuple((a,) for a in range(len(domain)) if a not in covered)
    refuse_large((*workload.cliques, *added), domain, "the marginals to be measured")
    mean = sum(workload.weights, Fraction(0)) / len(workload.weights)
    weights = dict(zip(workload.cliques, workload.weights, strict=True)) | dict.fromkeys(
        added, mean
    )
    grouped = tuple(c for c in workload.cliques if coarse and is_large(c, domain.shape))
    scale = _scale(coarse, list(weights.values()), [weights[c] for c in grouped])
    return FixedDesign(
        domain=domain,
        adjacency=adjacency,
        workload=workload,
        added=added,
        grouped=grouped,
        sigma2=_calibrated(
            budget, adjacency, (*weights.values(), *(scale * weights[c] for c in grouped))
        ),
        emphasis=emphasis,
        coarse=coarse,
        more=more,
        asked=given,
    )


def is_large(clique: Clique, shape: Sequence[int]) -> bool:
    """Whether groups are much fewer than cells."""
    return cells(clique, shape) >= _FEWER * prod(sizes_of(clique, shape, GROUPS))


def _scale(coarse: Fraction, weights: Sequence[Fraction], grouped: Sequence[Fraction]) -> Fraction:
    """Of the weights of coarse tables beside those of their fine ones, so that their squares are
    the share `coarse` of all squares."""
    if not grouped:
        return Fraction(0)
    fine, own = (sum((w**2 for w in some), Fraction(0)) for some in (weights, grouped))
    return short(sqrt(coarse / (1 - coarse) * fine / own))


def _emphasised(workload: Workload, emphasis: Fraction, domain: Domain) -> Workload:
    """The workload with its weights multiplied by cells^emphasis, as powers of 2^(1/4).

    Few different weights make few kinds of noise, which the accountant composes faster.
    """
    sizes = [cells(clique, domain.shape) for clique in workload.cliques]
    steps = [round(_STEPS * float(emphasis) * log2(size)) for size in sizes]
    factors = [short(2 ** (step / _STEPS)) for step in steps]
    weights = tuple(w * factor for w, factor in zip(workload.weights, factors, strict=True))
    return replace(workload, weights=weights)


@lru_cache(maxsize=64)
def _calibrated(
    budget: Budget, adjacency: Adjacency, weights: tuple[Fraction, ...]
) -> tuple[Fraction, ...]:
    """Noise parameters sigma2 / w_S^2 that the budget just pays for."""
    if len(set(weights)) == 1:
        equal = gaussian_sigma2(
            budget,
            l2_squared=adjacency.l2_squared,
            unit_moves=adjacency.unit_moves,
            count=len(weights),
        )
        return (equal.value,) * len(weights)
    # Few weights differ, of however many marginals.
    times = Counter(weights)
    squares = sum((n * weight**2 for weight, n in times.items()), Fraction(0))

    def noise(rho: Fraction) -> Mapping[Fraction, Fraction]:
        return {
            w: decimal_above(marginal_sigma2(rho * w**2 / squares, adjacency), _DIGITS)
            for w in times
        }

    def events_at(rho: Fraction) -> tuple[Event, ...]:
        sigmas = noise(rho)
        return merged(gaussian_event(sigmas[w], adjacency, times=n) for w, n in times.items())

    affordable = noise(largest_rho(events_at, budget).value)
    return tuple(affordable[weight] for weight in weights)
