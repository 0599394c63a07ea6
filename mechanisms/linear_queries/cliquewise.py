"""`cliquewise: true` of `dpfw` and `dpam`: the method inside each clique, and a model of them all.

Inside every clique A of the workload, that is, on the small universe of A's columns, the method
finds a distribution mu_A. A graphical model of the mu_A answers all queries and draws records, so
that the whole universe need not be enumerated; its junction tree must be kept.

Claim.   `ask` is (epsilon, delta)-differentially private within the budget.
Proof.   All cliques ask the same records, so that their events compose. Those of `dpfw` are bought
         with equal parts of one `Amount`, in zCDP or in pure epsilon, whichever leaves a choice the
         larger epsilon, after one noisy number of records for all where that is private. Those of
         `dpam` are one Gaussian histogram a clique, and `calibration` proves the cost of all
         together. What is asked inside a clique has the sensitivity that it has on the clique's
         universe (`within_clique`). The model is a function of the mu_A.
Bounds.  `direct.certify` bounds the errors of any distribution whatever by measured marginals. The
         histograms of `dpam` are such, so its bounds are those of linear-queries on them. `dpfw`
         measures nothing, and is certified by its worst query as without cliques.
Source.  Micali, Lezane, Betken (2025), AISTATS, Section 4: their mu_A in place of the measurements
         of McKenna, Sheldon, Miklau (2019), ICML.
Oracle.  tests/mechanisms/linear_queries/test_cliquewise.py: what is asked against what is charged,
         one clique against the plain method, the limit without noise, misses of bounds.

What differs from the paper, which says neither how budgets compose nor how the mu_A are weighted:
they have errors of no known covariance, and the model gives all of their cells the same weight. A
mean over A is one over n records there, not over k. A query of several cliques is asked in each.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.domain.cliques import Clique, cells
from hallmark.mechanisms.execution import Progress, part, silent
from hallmark.mechanisms.graphical_models.structure import BYTES_A_CELL
from hallmark.mechanisms.graphical_models.tree import junction_tree
from hallmark.mechanisms.linear_queries import settings
from hallmark.mechanisms.linear_queries.direct import field
from hallmark.mechanisms.linear_queries.direct.certify import Measured
from hallmark.mechanisms.linear_queries.direct.linear_estimate import LinearEstimate
from hallmark.mechanisms.linear_queries.dpam.method import (
    HISTOGRAM_CALL,
    Dpam,
    calibrated,
    plan_dpam,
)
from hallmark.mechanisms.linear_queries.frank_wolfe.dpfw import FrankWolfe, plan_dpfw
from hallmark.mechanisms.linear_queries.method import Distribution, Method
from hallmark.mechanisms.linear_queries.spending import best_amount
from hallmark.mechanisms.linear_queries.total import CountsRecords, Records, records, shared
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.linear_queries.within_clique import (
    cliques_of,
    curator_within,
    in_clique,
    named,
    of_clique,
    table_of,
    within,
)
from hallmark.mechanisms.marginals.selection.spending import rho_of
from hallmark.mechanisms.privacy.accountant import zcdp_epsilon
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calls import RefreshedRounds, TablesByCall
from hallmark.mechanisms.privacy.events import Event, merged
from hallmark.mechanisms.request import Request, Requested

CLIQUEWISE = "cliquewise"
_DEVIATION = 1e-3  # of every cell of every mu_A, as the model takes them: a guess, alike for all
_NAMED = 3  # cliques of a noise line
_COLUMNS = 6  # in a message


M = TypeVar("M", bound=Method)


@dataclass(frozen=True, eq=False, kw_only=True)
class Cliquewise(CountsRecords, Requested, Generic[M]):
    """A method planned inside each clique of a workload. Every field is public.

    Attributes:
        budget: of all cliques together.
        cliques: of the universe's columns.
        methods: by clique, on its own universe; none of them asks for the number of records.
        count: how the number of records is learnt, once for all.
        alone: what a clique's part of the budget is worth by itself; the methods' constants go by
            it, and no claim does.
    """

    universe: Universe
    cliques: tuple[Clique, ...]
    methods: tuple[M, ...]
    count: Records
    alone: Budget

    @property
    def source(self) -> str:
        return (
            f"{self.methods[0].source}; run inside each clique of the workload and joined by a "
            "graphical model (its Section 4, after McKenna, Sheldon, Miklau (2019), "
            "Graphical-model based estimation and inference for differential privacy, ICML). "
            "linear-queries, which measures the cliques' tables, is better at the same cost"
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        """With those of the methods inside: what they share, then by clique where they differ."""
        found = [method.parameters for method in self.methods]
        alike = {k: v for k, v in found[0].items() if all(one.get(k) == v for one in found)}
        differing: list[tuple[dict[str, Any], list[str]]] = []
        for clique, one in zip(self.cliques, found, strict=True):
            own, title = {k: v for k, v in one.items() if k not in alike}, self._title(clique)
            titles = next((titles for told, titles in differing if told == own), None)
            if titles is None:
                differing.append((own, [title]))
            else:
                titles.append(title)
        return {
            CLIQUEWISE: True,
            **alike,
            "clique_budget": {"epsilon": float(self.alone.epsilon), "delta": str(self.alone.delta)},
            "model_deviation": _DEVIATION,
            "cliques": len(self.cliques),
            "by_clique": [{"cliques": titles, **own} for own, titles in differing],
        }

    @property
    def events(self) -> tuple[Event, ...]:
        inside = (event for method in self.methods for event in method.events)
        return merged([*self.count.events, *inside])

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        """Lines that differ in nothing but the clique are told as one."""
        alike: dict[NoiseLine, list[tuple[Clique, int]]] = {}
        for clique, method in zip(self.cliques, self.methods, strict=True):
            for line in method.noise:
                alike.setdefault(replace(line, cells=0), []).append((clique, line.cells))
        inside = (
            replace(
                line,
                query=f"{line.query}, {self._where([clique for clique, _ in same])}",
                cells=sum(entries for _, entries in same),
                sensitivity=f"{line.sensitivity} in each clique",
            )
            for line, same in alike.items()
        )
        return (*self.count.lines, *inside)

    @property
    def memory_bytes(self) -> int:
        inside = max(method.memory_bytes for method in self.methods)
        return inside + model_bytes(self.universe, self.cliques, self.expected_records)

    def expected_error(self) -> tuple[float, str]:
        """The largest of the forecasts inside cliques, which says so."""
        error, statement = max(method.expected_error() for method in self.methods)
        return error, (
            "an estimate for the worst clique alone, as nothing is proved of all together or of "
            f"the model that joins them: {statement}"
        )

    def ask(self, curator: RefreshedRounds) -> TablesByCall:
        """The number of records where that is measured apart, and a table for each clique."""
        counted = self.count.ask(curator)
        number = self.count.number(counted, None) if counted else None
        asked = dict(counted)
        for clique, method in zip(self.cliques, self.methods, strict=True):
            told = method.ask(curator_within(curator, method.universe, clique, number))
            asked |= {in_clique(call, clique): tables for call, tables in told.items()}
        return asked

    def distribution(
        self, answers: TablesByCall, total: int | None, *, progress: Progress
    ) -> Distribution:
        """The graphical model of what the methods make of their answers."""
        number = self.records(answers, total)
        tables: dict[Clique, Floats] = {}
        for clique, method in zip(self.cliques, self.methods, strict=True):
            told = of_clique(answers, clique)
            made = method.distribution(told, number, progress=silent)
            tables[clique] = number * table_of(method.universe, made.answers())
            progress(len(tables) / len(self.cliques) / 2, "finding the cliques' distributions")
        return field.fitted(
            self.universe,
            tables,
            dict.fromkeys(tables, _DEVIATION * number),
            number,
            total_is_public=total is not None,
            progress=part(progress, 0.5, 1.0),
        )

    def _where(self, cliques: Sequence[Clique]) -> str:
        titles = [self._title(clique) for clique in cliques[:_NAMED]]
        if len(cliques) == 1:
            return f"in clique {titles[0]}"
        more = len(cliques) - len(titles)
        listed = ", ".join(titles) + (f" and {more} more" if more else "")
        return f"in each of {len(cliques)} cliques ({listed})"

    def _title(self, clique: Clique) -> str:
        return named(self.universe, clique)


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasuredCliquewise(Cliquewise[Dpam]):
    """A cliquewise method that measures a histogram of every clique; these bound the errors."""

    @cached_property
    def estimate(self) -> LinearEstimate:
        """The linear estimate of all queries from the cliques' histograms."""
        precisions = np.array([1 / float(method.sigma2) for method in self.methods])
        return LinearEstimate(self.universe, self.cliques, precisions)

    def records(self, answers: TablesByCall, total: int | None) -> int:
        """The number of records, public or as all histograms have it together."""
        return (
            max(total, 1) if total is not None else self.estimate.records(self._histograms(answers))
        )

    def measured(self, answers: TablesByCall) -> Measured:
        """See `SelfBounding`: the histograms of all cliques together."""
        noises = [method.query.noise for method in self.methods]
        return Measured(self.estimate, noises, self._histograms(answers))

    def _histograms(self, answers: TablesByCall) -> list[Counts]:
        return [answers[in_clique(HISTOGRAM_CALL, clique)][0] for clique in self.cliques]


