"""`aim`: in each round measure the marginal that the model of the moment fits worst.

Claim.   Every run costs exactly `AimDesign.rho` in zCDP, whatever is answered and chosen, and rho
         is within the budget: so a run is (epsilon, delta)-differentially private.
Proof.   A round is charged what it draws: epsilon^2 / 8 for the choice and l2_squared / (2 sigma2)
         for the marginal, in exact rationals. A round that is not the last costs at most half of
         what is left, the last one all of it. Noise and number of rounds are chosen in view of
         answers, so the events of rounds are `adaptive`, and rho is what zCDP alone proves to fit
         the budget (`accountant`, on adaptive events). A score moves by at most its weight times
         the L1 sensitivity of a histogram, in either direction, whatever the model (`misfit`).
Source.  McKenna, Mullins, Sheldon, Miklau (2022), "AIM: an adaptive and iterative mechanism for
         differentially private synthetic data", arXiv:2201.12677, Algorithms 1 to 4.
Oracle.  tests/mechanisms/marginals/selection/test_aim.py replays schedules of all kinds.

Where we leave the paper: sensitivities are those of the relation and unit of the release, on every
round (a published program leaves the root of 2 out under replace-one); noise is exact; columns that
the workload leaves out are measured by themselves, too; the size of the model is the generator's
own matter (`Modeller.admits`); rounds may be capped, as each fits a model; and where there are very
many candidates, a round looks at some of them, drawn anew by its number alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.domain.cliques import Clique, cells, downward_closure
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
from hallmark.mechanisms.marginals.selection.misfit import integer_weights, noise_misfit
from hallmark.mechanisms.marginals.selection.settings import Settings, refuse_unknown, whole
from hallmark.mechanisms.marginals.selection.spending import (
    CHOICE_SHARE,
    choice_epsilon,
    gaussian_event,
    marginal_sigma2,
    refuse_unservable,
    rho_of,
)
from hallmark.mechanisms.marginals.selection.turn import choice_call, take_turn
from hallmark.mechanisms.marginals.selection.workload import Workload, parse_workload, refuse_large
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calls import MarginalRounds
from hallmark.mechanisms.privacy.events import Event, ExponentialMechanism, merged

ROUNDS_PER_ATTRIBUTE = 16
EXPECTED_PER_ATTRIBUTE = 2  # rounds; seen were .3 to 5, as noise is halved sooner or later
# What is looked at in all rounds that are expected: some minutes' work.
MOST_CANDIDATES, MOST_CELLS = 2**18, 2**32
_SAMPLE_SEED = 20_261_127


@dataclass(frozen=True)
class Round:
    """Noise of one round. Public.

    Attributes:
        epsilon: of the choice.
        sigma2: of the marginal, records^2.
        l2_squared: squared L2 sensitivity of a marginal, records^2.
    """

    epsilon: Fraction
    sigma2: Fraction
    l2_squared: int

    @classmethod
    def costing(cls, rho: Fraction, adjacency: Adjacency) -> "Round":
        """The round that costs exactly `rho`."""
        epsilon = choice_epsilon(CHOICE_SHARE * rho)
        return cls(epsilon, marginal_sigma2(rho - epsilon**2 / 8, adjacency), adjacency.l2_squared)

    @property
    def rho(self) -> Fraction:
        """Cost of the round in zCDP."""
        return self.epsilon**2 / 8 + self.l2_squared / (2 * self.sigma2)

    @property
    def choice(self) -> ExponentialMechanism:
        """The event that is charged for the round's choice."""
        return ExponentialMechanism(epsilon=self.epsilon, adaptive=True)

    @property
    def annealed(self) -> "Round":
        """The next round's noise: half as much, at four times the cost."""
        return replace(self, epsilon=2 * self.epsilon, sigma2=self.sigma2 / 4)


