"""`direct`: measure tables once, with exact noise, and fit a distribution to them.

Claim.   `ask` is (epsilon, delta)-differentially private within the budget, purely where delta is
         0; the distribution is a function of its answers and of public numbers.
Proof.   `strategy`: all events are fixed beforehand, and calibrated together.
Source.  Least squares over the simplex on the workload's marginals, with the matrix mechanism's
         choice of what to measure: Li et al. (2015), VLDB Journal 24; Xiao et al. (2023), NeurIPS.
         Of Micali, Lezane, Betken (2025), AISTATS, this is what their DPAM amounts to once its many
         Gaussian releases are seen to be one, without the detour (`dpam`).
Oracle.  tests/mechanisms/linear_queries/direct/test_method.py: all neighbours of tiny tables, the
         accountant, limits, and errors measured beside those of the raw answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechanisms.adaptive_support.simplex import project_on_simplex
from mechanisms.contract import NoiseLine, Progress
from mechanisms.linear_queries.direct import field
from mechanisms.linear_queries.direct.certify import query_bounds
from mechanisms.linear_queries.direct.linear_estimate import Asked
from mechanisms.linear_queries.direct.mirror_descent import Fit, LeastSquares, descend
from mechanisms.linear_queries.direct.strategy import (
    DRAWS,
    NOISES,
    STRATEGIES,
    Strategy,
    choose,
)
from mechanisms.linear_queries.marginals import marginals, spread
from mechanisms.linear_queries.method import Distribution, ErrorBounds
from mechanisms.linear_queries.settings import MOST_CELLS, one_of, refuse
from mechanisms.linear_queries.universe import Universe
from mechanisms.linear_queries.weights import Weights
from mechanisms.marginals.cliques import Clique
from mechanisms.privacy.adjacency import Adjacency
from mechanisms.privacy.budget import Budget
from mechanisms.privacy.cells import Counts
from mechanisms.privacy.curator import Curator
from mechanisms.privacy.events import Event, merged
from mechanisms.privacy.linear_queries import Block, EachCell, LinearQueries
from mechanisms.privacy.queries import GaussianNoise, Noise

Floats = NDArray[np.float64]

ESTIMATORS = ("auto", "likelihood", "workload", "projection", "graphical")

_GAP = 0.1  # of minus the log-likelihood: all residuals together within half a standard deviation
_STEPS = 2000
_VECTORS = 24  # of the universe's cells that mirror descent keeps


@dataclass(frozen=True, eq=False)
class FittedWeights(Weights):
    """Shares of the universe's cells, with the evidence of the fit."""

    fit: Fit


