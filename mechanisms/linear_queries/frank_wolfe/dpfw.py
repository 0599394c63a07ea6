"""`dpfw`: private Frank-Wolfe on the dual of the least largest error, regularised by entropy.

Claim.   A run is (epsilon, delta)-differentially private within the budget, under `adjacency`.
Proof.   T choices with one epsilon that is fixed beforehand, after a noisy number of records where
         that is private. Which queries fit worst is asked with exact integer scores of the
         sensitivity of a single query (`Curator.choices`), whatever the distribution is by then;
         epsilon comes from the exact cost of this very list (`spending`). Everything else follows
         from the choices.
Source.  Micali, Lezane, Betken (2025), Differentially private algorithms for linear queries via
         stochastic convex optimization, AISTATS, Algorithm 1.
Oracle.  tests/mechanisms/linear_queries/frank_wolfe/test_dpfw.py: laws of choices by brute force,
         convergence to an independent solver's optimum without noise.

Where we leave the paper, and why:
- noise. It adds Laplace noise to a maximum over signed queries, in proportion to D_1, twice the
  number of cells in a query, and proves it for Laplace(sensitivity / epsilon), which is right for
  monotone scores alone: in general the loss is twice that. We draw from the exponential mechanism
  with the true sensitivity and account in zCDP. `noise: paper` draws at the paper's scale instead,
  which is larger, and never at less than our own.
- constants. `constants: paper` takes the paper's smoothing and number of rounds (`constants`).
- what is released. A uniformly chosen iterate (`iterate: uniform`) has the bound in expectation;
  the mean of q_t over the later half of the path, the default, costs nothing and was 2.5 to 3.4
  times better in experiments. Iterates are q_1 to q_T, those of the paper q_0 to q_(T-1).
- q_0 is 0 rather than a vertex: it is in the convex hull, since queries come with their negations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.domain.cliques import cells
from hallmark.mechanisms.execution import Progress
from hallmark.mechanisms.linear_queries import bounds, settings
from hallmark.mechanisms.linear_queries.frank_wolfe import constants
from hallmark.mechanisms.linear_queries.frank_wolfe.field import (
    FieldPath,
    tree_cells,
    widest,
)
from hallmark.mechanisms.linear_queries.frank_wolfe.path import CellPath, coefficients, combination
from hallmark.mechanisms.linear_queries.method import CHOICES_CALL, as_positions, as_table
from hallmark.mechanisms.linear_queries.questions import PathQuestion, signed
from hallmark.mechanisms.linear_queries.random_field import RandomField
from hallmark.mechanisms.linear_queries.spending import best_amount, choice_line
from hallmark.mechanisms.linear_queries.total import CountsRecords, Records, records, shared
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.linear_queries.weights import Weights, tilted
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calls import QueryRounds, TablesByCall
from hallmark.mechanisms.privacy.events import Event, ExponentialMechanism
from hallmark.mechanisms.request import Request, Requested

ITERATES = ("tail-average", "mean", "last", "uniform")
KINDS = ("ours", "paper")
CELLS, FIELD = "cells", "random-field"
MODELS = ("auto", CELLS, FIELD)
_BYTES = 8  # a cell
_MODEL_BYTES = 2**22  # of a random field's tables, where nothing is set


@dataclass(frozen=True, eq=False, kw_only=True)
class FrankWolfe(CountsRecords, Requested):
    """A plan. Every field is public.

    Attributes:
        epsilon: of each choice.
        count: how the number of records is learnt.
        iterate: what of the path is released.
        model: `cells` or `random-field`.
        most_cells: of a random field's tables.
        rule: T of the paper before it is clipped; None where it was not asked for.
        said: `constants` and `noise` as they were asked for.
    """

    universe: Universe
    smoothing: float
    rounds: int
    epsilon: Fraction
    count: Records
    iterate: str
    model: str
    most_cells: int
    rule: float | None
    said: Mapping[str, str]

    @property
    def source(self) -> str:
        return (
            "Micali, Lezane, Betken (2025), Differentially private algorithms for linear queries "
            "via stochastic convex optimization, AISTATS, Algorithm 1, with exact selection in "
            "place of Laplace noise, and errors of its constants corrected"
        )

    @property
    def step(self) -> float:
        return constants.step(self.smoothing, self.rounds)

    @property
    def parameters(self) -> Mapping[str, Any]:
        told: dict[str, Any] = {
            **self.said,
            "iterate": self.iterate,
            "alpha": self.smoothing,
            "rounds": self.rounds,
            "step": self.step,
            "choice_epsilon": str(self.epsilon),
            "model": self.model,
        }
        if self.rule is not None:
            told |= {"rounds_by_rule": self.rule, **constants.noted(self.rule)}
        return told | ({"max_model_bytes": _BYTES * self.most_cells} if self._is_field else {})

    @property
    def choices(self) -> ExponentialMechanism:
        """All choices as one event."""
        return ExponentialMechanism(epsilon=self.epsilon, times=self.rounds)

    @property
    def events(self) -> tuple[Event, ...]:
        return (*self.count.events, self.choices)

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        what = f"which query fits worst, {self.rounds} times"
        line = choice_line(self.choices, what, self.universe.queries, self.adjacency)
        return (*self.count.lines, line)

    @property
    def memory_bytes(self) -> int:
        queries = self.universe.queries.size
        if self._is_field:
            wanted = sum(cells(c, self.universe.shape) for c in set(self.universe.cliques))
            return _BYTES * (12 * self.most_cells + 4 * wanted + 8 * queries)
        return _BYTES * (8 * self.universe.size + 8 * queries)

    def expected_error(self) -> tuple[float, str]:
        """The smallest of what the paper's theorems give, and of what no error passes.

        That of Theorem 3 is far below what `noise: paper` brings about, and left out there.
        """
        queries = self.universe.queries
        signed_queries, log_cells = 2 * queries.size, self.universe.log_cells
        span = queries.sensitivity(self.adjacency) / queries.unit
        scale = 2 * span / (float(self.epsilon) * self.expected_records)
        gap = bounds.gap(self.smoothing, self.rounds, scale, signed_queries)
        found = {
            "Theorems 1 and 2 of Micali et al., a bound on the mean for a uniform iterate": (
                bounds.primal(self.smoothing, gap, log_cells)
            ),
            "the range of the queries, as the theorems bound nothing here": queries.width,
        }
        if not self.budget.is_pure and self.said["noise"] == "ours":
            found["the rate of Theorem 3 of Micali et al. with its constant set to 1"] = (
                bounds.frank_wolfe_rate(
                    self.expected_records,
                    float(self.budget.epsilon),
                    self.budget.delta,
                    signed_queries,
                    log_cells,
                )
            )
        best = min(found, key=found.__getitem__)
        return found[best], f"an estimate from theory, by far too large as a rule: {best}"

    def ask(self, curator: QueryRounds) -> TablesByCall:
        """The number of records where it is private, and the positions of all choices."""
        counted = self.count.ask(curator)
        number = self.count.number(counted, curator.total())
        queries, events = self.universe.queries, (self.choices,)
        if self._is_field:
            field = PathQuestion(self.universe, number, self._field, self._described)
            chosen = curator.choices(CHOICES_CALL, queries, field, events, _Admissible(field))
        else:
            question = PathQuestion(self.universe, number, self._path, self._described)
            chosen = curator.choices(CHOICES_CALL, queries, question, events)
        return {**counted, CHOICES_CALL: as_table(chosen)}

    def distribution(
        self, answers: TablesByCall, total: int | None, *, progress: Progress
    ) -> Weights | RandomField:
        """The distribution that `iterate` names, from the choices alone."""
        chosen = as_positions(answers[CHOICES_CALL])
        if self.iterate == "mean":
            return self._mean(chosen, progress)
        weights = combination(
            chosen,
            coefficients(self.rounds, self.step, self._states(chosen)),
            self.universe.queries.size,
        )
        if self._is_field:
            path = self._field()
            path.add(weights)
            return path.distribution()
        exponents = self.universe.adjoint(weights) / self.smoothing
        return Weights(self.universe, tilted(self.universe.uniform, exponents))

    def _states(self, chosen: Sequence[int]) -> range:
        """The t of the q_t that are averaged, within 1..rounds."""
        match self.iterate:
            case "last":
                return range(self.rounds, self.rounds + 1)
            case "uniform":  # public randomness, the same for the same choices
                state = int(np.random.default_rng(list(chosen)).integers(1, self.rounds + 1))
                return range(state, state + 1)
            case _:
                return range(self.rounds // 2 + 1, self.rounds + 1)

    def _mean(self, chosen: Sequence[int], progress: Progress) -> Weights:
        """The mean of the distributions at q_1 to q_T, which takes the path once more."""
        path, total = self._path(), np.zeros(1)
        for turn, position in enumerate(chosen):
            path.move(*signed(position, self.universe.queries.size))
            total = total + path.shares()
            progress((turn + 1) / self.rounds, "averaging the path")
        return Weights(self.universe, total / self.rounds)

    def _path(self) -> CellPath:
        return CellPath(self.universe, self.smoothing, self.step)

    def _field(self) -> FieldPath:
        return FieldPath(self.universe, self.smoothing, self.step, most_cells=self.most_cells)

    @property
    def _described(self) -> str:
        """All that determines the path, beside universe and choices."""
        return f"dpfw {self.smoothing!r} {self.step!r} {self.model} {self.most_cells}"

    @property
    def _is_field(self) -> bool:
        return self.model == FIELD


@dataclass(frozen=True, eq=False)
class _Admissible:
    """What a random field has room for, as the curator asks for it."""

    question: PathQuestion[FieldPath]

    def __call__(self, chosen: Sequence[int]) -> NDArray[np.bool_]:
        return self.question.at(chosen).admissible()

    @property
    def digest(self) -> str:
        return self.question.digest


def plan_dpfw(universe: Universe, request: Request) -> FrankWolfe:
    """Frank-Wolfe with `alpha` and `rounds`, or `constants` ("ours", "paper") where not set.

    `noise` ("ours", "paper") is that of a choice; `iterate` what is released; `model` how the path
    is kept ("auto": as a random field where cells are too many), with `max_model_bytes` of tables.
    `cliquewise` is read before (`cliquewise.plan_dpfw_or_cliquewise`).

    Raises:
        ValueError: a wrong parameter, the paper's constants without delta, or a universe that
            neither representation has room for.
    """
    budget, adjacency, parameters = request.budget, request.adjacency, request.parameters
    known = (
        "alpha", "rounds", "constants", "noise", "iterate", "model", "max_model_bytes",
        "cliquewise",
    )  # fmt: skip
    settings.refuse("dpfw", universe, request, known)
    said = {name: settings.one_of(parameters, name, KINDS) for name in ("constants", "noise")}
    model, most_cells = _model(universe, parameters)
    iterate = settings.one_of(parameters, "iterate", ITERATES)
    if iterate == "mean" and model == FIELD:
        raise ValueError(
            "mechanism.iterate: mean, but a mean of random fields is none; choose tail-average"
        )
    for name, value in said.items():
        if value == "paper" and budget.is_pure:
            raise ValueError(
                f"mechanism.{name}: paper, but the paper's {name} need delta > 0, and "
                f"privacy.delta is 0; set one, or choose {name}: ours"
            )
    scale = request.expected_records * float(budget.epsilon)
    smoothing, rounds, rule = _constants(universe, budget, scale, said["constants"], parameters)
    amount = best_amount(budget, lambda whole: shared(whole, adjacency).choice(rounds))
    epsilon = shared(amount, adjacency).choice(rounds)
    if said["noise"] == "paper":
        epsilon = min(epsilon, _paper_epsilon(universe, budget, adjacency, rounds))
    return FrankWolfe(
        universe=universe,
        request=request,
        smoothing=smoothing,
        rounds=rounds,
        epsilon=epsilon,
        count=records(universe, amount, adjacency),
        iterate=iterate,
        model=model,
        most_cells=most_cells,
        rule=rule,
        said=said,
    )


def _constants(
    universe: Universe,
    budget: Budget,
    scale: float,
    kind: str,
    parameters: Mapping[str, Any],
) -> tuple[float, int, float | None]:
    """Smoothing and rounds, set or found; and the paper's rounds where those are taken."""
    rule = None
    if kind == "paper":
        queries, log_cells = 2 * universe.queries.size, universe.log_cells
        found = constants.paper_smoothing(scale, budget.delta, queries, log_cells)
        smoothing = settings.positive(parameters, "alpha", found)
        exact = constants.paper_rounds(scale, budget.delta, queries, smoothing)
        rule = None if "rounds" in parameters else exact
        default = constants.clipped_rounds(exact)
    else:
        smoothing = settings.positive(parameters, "alpha", constants.default_smoothing(scale))
        default = constants.default_rounds(scale, pure=budget.is_pure)
    return smoothing, settings.rounds(parameters, "rounds", default), rule


