"""`strongest`: for wide tables, the pairs that fit worst, as many as columns in each of few rounds.

Where a table has many columns, noise that pays for all pairs hides each of them, although few
matter. Here all columns are measured, then rounds choose a batch of pairs by their distance from
what the model of the moment says, which costs next to nothing, and measure these: in cells, and in
groups of cells. A pair may come again, in another round: so where few pairs depend on each other
they are measured over and over, and where many do, ever new ones are.

Claim.   A run is (epsilon, delta)-differentially private within the budget, under `adjacency`.
Proof.   Shares of rho go to the columns, to the choices, all with one epsilon, and to the two
         tables of every pair that is chosen. Which pairs are asked depends on answers; noise and
         number of draws are fixed beforehand, so no event is `adaptive` (as in `tree`), and rho
         comes from `calibration` of this very list. A pair of few cells is asked twice in cells,
         so that the list is the same whatever is chosen. The choices of a round are drawn one after
         the other without replacement (`Curator.choose_several`), from scores of the sensitivity
         that `misfit` states.
Source.  The choice: McKenna, Miklau, Sheldon (2021), arXiv:2108.04978, and Donhauser, Abad,
         Hulkund, Yang (2024), ICML, Algorithm 2; in batches: Durfee, Rogers (2019),
         arXiv:1905.04273. With groups of cells, and in rounds that repeat, they are ours.
Oracle.  tests/mechanisms/marginals/selection/test_strongest.py; benchmarks/held_out.py has what it
         gains, beside all pairs and a tree.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, prod
from typing import Any

from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.domain.cliques import Clique, cells
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.selection.design import (
    Answer,
    Asked,
    Effort,
    Modeller,
    columns,
    columns_and_largest,
    line_of_columns,
)
from hallmark.mechanisms.marginals.selection.fixed import GROUPS, is_large
from hallmark.mechanisms.marginals.selection.misfit import misfit
from hallmark.mechanisms.marginals.selection.settings import Settings, refuse_unknown, share, whole
from hallmark.mechanisms.marginals.selection.spending import (
    choice_epsilon,
    gaussian_event,
    marginal_sigma2,
    refuse_unservable,
    rho_for,
)
from hallmark.mechanisms.marginals.selection.turn import choice_call
from hallmark.mechanisms.marginals.selection.workload import refuse_large
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calls import MarginalRounds
from hallmark.mechanisms.privacy.events import Event, ExponentialMechanism

# Chosen on made-up tables of 20 to 60 columns of 16 cells; benchmarks/held_out.py judges on others.
_ROUNDS = 3
_ONE_WAY_SHARE = Fraction(35, 100)  # of rho
_CHOICE_SHARE = Fraction(5, 100)  # of rho
_COARSE_SHARE = Fraction(1, 5)  # of a pair's rho, for its groups


@dataclass(frozen=True, kw_only=True)
class PairNoise:
    """What pairs are chosen and measured with. Public.

    Attributes:
        choice: epsilon.
        fine, coarse: sigma2 of a pair in cells, and in groups, records^2.
    """

    choice: Fraction
    fine: Fraction
    coarse: Fraction


@dataclass(frozen=True, kw_only=True)
class Split:
    """How rho is spent. Public.

    Attributes:
        attributes: one-way marginals.
        turns: rounds.
        batch: pairs that a round chooses; 0 of a single column.
        single_columns: share of rho for the one-way marginals.
    """

    attributes: int
    turns: int
    batch: int
    single_columns: Fraction

    @property
    def chosen(self) -> int:
        """Pairs in all rounds."""
        return self.turns * self.batch

    def noise(self, rho: Fraction, adjacency: Adjacency) -> tuple[Fraction, PairNoise | None]:
        """sigma2 of a one-way marginal, and the noise of pairs; None of a single column."""
        if not self.batch:
            return marginal_sigma2(rho, adjacency), None
        pairs = (1 - self.single_columns - _CHOICE_SHARE) * rho
        return (
            marginal_sigma2(self.single_columns * rho, adjacency, self.attributes),
            PairNoise(
                choice=choice_epsilon(_CHOICE_SHARE * rho, self.chosen),
                fine=marginal_sigma2((1 - _COARSE_SHARE) * pairs, adjacency, self.chosen),
                coarse=marginal_sigma2(_COARSE_SHARE * pairs, adjacency, self.chosen),
            ),
        )

    def events(self, rho: Fraction, adjacency: Adjacency) -> tuple[Event, ...]:
        """What a run charges."""
        one_way, pairs = self.noise(rho, adjacency)
        ones = gaussian_event(one_way, adjacency, times=self.attributes)
        if pairs is None:
            return (ones,)
        return (
            ones,
            ExponentialMechanism(epsilon=pairs.choice, times=self.chosen),
            gaussian_event(pairs.fine, adjacency, times=self.chosen),
            gaussian_event(pairs.coarse, adjacency, times=self.chosen),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class StrongestDesign:
    """All one-way marginals, then rounds of pairs. Every field is public.

    Attributes:
        rho: what the whole costs, in zCDP.
        split: of rho.
    """

    domain: Domain
    adjacency: Adjacency
    rho: Fraction
    split: Split

    @property
    def name(self) -> str:
        return "strongest"

    @property
    def source(self) -> str:
        return (
            "ours: the pairs that fit worst, chosen in batches by exponential mechanisms (Durfee, "
            "Rogers (2019), Practical Differentially Private Top-k Selection with Pay-what-you-get "
            "Composition, arXiv:1905.04273)"
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        one_way, pairs = self._noise
        return {
            "rho": str(self.rho),
            "rounds": self.split.turns,
            "pairs_a_round": self.split.batch,
            "one_way_share": str(self.split.single_columns),
            "choice_share": str(_CHOICE_SHARE),
            "coarse_share": str(_COARSE_SHARE),
            "groups": GROUPS,
            "one_way_sigma2": str(one_way),
            "choice_epsilon": str(pairs.choice) if pairs else None,
            "pair_sigma2": str(pairs.fine) if pairs else None,
            "coarse_sigma2": str(pairs.coarse) if pairs else None,
        }

    @property
    def _noise(self) -> tuple[Fraction, PairNoise | None]:
        return self.split.noise(self.rho, self.adjacency)

    @cached_property
    def first(self) -> tuple[Asked, ...]:
        one_way, _ = self._noise
        return columns(self.domain, one_way)

    @cached_property
    def pairs(self) -> tuple[Clique, ...]:
        """What a round may choose."""
        return tuple(combinations(range(len(self.domain)), 2))

    @property
    def largest(self) -> tuple[Clique, ...]:
        """The one-way marginals, and as many pairs as may be chosen, those of most cells first."""
        return columns_and_largest(self.domain, self.pairs, self.split.chosen)

    @property
    def effort(self) -> Effort:
        turns, entries = self.split.turns, sum(cells(p, self.domain.shape) for p in self.pairs)
        return Effort(
            candidates=turns * len(self.pairs),
            cells=turns * entries,
            models=turns,
            tables=self.split.chosen,
        )

    @property
    def events(self) -> tuple[Event, ...]:
        return self.split.events(self.rho, self.adjacency)

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        ones = line_of_columns(self.domain, self.first, self.adjacency)
        _, pairs = self._noise
        if pairs is None:
            return (ones,)
        split, chosen, shape = self.split, self.split.chosen, self.domain.shape
        widest = max(self.pairs, key=lambda pair: cells(pair, shape))
        fine, coarse = self._asked(widest, pairs)
        return (
            ones,
            NoiseLine.of_choices(
                ExponentialMechanism(epsilon=pairs.choice, times=chosen),
                f"choice of the pairs that fit worst, in {split.turns} rounds of {split.batch}",
                adjacency=self.adjacency,
            ),
            NoiseLine.of(
                fine.query(shape),
                f"the {chosen} pairs that are chosen (entries: at most)",
                chosen * cells(widest, shape),
                adjacency=self.adjacency,
                times=chosen,
            ),
            NoiseLine.of(
                coarse.query(shape),
                f"the same pairs, in {GROUPS} groups of cells a column (entries: at most)",
                chosen * prod(coarse.sizes(shape)),
                adjacency=self.adjacency,
                times=chosen,
            ),
        )

    def rounds(
        self, curator: MarginalRounds, first: Sequence[Answer], modeller: Modeller
    ) -> tuple[Answer, ...]:
        """Fit, choose a batch, measure it."""
        _, pairs = self._noise
        if pairs is None:
            return ()
        total, shape = curator.total(), self.domain.shape
        event = ExponentialMechanism(epsilon=pairs.choice, times=self.split.batch)
        answers, model = list(first), None
        for number in range(1, self.split.turns + 1):
            model = modeller.model(answers, total, model)
            records = modeller.evidence(answers, total).total
            scores = [misfit(pair, records * model.wanted(pair), shape) for pair in self.pairs]
            chosen = curator.choose_several(choice_call(number), scores, event)
            asked = [one for index in chosen for one in self._asked(self.pairs[index], pairs)]
            call = f"round-{number}-marginals"
            tables = curator.histograms(call, [one.query(shape) for one in asked])
            answers += [Answer(one, table, call) for one, table in zip(asked, tables, strict=True)]
        return tuple(answers[len(first) :])

    def _asked(self, pair: Clique, noise: PairNoise) -> tuple[Asked, Asked]:
        """A pair in cells, and in groups; one of few cells is asked twice in these."""
        groups = GROUPS if is_large(pair, self.domain.shape) else None
        return Asked(pair, noise.fine), Asked(pair, noise.coarse, groups=groups)


def plan_strongest(
    domain: Domain, *, budget: Budget, adjacency: Adjacency, settings: Settings
) -> StrongestDesign:
    """`rounds` rounds (3, where nothing is set), each of as many pairs as there are columns, after
    the one-way marginals with `one_way_share` of rho.

    Raises:
        ValueError: a wrong setting, a budget without delta, or tables that are too large.
    """
    refuse_unservable(budget, domain)
    refuse_unknown(settings, ("rounds", "one_way_share"), "strongest")
    attributes = len(domain)
    refuse_large(combinations(range(attributes), 2), domain, "the pairs to choose among")
    single_columns = share(settings, "one_way_share", _ONE_WAY_SHARE)
    if single_columns + _CHOICE_SHARE >= 1:
        raise ValueError(
            f"mechanism.selection.one_way_share: {float(single_columns):g} leaves nothing for "
            f"pairs; give a number below {float(1 - _CHOICE_SHARE):g}"
        )
    split = Split(
        attributes=attributes,
        turns=whole(settings, "rounds", _ROUNDS),
        batch=min(attributes, comb(attributes, 2)),
        single_columns=single_columns,
    )
    return StrongestDesign(
        domain=domain,
        adjacency=adjacency,
        rho=rho_for(split, budget, adjacency),
        split=split,
    )
