"""Runs of designs on small tables: a plain modeller, real curators, and curators that die."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.evidence import Evidence
from hallmark.mechanisms.marginals.mechanism import marginals_of
from hallmark.mechanisms.marginals.selection.design import Answer, Design
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import ArrayCounter
from hallmark.mechanisms.privacy.curator import Curator
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from tests.mechanisms.marginals.domains import domain_of

BUDGET = Budget(epsilon=Fraction(1), delta=Fraction(1, 100_000))
REPLACE = Adjacency(neighbours=Neighbours.REPLACE_ONE)
ADD = Adjacency(neighbours=Neighbours.ADD_REMOVE)
PERSONS = Adjacency(neighbours=Neighbours.ADD_REMOVE, records=3, person="id")
RELATIONS = (REPLACE, ADD)
ALL = (*RELATIONS, PERSONS)
SHAPE = (3, 3, 2, 2)


def designed(
    plan: Callable[..., Any],
    *cells: int,
    adjacency: Adjacency = REPLACE,
    budget: Budget = BUDGET,
    **settings: Any,
) -> Any:
    """What a selection plans for columns of so many cells, `SHAPE` where none are given."""
    return plan(domain_of(cells or SHAPE), budget=budget, adjacency=adjacency, settings=settings)


def table(rows: int = 4000, seed: int = 7) -> np.ndarray:
    """Of shape `SHAPE`: the first two columns are equal, the others are coins."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, rows)
    return np.column_stack([first, first, rng.integers(0, 2, (rows, 2))])


def shares(values: np.ndarray) -> np.ndarray:
    positive = np.maximum(values, 0) + 1e-6
    return positive / positive.sum()


@dataclass(frozen=True)
class PlainModel:
    """Marginals as they were measured; of those that were not, the product of the columns."""

    measured: Mapping[Clique, Table]
    history: Mapping[str, Any] = field(default_factory=dict)

    def marginal(self, clique: Clique) -> Table:
        if clique in self.measured:
            return shares(self.measured[clique])
        product: np.ndarray = np.ones(())
        for a in clique:
            product = np.multiply.outer(product, shares(self.measured[(a,)]))
        return product

    wanted = marginal

    def records(self, rows: int, rng: Any, progress: Any) -> Any:
        raise NotImplementedError("selections ask for marginals alone")


@dataclass(frozen=True)
class PlainModeller:
    """Fits plain models; `limit` refuses cliques, `stubborn` keeps the first model for ever."""

    domain: Domain
    limit: Callable[[Sequence[Clique], float], bool] = lambda cliques, share: True
    stubborn: bool = False

    def evidence(self, answers: Sequence[Answer], total: int | None) -> Evidence:
        marginals = marginals_of(self.domain.shape, answers)
        measured = float(np.mean([m.counts.sum() for m in marginals if len(m.clique) == 1]))
        return Evidence(self.domain, marginals, max(1.0, total or measured), total is not None)

    def model(self, answers: Sequence[Answer], total: int | None, previous: Any) -> PlainModel:
        if self.stubborn and previous is not None:
            return previous  # type: ignore[no-any-return]
        evidence = self.evidence(answers, total)
        return PlainModel({m.clique: m.counts for m in evidence.marginals})

    def admits(self, cliques: Sequence[Clique], share: float) -> bool:
        return self.limit(cliques, share)


@dataclass(frozen=True, kw_only=True)
class Watching(Curator):
    """Remembers the candidates of every choice."""

    choices: list[tuple[str, list[Any], ExponentialMechanism]] = field(default_factory=list)

    def choose(self, call: str, candidates: Any, event: ExponentialMechanism) -> int:
        self.choices.append((call, list(candidates), event))
        return super().choose(call, candidates, event)

    def choose_several(self, call: str, candidates: Any, event: ExponentialMechanism) -> list[int]:
        self.choices.append((call, list(candidates), event))
        return super().choose_several(call, candidates, event)


class Killed(Exception):
    """The process dies."""


@dataclass(frozen=True, kw_only=True)
class Dying(Curator):
    """Dies at the call after so many, before it is drawn or when it is in the log."""

    calls: int
    after: bool
    made: list[str] = field(default_factory=list)

    def _guard(self, call: str, ask: Callable[[], Any]) -> Any:
        if len(self.made) >= self.calls:
            if self.after:
                ask()
            raise Killed
        self.made.append(call)
        return ask()

    def choose(self, call: str, candidates: Any, event: ExponentialMechanism) -> int:
        draw = super().choose
        return int(self._guard(call, lambda: draw(call, candidates, event)))

    def choose_several(self, call: str, candidates: Any, event: ExponentialMechanism) -> list[int]:
        draw = super().choose_several
        return list(self._guard(call, lambda: draw(call, candidates, event)))

    def histograms(self, call: str, queries: Any) -> Any:
        draw = super().histograms
        return self._guard(call, lambda: draw(call, queries))


def curator_of(
    url: str,
    codes: np.ndarray,
    adjacency: Adjacency = REPLACE,
    budget: Budget = BUDGET,
    kind: type[Any] = Curator,
    **more: Any,
) -> Any:
    """A curator whose release has a reservation in a real ledger."""
    ledger = Ledger(url)
    ledger.open_account("people", cap=budget, adjacency=adjacency, by="test", reason="test")
    ledger.reserve("people", "r", budget, adjacency=adjacency, binding="plan")
    return kind(
        counter=ArrayCounter(codes),
        ledger=ledger,
        release="r",
        adjacency=adjacency,
        budget=budget,
        **more,
    )


def run(design: Design, curator: Curator, modeller: Any = None) -> tuple[Answer, ...]:
    """All answers of a run, as the marginal mechanisms runs it."""
    asked, shape = design.first, design.domain.shape  # type: ignore[attr-defined]
    tables = curator.histograms("marginals", [one.query(shape) for one in asked])
    first = [Answer(one, counts) for one, counts in zip(asked, tables, strict=True)]
    modeller = modeller or PlainModeller(design.domain)  # type: ignore[attr-defined]
    return (*first, *design.rounds(curator, first, modeller))


def asked(answers: Sequence[Answer]) -> list[tuple[Clique, Fraction, list[int]]]:
    """What was asked and answered, to be compared."""
    return [(a.asked.clique, a.asked.sigma2, a.counts.tolist()) for a in answers]


def law(scores: Sequence[int], sensitivity: int, epsilon: Fraction) -> np.ndarray:
    """Of the exponential mechanism: P(r) proportional to exp(epsilon u_r / (2 sensitivity))."""
    best = max(scores)
    weights = np.array([exp(epsilon * (u - best) / (2 * sensitivity)) for u in scores])
    return weights / weights.sum()


def without_total(adjacency: Adjacency) -> Adjacency:
    return replace(adjacency, neighbours=Neighbours.ADD_REMOVE)