def _model(universe: Universe, parameters: Mapping[str, Any]) -> tuple[str, int]:
    """How the path is kept, and the most cells of a random field."""
    most_bytes = settings.whole(parameters, "max_model_bytes", _MODEL_BYTES)
    model = settings.one_of(parameters, "model", MODELS)
    if model == "auto":
        model = CELLS if universe.size <= settings.MOST_CELLS else FIELD
    if model == CELLS:
        settings.refuse_large("dpfw with model: cells", universe)
        return model, 0
    wide = widest(universe)
    least = tree_cells(universe, (wide,))
    if _BYTES * least > most_bytes:
        raise ValueError(
            f"mechanism.max_model_bytes: {most_bytes:,}, but a random field with the "
            f"{cells(wide, universe.shape):,} cells of the workload's largest marginal takes "
            f"{_BYTES * least:,}; raise it, or ask for smaller marginals"
        )
    return model, most_bytes // _BYTES


def _paper_epsilon(
    universe: Universe, budget: Budget, adjacency: Adjacency, rounds: int
) -> Fraction:
    queries = universe.queries
    span = Fraction(queries.sensitivity(adjacency), queries.unit)
    epsilon = constants.paper_epsilon(budget, rounds, span, _largest_sum(universe))
    if epsilon == 0:
        raise ValueError(
            "mechanism.noise: paper, but on a universe this large that noise drowns every answer "
            "(it grows with the number of cells in a query); choose noise: ours"
        )
    return epsilon


def _largest_sum(universe: Universe) -> Fraction:
    """The largest sum of a query's absolute values over all combinations of levels."""
    combinations = prod(len(cells) for cells in universe.levels)
    largest = Fraction(0)
    for query in range(universe.queries.size):
        clique, values = universe.on_clique(query)
        share = np.ones(1)
        for column in clique:
            cells, count = universe.levels[column], universe.shape[column]
            column_share = np.bincount(cells, minlength=count) / len(cells)
            share = np.multiply.outer(share, column_share).ravel()
        largest = max(largest, combinations * Fraction(float(share @ np.abs(values))))
    return largest