@dataclass(frozen=True, eq=False, kw_only=True)
class Direct:
    """One release of noisy tables. Every field is public.

    Attributes:
        strategy: what is measured.
        estimator: "likelihood" (least squares on the tables), "workload" (on the queries),
            "projection" (the nearest distribution to the histogram), or "graphical" (a random
            field, where the universe is not enumerated).
    """

    universe: Universe
    adjacency: Adjacency
    expected_records: int
    strategy: Strategy
    estimator: str

    name = "direct"
    source = (
        "least squares over distributions on one release of noisy tables, which the matrix "
        "mechanism chooses: Li et al. (2015), The matrix mechanism, VLDB Journal 24; Xiao, He, "
        "Zhang, Kifer (2023), An optimal and scalable matrix mechanism for noisy marginals, "
        "NeurIPS. Marginals are measured rather than their interactions"
    )

    @property
    def parameters(self) -> Mapping[str, Any]:
        kinds: dict[Noise, int] = {}
        for noise in self.strategy.noises:
            kinds[noise] = kinds.get(noise, 0) + 1
        return {
            "strategy": self.strategy.name,
            "estimator": self.estimator,
            "tables": len(self.strategy.asked),
            "noise": [
                {**_named(noise), "tables": count}
                for noise, count in sorted(kinds.items(), key=lambda item: item[0].variance)
            ],
        }

    @property
    def events(self) -> tuple[Event, ...]:
        return merged(query.event(self.adjacency) for query in self.strategy.queries)

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        alike: dict[Noise, list[int]] = {}
        for position, noise in enumerate(self.strategy.noises):
            alike.setdefault(noise, []).append(position)
        queries = self.strategy.queries
        return tuple(
            NoiseLine.of(
                queries[same[0]],
                self._what(same),
                sum(queries[position].cells.size for position in same),
                adjacency=self.adjacency,
                times=len(same),
            )
            for same in alike.values()
        )

    @property
    def memory_bytes(self) -> int:
        measured = sum(query.cells.size for query in self.strategy.queries)
        if self.estimator == "graphical":
            return field.memory(self.universe, self._cliques, self.expected_records)
        return 8 * (_VECTORS * self.universe.size + 4 * measured + 4 * self.universe.queries.size)

    def expected_error(self) -> tuple[float, str]:
        statement = (
            "an estimate: the mean of the largest error of the best linear unbiased estimate, from "
            f"{DRAWS} simulations of its noise; that it is fitted by a distribution lowers it"
        )
        return min(self.strategy.forecast / self.expected_records, 2.0), statement

    def ask(self, curator: Curator) -> tuple[Counts, ...]:
        return tuple(curator.histograms("tables", self.strategy.queries))

    @property
    def total_noise(self) -> Noise | None:
        """See `Method`: all tables tell the number of records, none by itself."""
        return None

    def records(self, answers: Sequence[Counts], total: int | None) -> int:
        """The number of records, public or as all tables have it together."""
        if total is not None:
            return max(total, 1)
        pooled = self.strategy.estimate.pooled([table[None, :] for table in answers])
        return max(round(float(pooled[()][0, 0])), 1)

    def distribution(
        self, answers: Sequence[Counts], total: int | None, *, progress: Progress
    ) -> Distribution:
        records = self.records(answers, total)
        match self.estimator:
            case "graphical":
                deviations = self.strategy.estimate.precisions**-0.5
                return field.fitted(
                    self.universe,
                    dict(zip(self._cliques, answers, strict=True)),
                    dict(zip(self._cliques, deviations.tolist(), strict=True)),
                    records,
                    total_is_public=total is not None,
                    progress=progress,
                )
            case "projection":
                masses = project_on_simplex(answers[0], records).masses
                return Weights(self.universe, masses / masses.sum())
            case "workload":
                task = self._on_queries(answers, records)
            case _:
                task = self._on_tables(answers, records)

        def report(share: float) -> None:
            progress(share, "fitting a distribution to the measured tables")

        fit = descend(task, self.universe.uniform, gap=_GAP, steps=_STEPS, report=report)
        return FittedWeights(self.universe, fit.shares, fit)

    def bounds(
        self,
        answers: Sequence[Counts],
        total: int | None,
        made: Floats,
        *,
        confidence: float,
        rng: np.random.Generator,
    ) -> ErrorBounds:
        """See `certify`."""
        return query_bounds(
            self.strategy.estimate,
            self.strategy.noises,
            answers,
            total,
            made,
            confidence=confidence,
            rng=rng,
        )

    def _on_tables(self, answers: Sequence[Counts], records: int) -> LeastSquares:
        """Least squares on all tables, by inverse variance."""
        shape = self.universe.shape
        asked = self.strategy.asked
        cliques = [one for one in asked if not isinstance(one, int)]
        blocks = [one for one in asked if isinstance(one, int)]
        own = self._own(blocks) if blocks else None
        order: list[Asked] = [*cliques, *blocks]
        measured = dict(zip(asked, answers, strict=True))
        precisions = dict(zip(asked, self.strategy.estimate.precisions, strict=True))
        sizes = [len(measured[one]) for one in cliques]
        ends = np.cumsum(sizes)

        def forward(shares: Floats) -> Floats:
            found = marginals(shares, shape, cliques)
            parts = [found[clique] for clique in cliques]
            return np.concatenate([*parts, *([own.answers(shares)] if own else [])])

        def adjoint(values: Floats) -> Floats:
            *parts, rest = np.split(values, ends)
            total = spread(dict(zip(cliques, parts, strict=True)), shape)
            return total + own.adjoint(rest) if own else total

        return LeastSquares(
            forward,
            adjoint,
            np.concatenate([measured[one] / records for one in order]),
            np.repeat(
                [precisions[one] * records**2 for one in order],
                [len(measured[one]) for one in order],
            ),
        )

    def _on_queries(self, answers: Sequence[Counts], records: int) -> LeastSquares:
        """Least squares on the linear estimate of the queries, all alike, in expected errors."""
        estimate = self.strategy.estimate
        pooled = estimate.pooled([table[None, :] for table in answers])
        pooled[()] = np.array([[records]])
        return LeastSquares(
            self.universe.answers,
            self.universe.adjoint,
            estimate.answers(pooled)[0] / records,
            np.full(self.universe.queries.size, (records / self.strategy.forecast) ** 2),
        )

    def _own(self, blocks: Sequence[int]) -> Universe:
        """The universe with blocks' own cells as its queries."""
        maps = self.universe.queries.maps
        cells = tuple(Block(maps[b], EachCell(maps[b].size)) for b in blocks)
        return Universe(self.universe.shape, LinearQueries(cells), self.universe.levels)

    @cached_property
    def _cliques(self) -> tuple[Clique, ...]:
        """What is measured, where it is marginals alone."""
        return tuple(asked for asked in self.strategy.asked if not isinstance(asked, int))

    def _what(self, same: Sequence[int]) -> str:
        asked = [self.strategy.asked[position] for position in same]
        own = sum(isinstance(one, int) for one in asked)
        if asked == [tuple(range(len(self.universe.shape)))]:
            return "the histogram of all combinations of the columns' cells"
        parts = [f"{len(asked) - own} marginals"] if len(asked) > own else []
        parts += [f"{own} histograms of weighted sums"] if own else []
        return " and ".join(parts)


