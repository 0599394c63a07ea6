"""`mwem`: a set number of rounds, each choosing and measuring the marginal that fits worst.

Claim.   A run is (epsilon, delta)-differentially private within the budget, under `adjacency`.
Proof.   A share of rho goes to the one-way marginals, the rest to T rounds alike, each with one
         choice and one marginal. Which marginal is asked depends on answers; noise and number of
         draws are fixed beforehand, so no event is `adaptive` (as in `tree`) and every route of the
         accountant applies; rho comes from `calibration` of this very list. A score moves by at
         most the L1 sensitivity of a histogram, in either direction, whatever the model (`misfit`).
Source.  Donhauser, Abad, Hulkund, Yang (2024), "Privacy-preserving data release leveraging optimal
         transport and particle gradient descent", ICML, Algorithm 2; after Hardt, Ligett, McSherry
         (2012), "A simple and practical algorithm for differentially private data release".
Oracle.  tests/mechanisms/marginals/selection/test_mwem.py enumerates the law of a choice.

The paper leaves open how candidates are scored: here by the L1 misfit less what noise alone makes
of it, with 9/10 of a round's rho for the marginal. One-way marginals come first, so that the first
model has the columns right and certificates have something to rest on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
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
from hallmark.mechanisms.marginals.selection.settings import Settings, refuse_unknown, share, whole
from hallmark.mechanisms.marginals.selection.spending import (
    CHOICE_SHARE,
    choice_epsilon,
    gaussian_event,
    marginal_sigma2,
    refuse_unservable,
    rho_for,
)
from hallmark.mechanisms.marginals.selection.turn import take_turn
from hallmark.mechanisms.marginals.selection.workload import Workload, parse_workload, refuse_large
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calls import MarginalRounds
from hallmark.mechanisms.privacy.events import Event, ExponentialMechanism

ONE_WAY_SHARE = Fraction(1, 5)  # of rho, where the spec gives none


@dataclass(frozen=True, kw_only=True)
class Split:
    """How rho is spent. Public.

    Attributes:
        attributes: one-way marginals.
        turns: rounds.
        single_columns: share of rho for the one-way marginals.
    """

    attributes: int
    turns: int
    single_columns: Fraction

    def noise(self, rho: Fraction, adjacency: Adjacency) -> tuple[Fraction, Fraction, Fraction]:
        """sigma2 of a one-way marginal, epsilon of a choice and sigma2 of its marginal."""
        rest = (1 - self.single_columns) * rho
        return (
            marginal_sigma2(self.single_columns * rho, adjacency, self.attributes),
            choice_epsilon(CHOICE_SHARE * rest, self.turns),
            marginal_sigma2((1 - CHOICE_SHARE) * rest, adjacency, self.turns),
        )

    def events(self, rho: Fraction, adjacency: Adjacency) -> tuple[Event, ...]:
        """What a run charges."""
        one_way, epsilon, sigma2 = self.noise(rho, adjacency)
        return (
            gaussian_event(one_way, adjacency, times=self.attributes),
            ExponentialMechanism(epsilon=epsilon, times=self.turns),
            gaussian_event(sigma2, adjacency, times=self.turns),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class MwemDesign:
    """All one-way marginals, then T rounds. Every field is public.

    Attributes:
        rho: what the whole costs, in zCDP.
        workload: what a round may choose.
        split: of rho.
    """

    domain: Domain
    adjacency: Adjacency
    rho: Fraction
    workload: Workload
    split: Split

    @property
    def name(self) -> str:
        return "mwem"

    @property
    def source(self) -> str:
        return (
            "Donhauser, Abad, Hulkund, Yang (2024), Privacy-preserving data release leveraging "
            "optimal transport and particle gradient descent, ICML, Algorithm 2"
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        one_way, epsilon, sigma2 = self.split.noise(self.rho, self.adjacency)
        return {
            **self.workload.to_json(self.domain),
            "rho": str(self.rho),
            "rounds": self.split.turns,
            "one_way_share": str(self.split.single_columns),
            "choice_share": str(CHOICE_SHARE),
            "one_way_sigma2": str(one_way),
            "choice_epsilon": str(epsilon),
            "marginal_sigma2": str(sigma2),
        }

    @cached_property
    def first(self) -> tuple[Asked, ...]:
        sigma2, _, _ = self.split.noise(self.rho, self.adjacency)
        return columns(self.domain, sigma2)

    @property
    def largest(self) -> tuple[Clique, ...]:
        """The one-way marginals, and as many of the workload as there are rounds, largest first."""
        return columns_and_largest(self.domain, self.workload.cliques, self.split.turns)

    @property
    def effort(self) -> Effort:
        turns, shape = self.split.turns, self.domain.shape
        entries = sum(cells(clique, shape) for clique in self.workload.cliques)
        return Effort(turns * len(self.workload.cliques), turns * entries, turns, turns)

    @property
    def events(self) -> tuple[Event, ...]:
        return self.split.events(self.rho, self.adjacency)

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        shape, turns = self.domain.shape, self.split.turns
        _, epsilon, sigma2 = self.split.noise(self.rho, self.adjacency)
        widest = max(self.workload.cliques, key=lambda clique: cells(clique, shape))
        return (
            line_of_columns(self.domain, self.first, self.adjacency),
            NoiseLine.of_choices(
                ExponentialMechanism(epsilon=epsilon, times=turns),
                f"choice of a marginal, in {turns} rounds",
                adjacency=self.adjacency,
            ),
            NoiseLine.of(
                Asked(widest, sigma2).query(shape),
                f"the marginals chosen in {turns} rounds (entries: at most)",
                turns * cells(widest, shape),
                adjacency=self.adjacency,
                times=turns,
            ),
        )

    def rounds(
        self, curator: MarginalRounds, first: Sequence[Answer], modeller: Modeller
    ) -> tuple[Answer, ...]:
        """Choose, measure, fit. A marginal may be chosen again."""
        total = curator.total()
        _, epsilon, sigma2 = self.split.noise(self.rho, self.adjacency)
        event = ExponentialMechanism(epsilon=epsilon)
        answers, model = list(first), None
        for number in range(1, self.split.turns + 1):
            model = modeller.model(answers, total, model)
            evidence = modeller.evidence(answers, total)
            candidates = dict.fromkeys(self._admitted(answers, modeller), 1)
            answers.append(
                take_turn(curator, number, candidates, model, evidence, event=event, sigma2=sigma2)
            )
        return tuple(answers[len(first) :])

    def _admitted(self, answers: Sequence[Answer], modeller: Modeller) -> tuple[Clique, ...]:
        """The workload as far as its models may be built; where nothing of it may, the columns."""
        measured = tuple(dict.fromkeys(answer.asked.clique for answer in answers))
        admitted = tuple(
            clique
            for clique in self.workload.cliques
            if clique in measured or modeller.admits((*measured, clique), 1.0)
        )
        return admitted or tuple(asked.clique for asked in self.first)


def plan_mwem(
    domain: Domain, *, budget: Budget, adjacency: Adjacency, settings: Settings
) -> MwemDesign:
    """`rounds` rounds (as many as there are columns, where nothing is set) on all marginals of
    `ways` columns or a listed `workload`, after the one-way marginals with `one_way_share` of rho.

    Raises:
        ValueError: a wrong setting, a budget without delta, or tables that are too large.
    """
    refuse_unservable(budget, domain)
    refuse_unknown(settings, ("ways", "workload", "rounds", "one_way_share"), "mwem")
    workload = parse_workload(settings, domain)
    if len(set(workload.weights)) > 1:
        raise ValueError(
            "mechanism.selection.workload: mwem knows no weights; leave them out, or choose aim"
        )
    refuse_large(workload.cliques, domain, "the marginals to choose among")
    split = Split(
        attributes=len(domain),
        turns=whole(settings, "rounds", len(domain)),
        single_columns=share(settings, "one_way_share", ONE_WAY_SHARE),
    )
    return MwemDesign(
        domain=domain,
        adjacency=adjacency,
        rho=rho_for(split, budget, adjacency),
        workload=workload,
        split=split,
    )