C = TypeVar("C", bound=Cliquewise[Any])


def plan_dpfw_or_cliquewise(
    universe: Universe, request: Request
) -> FrankWolfe | Cliquewise[FrankWolfe]:
    """Frank-Wolfe, with `cliquewise: true` inside each clique; other parameters as `plan_dpfw`.

    Raises:
        ValueError: as `plan_dpfw`; or queries that are no marginals' cells, or a model of the
            cliques that is too large.
    """
    adjacency = request.adjacency
    if not settings.flag(request.parameters, CLIQUEWISE):
        return plan_dpfw(universe, request)
    plan = _inside(Cliquewise[FrankWolfe], plan_dpfw, universe, request)
    rounds, part = max(one.rounds for one in plan.methods), Fraction(1, len(plan.cliques))
    amount = best_amount(
        request.budget, lambda whole: shared(whole, adjacency).part(part).choice(rounds)
    )
    each = shared(amount, adjacency).part(part)
    return replace(
        plan,
        count=records(universe, amount, adjacency),
        methods=tuple(
            # A clique alone may pay for more, and `noise: paper` asks for less.
            replace(one, epsilon=min(one.epsilon, each.choice(one.rounds)), count=plan.count)
            for one in plan.methods
        ),
    )


def plan_dpam_or_cliquewise(universe: Universe, request: Request) -> Dpam | MeasuredCliquewise:
    """DPAM, with `cliquewise: true` inside each clique; other parameters as `plan_dpam`.

    Raises:
        ValueError: as `plan_dpam`; or queries that are no marginals' cells, or a model of the
            cliques that is too large.
    """
    if not settings.flag(request.parameters, CLIQUEWISE):
        return plan_dpam(universe, request)
    plan = _inside(MeasuredCliquewise, plan_dpam, universe, request)
    sigma2 = calibrated(request.budget, request.adjacency, histograms=len(plan.cliques))
    methods = tuple(replace(one, sigma2=max(one.sigma2, sigma2)) for one in plan.methods)
    return replace(plan, methods=methods)