def plan_direct(
    universe: Universe,
    *,
    budget: Budget,
    adjacency: Adjacency,
    expected_records: int,
    parameters: Mapping[str, Any],
) -> Direct:
    """The strategy with the least forecast error, within the parameters.

    Raises:
        ValueError: a wrong parameter, queries that never change, or tables that are too large.
    """
    known = ("strategy", "noise", "estimator")
    refuse("direct", universe, adjacency, expected_records, parameters, known)
    strategy = one_of(parameters, "strategy", STRATEGIES)
    noise = one_of(parameters, "noise", NOISES)
    estimator = one_of(parameters, "estimator", ESTIMATORS)
    if noise == "gaussian" and budget.is_pure:
        raise ValueError(
            "mechanism.noise: gaussian, but privacy.delta is 0, which Gaussian noise never keeps; "
            "set delta > 0, or noise laplace"
        )
    small = universe.size <= MOST_CELLS
    if estimator == "auto":
        # Where most cells are empty, fitting each of them to noise that cannot be negative moves
        # mass to them from the others, which sums over many cells show.
        dense = universe.size <= expected_records
        estimator = "graphical" if not small else "likelihood" if dense else "workload"
    if not small and (estimator != "graphical" or strategy == "histogram"):
        key, value = ("strategy", strategy) if strategy == "histogram" else ("estimator", estimator)
        raise ValueError(
            f"mechanism.{key}: {value} keeps a number for each of the universe's "
            f"{universe.size:,} cells, and at most {MOST_CELLS:,} are kept; leave it at auto, "
            "or use fewer columns or coarser ones"
        )
    if estimator == "projection" and strategy != "histogram":
        if strategy == "marginals":
            raise ValueError(
                "mechanism.estimator: projection is of the histogram, but strategy is marginals; "
                "leave one of them out"
            )
        strategy = "histogram"
    chosen = choose(
        universe,
        budget=budget,
        adjacency=adjacency,
        strategy=strategy,
        noise=noise,
        enumerated=estimator != "graphical",
    )
    method = Direct(
        universe=universe,
        adjacency=adjacency,
        expected_records=expected_records,
        strategy=chosen,
        estimator=estimator,
    )
    if estimator == "graphical":
        field.memory(universe, method._cliques, expected_records)
    return method


def _named(noise: Noise) -> dict[str, str]:
    if isinstance(noise, GaussianNoise):
        return {"family": "discrete Gaussian", "sigma2": str(noise.sigma2)}
    return {"family": "discrete Laplace", "scale": str(noise.scale)}