@dataclass(frozen=True, eq=False, kw_only=True)
class AimDesign:
    """All one-way marginals, then round by round the worst fitted marginal. Every field is public.

    Attributes:
        rho: what the whole costs, in zCDP.
        workload: the marginals that matter; they and all their parts may be measured.
        most_rounds: the last round is this one at the latest; None where only the budget ends them.
    """

    domain: Domain
    adjacency: Adjacency
    rho: Fraction
    workload: Workload
    most_rounds: int | None = None

    @property
    def name(self) -> str:
        return "aim"

    @property
    def source(self) -> str:
        return (
            "McKenna, Mullins, Sheldon, Miklau (2022), AIM: an adaptive and iterative mechanism "
            "for differentially private synthetic data, arXiv:2201.12677, Algorithms 1 to 4"
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {
            **self.workload.to_json(self.domain),
            "rho": str(self.rho),
            "candidates": len(self.candidates),
            "candidates_in_a_round": len(self.drawn(1)),
            "planned_rounds": self.planned_rounds,
            "rounds_cap": self.most_rounds,
            "choice_share": str(CHOICE_SHARE),
            "first_sigma2": str(self.opening.sigma2),
            "first_choice_epsilon": str(self.opening.epsilon),
        }

    @cached_property
    def first(self) -> tuple[Asked, ...]:
        return columns(self.domain, self.opening.sigma2)

    @property
    def largest(self) -> tuple[Clique, ...]:
        """The one-way marginals, and as many of the workload as there may be rounds, largest first;
        never all at once where the generator's model would grow too large."""
        return columns_and_largest(self.domain, self.workload.cliques, self.planned_rounds)

    @property
    def effort(self) -> Effort:
        rounds, looked = self._expected_rounds, self.drawn(1)
        entries = int(self._sizes[list(looked)].sum())
        return Effort(rounds * len(looked), rounds * entries, rounds, rounds)

    @cached_property
    def candidates(self) -> tuple[Clique, ...]:
        """What a round may choose: the workload and all its parts."""
        return downward_closure(self.workload.cliques)

    def drawn(self, number: int) -> tuple[int, ...]:
        """Positions of the candidates that round `number` looks at: all, or all single columns and
        a draw of the others. Public, and the same whenever a run resumes."""
        sizes, rounds = self._sizes, self._expected_rounds
        if rounds * len(sizes) <= MOST_CANDIDATES and rounds * sizes.sum() <= MOST_CELLS:
            return tuple(range(len(sizes)))
        order = np.random.default_rng([_SAMPLE_SEED, number]).permutation(len(sizes))
        most = np.searchsorted(rounds * sizes[order].cumsum(), MOST_CELLS, side="right")
        sampled = order[: min(most, MOST_CANDIDATES // rounds)].tolist()
        ones = [i for i, clique in enumerate(self.candidates) if len(clique) == 1]
        return tuple(sorted({*ones, *sampled}))

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        """Cells of the candidates."""
        return np.array([cells(clique, self.domain.shape) for clique in self.candidates])

    @property
    def _expected_rounds(self) -> int:
        expected = EXPECTED_PER_ATTRIBUTE * len(self.domain)
        return expected if self.most_rounds is None else min(expected, self.most_rounds)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """Weights of all candidates: the weighted number of attributes shared with the workload."""
        wanted = integer_weights(self.workload.weights)
        by_attribute = [0] * len(self.domain)
        for clique, weight in zip(self.workload.cliques, wanted, strict=True):
            for attribute in clique:
                by_attribute[attribute] += weight
        shared = (sum(by_attribute[a] for a in candidate) for candidate in self.candidates)
        return integer_weights([Fraction(weight) for weight in shared])

    @property
    def planned_rounds(self) -> int:
        """T, the number of equal parts that the budget is cut into."""
        attributes = len(self.domain)
        most = ROUNDS_PER_ATTRIBUTE * attributes
        return most if self.most_rounds is None else min(most, self.most_rounds + attributes)

    @cached_property
    def opening(self) -> Round:
        """Noise of the first rounds; the one-way marginals have that of a round's marginal."""
        return Round.costing(self.rho / self.planned_rounds, self.adjacency)

    @property
    def opening_rho(self) -> Fraction:
        """What the one-way marginals cost, in zCDP."""
        return len(self.domain) * self.adjacency.l2_squared / (2 * self.opening.sigma2)

    @property
    def events(self) -> tuple[Event, ...]:
        """Events of a run whose noise is never halved; every other run costs the same rho."""
        ones = gaussian_event(self.opening.sigma2, self.adjacency, times=len(self.domain))
        left, events = self.rho - self.opening_rho, [ones]
        rounds: list[Event] = []
        for number in count(1):
            noise, last = self.round(number, left, self.opening)
            rounds += _charged(noise, self.adjacency)
            left -= noise.rho
            if last:
                return merged([*events, *rounds])
        raise AssertionError("the rounds end")

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        shape, opening = self.domain.shape, self.opening
        some = max(self.candidates, key=lambda clique: cells(clique, shape))
        rounds = f"{self.planned_rounds - len(self.domain)}"
        return (
            line_of_columns(self.domain, self.first, self.adjacency),
            NoiseLine.of_choices(
                ExponentialMechanism(epsilon=opening.epsilon),
                f"choice of a marginal, in each of about {rounds} rounds or fewer; noise halved "
                "where a round teaches little",
                adjacency=self.adjacency,
            ),
            NoiseLine.of(
                Asked(some, opening.sigma2).query(shape),
                "the chosen marginal, in each round likewise (entries: of the largest)",
                cells(some, shape),
                adjacency=self.adjacency,
            ),
        )

    def round(self, number: int, left: Fraction, noise: Round) -> tuple[Round, bool]:
        """Noise of round `number` when `left` of rho is not spent, and whether it is the last: it
        is where no two rounds like it can be paid, or as many were run as may be."""
        if left < 2 * noise.rho or number == self.most_rounds:
            return Round.costing(left, self.adjacency), True
        return noise, False

    def rounds(
        self, curator: MarginalRounds, first: Sequence[Answer], modeller: Modeller
    ) -> tuple[Answer, ...]:
        """Choose, measure, fit; with less noise once a round teaches less than its noise."""
        total, drawn = curator.total(), curator.drawn()
        answers, left, noise = list(first), self.rho - self.opening_rho, self.opening
        model, evidence = modeller.model(answers, total, None), modeller.evidence(answers, total)
        for number in count(1):
            noise, last = self.round(number, left, noise)
            left -= noise.rho
            candidates = dict(self._admitted(number, answers, modeller, 1 - left / self.rho))
            answer = take_turn(
                curator,
                number,
                candidates,
                model,
                evidence,
                event=noise.choice,
                sigma2=noise.sigma2,
            )
            answers.append(answer)
            if last:
                break
            expected = evidence.total * model.marginal(answer.asked.clique)
            model = modeller.model(answers, total, model)
            evidence = modeller.evidence(answers, total)
            found = evidence.total * model.marginal(answer.asked.clique)
            little = self._teaches_little(expected, found, noise)
            following = choice_call(number + 1)
            if following in drawn:  # with a model that may differ from the one now
                annealed, _ = self.round(number + 1, left, noise.annealed)
                little = drawn[following] == (annealed.choice,)
            if little:
                noise = noise.annealed
        return tuple(answers[len(first) :])

    def _admitted(
        self, number: int, answers: Sequence[Answer], modeller: Modeller, share: Fraction
    ) -> Iterator[tuple[Clique, int]]:
        """Candidates of a round whose model may be built, with their weights: parts of what was
        measured make it no larger."""
        measured = tuple(dict.fromkeys(answer.asked.clique for answer in answers))
        masks = [_mask(clique) for clique in measured]
        for position in self.drawn(number):
            clique, weight = self.candidates[position], self.weights[position]
            own = _mask(clique)
            inside = any(own & mask == own for mask in masks)
            if inside or modeller.admits((*measured, clique), float(share)):
                yield clique, weight

    def _teaches_little(self, before: Table, after: Table, noise: Round) -> bool:
        return float(np.abs(after - before).sum()) <= noise_misfit(noise.sigma2, before.size)


def plan_aim(
    domain: Domain, *, budget: Budget, adjacency: Adjacency, settings: Settings
) -> AimDesign:
    """AIM for all marginals of `ways` columns (2, where nothing is set) or a listed `workload`; at
    most `rounds_cap` rounds, where that is set.

    Raises:
        ValueError: a wrong setting, a budget without delta, or tables that are too large.
    """
    refuse_unservable(budget, domain)
    refuse_unknown(settings, ("ways", "workload", "rounds_cap"), "aim")
    design = AimDesign(
        domain=domain,
        adjacency=adjacency,
        rho=rho_of(budget),
        workload=parse_workload(settings, domain),
        most_rounds=whole(settings, "rounds_cap", 1) if "rounds_cap" in settings else None,
    )
    refuse_large(design.candidates, domain, "the marginals to choose among")
    return design


def _charged(noise: Round, adjacency: Adjacency) -> tuple[Event, Event]:
    return (
        noise.choice,
        replace(gaussian_event(noise.sigma2, adjacency), adaptive=True),
    )


def _mask(clique: Clique) -> int:
    return sum(1 << a for a in clique)