def model_bytes(universe: Universe, cliques: Sequence[Clique], expected_records: int) -> int:
    """Memory of the graphical model of the cliques.

    Raises:
        ValueError: its junction tree is too large; says by which clique, and what can be done.
    """
    try:
        return field.MODEL.memory(universe.as_domain, cliques, expected_records)
    except ValueError:
        shape = universe.shape
        tree = junction_tree(shape, cliques)
        widest = tree.largest(shape)
        more = len(widest) - _COLUMNS
        some = named(universe, widest[:_COLUMNS]) + (f" and {more} more" if more > 0 else "")
        raise ValueError(
            "mechanism.cliquewise: true, but a graphical model of the workload's marginals takes "
            f"{tree.cells(shape):,} cells, of which there may be "
            f"{field.MODEL.max_model_bytes // BYTES_A_CELL:,}; the columns {some} hang together "
            f"in {cells(widest, shape):,} of them; ask for fewer marginals among these, give them "
            "coarser cells, or set cliquewise: false"
        ) from None


def _inside(kind: type[C], plan: Callable[..., Method], universe: Universe, request: Request) -> C:
    """The method inside each clique, with constants for an equal share of the budget, and as if
    the number of records were known."""
    cliques = cliques_of(universe)
    model_bytes(universe, cliques, request.expected_records)
    alone = _alone(request.budget, len(cliques))
    given = {name: value for name, value in request.parameters.items() if name != CLIQUEWISE}
    return kind(
        universe=universe,
        request=request,
        cliques=cliques,
        methods=tuple(
            plan(within(universe, clique), replace(request, budget=alone, parameters=given))
            for clique in cliques
        ),
        count=Records(request.adjacency, None),
        alone=alone,
    )


def _alone(budget: Budget, cliques: int) -> Budget:
    """What each of so many equal parts of a budget is worth by itself, about."""
    if cliques == 1:
        return budget
    if budget.is_pure:
        return Budget(epsilon=budget.epsilon / cliques)
    epsilon = zcdp_epsilon(rho_of(budget) / cliques, budget.delta)
    return Budget(epsilon=Fraction(f"{epsilon:.6g}"), delta=budget.delta)
