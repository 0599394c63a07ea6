"""`direct`: measure tables once, with exact noise, and fit a distribution to them.

Claim.   `ask` is (epsilon, delta)-differentially private within the budget, purely where delta is
         0; the distribution is a function of its answers and of public numbers.
Proof.   `strategy`: all events are fixed beforehand, and calibrated together.
Fits.    Least squares end where they are provably near the best (`_NEAR`), or after `_STEPS`. No
         bound on errors depends on that: `certify` holds for any distribution whatever.
Source.  Least squares over the simplex on the workload's marginals, with the matrix mechanism's
         choice of what to measure: Li et al. (2015), VLDB Journal 24; Xiao et al. (2023), NeurIPS.
         Of Micali, Lezane, Betken (2025), AISTATS, this is what their DPAM amounts to once its many
         Gaussian releases are seen to be one, without the detour (`dpam`).
Oracle.  tests/mechanisms/linear_queries/direct/test_method.py: all neighbours of tiny tables, the
         accountant, limits, and errors measured beside those of the raw answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.contract import NoiseLine
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.execution import Progress
from hallmark.mechanisms.geometry.simplex import project_on_simplex
from hallmark.mechanisms.linear_queries.direct import field
from hallmark.mechanisms.linear_queries.direct.certify import Measured
from hallmark.mechanisms.linear_queries.direct.interactions import gathered
from hallmark.mechanisms.linear_queries.direct.mirror_descent import Fit, LeastSquares, descend
from hallmark.mechanisms.linear_queries.direct.table_strategy import (
    DRAWS,
    NOISES,
    STRATEGIES,
    TableStrategy,
    choose,
)
from hallmark.mechanisms.linear_queries.method import Distribution
from hallmark.mechanisms.linear_queries.settings import MOST_CELLS, one_of, refuse, size_in_words
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.linear_queries.weights import Weights
from hallmark.mechanisms.privacy.calls import Histograms, TablesByCall
from hallmark.mechanisms.privacy.events import Event, merged
from hallmark.mechanisms.privacy.linear_queries import Block, EachCell, LinearQueries
from hallmark.mechanisms.privacy.queries import GaussianNoise, Noise
from hallmark.mechanisms.request import Request, Requested

ESTIMATORS = ("auto", "likelihood", "workload", "projection", "graphical")

_NEAR = 0.1  # how far a fit may be from the best, root mean square, in standard deviations
_STEPS = 2000
_NAMED = 3  # tables of a noise line
_VECTORS = 24  # of the universe's cells that mirror descent keeps
CALL = "tables"


@dataclass(frozen=True, eq=False)
class FittedWeights(Weights):
    """Shares of the universe's cells, with the evidence of the fit."""

    fit: Fit

    @property
    def history(self) -> Mapping[str, Any]:
        """How near it came to the best distribution; the loss is half the weighted squares."""
        return {
            "steps": self.fit.steps,
            "loss": float(f"{self.fit.loss:.4g}"),
            "excess_at_most": float(f"{self.fit.gap:.4g}"),
            "converged": self.fit.converged,
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Direct(Requested):
    """One release of noisy tables. Every field is public.

    Attributes:
        strategy: what is measured.
        estimator: "likelihood" (least squares on the tables), "workload" (on the queries),
            "projection" (the nearest distribution to the histogram), or "graphical" (a random
            field, where the universe is not enumerated).
    """

    universe: Universe
    strategy: TableStrategy
    estimator: str

    source = (
        "least squares over distributions on one release of noisy tables, which the matrix "
        "mechanism chooses: Li et al. (2015), The matrix mechanism, VLDB Journal 24; Xiao, He, "
        "Zhang, Kifer (2023), An optimal and scalable matrix mechanism for noisy marginals, "
        "NeurIPS. Marginals are measured rather than their interactions"
    )

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {
            "strategy": self.strategy.name,
            "estimator": self.estimator,
            "tables": len(self.strategy.asked),
            "noise": [
                {**_named(noise), "tables": len(self._alike[noise])}
                for noise in sorted(self._alike, key=lambda noise: noise.variance)
            ],
        }

    @property
    def events(self) -> tuple[Event, ...]:
        return merged(query.event(self.adjacency) for query in self.strategy.queries)

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        queries = self.strategy.queries
        return tuple(
            NoiseLine.of(
                queries[same[0]],
                self._what(same),
                sum(queries[position].cells.size for position in same),
                adjacency=self.adjacency,
                times=len(same),
            )
            for same in self._alike.values()
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

    def ask(self, curator: Histograms) -> TablesByCall:
        return {CALL: tuple(curator.histograms(CALL, self.strategy.queries))}

    @property
    def total_noise(self) -> Noise | None:
        """See `Method`: all tables tell the number of records, none by itself."""
        return None

    def records(self, answers: TablesByCall, total: int | None) -> int:
        """The number of records, public or as all tables have it together."""
        return max(total, 1) if total is not None else self.strategy.estimate.records(answers[CALL])

    def distribution(
        self, answers: TablesByCall, total: int | None, *, progress: Progress
    ) -> Distribution:
        records = self.records(answers, total)
        match self.estimator:
            case "graphical":
                deviations = self.strategy.estimate.precisions**-0.5
                return field.fitted(
                    self.universe,
                    dict(zip(self._cliques, answers[CALL], strict=True)),
                    dict(zip(self._cliques, deviations.tolist(), strict=True)),
                    records,
                    total_is_public=total is not None,
                    progress=progress,
                )
            case "projection":
                possible = self.universe.possible
                masses = np.zeros(self.universe.size)
                masses[possible] = project_on_simplex(answers[CALL][0][possible], records).masses
                return Weights(self.universe, masses / masses.sum())
            case "workload":
                task, numbers = self._on_queries(answers[CALL], records), self.universe.queries.size
            case _:
                task = self._on_tables(answers[CALL], records)
                numbers = int(np.count_nonzero(task.precision))
        gap = _NEAR**2 / 2 * numbers  # see `mirror_descent`

        def report(share: float) -> None:
            progress(share, "fitting a distribution to the measured tables")

        fit = descend(task, self.universe.uniform, gap=gap, steps=_STEPS, report=report)
        return FittedWeights(self.universe, fit.shares, fit)

    def measured(self, answers: TablesByCall) -> Measured:
        """See `SelfBounding`."""
        return Measured(self.strategy.estimate, self.strategy.noises, answers[CALL])

    def _on_tables(self, answers: Sequence[Counts], records: int) -> LeastSquares:
        """Least squares on all tables, by inverse variance."""
        precisions = self.strategy.estimate.precisions
        tables: dict[Clique, Floats] = {}
        weights: dict[Clique, float] = {}
        own: dict[int, tuple[Floats, float]] = {}
        for asked, precision, table in zip(self.strategy.asked, precisions, answers, strict=True):
            weight = float(precision) * records**2
            if isinstance(asked, int):
                own[asked] = table / records, weight
            else:
                tables[asked], weights[asked] = table / records, weight
        tasks = [gathered(self.universe.shape, tables, weights)] if tables else []
        if own:
            maps = self.universe.queries.maps
            cells = self._asked([Block(maps[b], EachCell(maps[b].size)) for b in own])
            target = np.concatenate([table for table, _ in own.values()])
            precision = np.repeat([w for _, w in own.values()], [maps[b].size for b in own])
            tasks.append(_through(cells, target, precision))
        return reduce(LeastSquares.beside, tasks)

    def _on_queries(self, answers: Sequence[Counts], records: int) -> LeastSquares:
        """Least squares on the linear estimate of the queries, all alike, in expected errors."""
        estimate, queries = self.strategy.estimate, self.universe.queries
        estimated = estimate.means_of(answers, records)
        weight = (records / self.strategy.forecast) ** 2
        tables: dict[Clique, Floats] = {}
        weights: dict[Clique, float] = {}
        rest: list[tuple[Block, Floats]] = []
        for block, clique, place, values in zip(
            queries.blocks,
            self.universe.cliques,
            self.universe.places,
            np.split(estimated, queries.starts[1:-1]),
            strict=True,
        ):
            if isinstance(block.rows, EachCell) and place is None:
                scale = block.rows.value / queries.unit
                tables[clique] = values / scale
                weights[clique] = weights.get(clique, 0.0) + weight * scale**2
            else:
                rest.append((block, values))
        tasks = [gathered(self.universe.shape, tables, weights)] if tables else []
        if rest:
            asked = self._asked([block for block, _ in rest], queries.unit)
            target = np.concatenate([values for _, values in rest])
            tasks.append(_through(asked, target, np.full(len(target), weight)))
        return reduce(LeastSquares.beside, tasks)

    def _asked(self, blocks: Sequence[Block], unit: int = 1) -> Universe:
        """The universe with these queries."""
        return Universe(
            self.universe.shape, LinearQueries(tuple(blocks), unit), self.universe.levels
        )

    @cached_property
    def _cliques(self) -> tuple[Clique, ...]:
        """What is measured, where it is marginals alone."""
        return tuple(asked for asked in self.strategy.asked if not isinstance(asked, int))

    @cached_property
    def _alike(self) -> Mapping[Noise, list[int]]:
        """Positions of the tables with the same noise."""
        alike: dict[Noise, list[int]] = {}
        for position, noise in enumerate(self.strategy.noises):
            alike.setdefault(noise, []).append(position)
        return alike

    def _what(self, same: Sequence[int]) -> str:
        asked = [self.strategy.asked[position] for position in same]
        if asked == [tuple(range(len(self.universe.shape)))]:
            return "the histogram of all combinations of the columns' cells"
        cliques = [one for one in asked if not isinstance(one, int)]
        blocks = [self.universe.cliques[one] for one in asked if isinstance(one, int)]
        parts = [self._listed("marginal", cliques)] if cliques else []
        parts += [self._listed("histogram of weighted sums", blocks)] if blocks else []
        return " and ".join(parts)

    def _listed(self, what: str, cliques: Sequence[Clique]) -> str:
        """The number of these cliques, and the columns of the first few, in words."""
        head, _, rest = what.partition(" ")
        many = f"{len(cliques)} {head}{'s' * (len(cliques) > 1)} {rest}".rstrip()
        named = [" x ".join(map(self.universe.name, clique)) for clique in cliques[:_NAMED]]
        more = len(cliques) - len(named)
        return f"{many} ({', '.join(named)}{f' and {more} more' if more else ''})"


def plan_direct(universe: Universe, request: Request) -> Direct:
    """The strategy with the least forecast error, within the parameters.

    Raises:
        ValueError: a wrong parameter, queries that never change, or tables that are too large.
    """
    budget, adjacency = request.budget, request.adjacency
    expected_records, parameters = request.expected_records, request.parameters
    known = ("strategy", "noise", "estimator")
    refuse("linear-queries", universe, request, known)
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
            f"mechanism.{key}: {value} keeps a number for each of at most {MOST_CELLS:,} "
            f"cells, but the queries tell apart {size_in_words(universe)}; leave it at auto, ask "
            "about fewer columns, or give them coarser cells"
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
        request=request,
        strategy=chosen,
        estimator=estimator,
    )
    if estimator == "graphical":
        field.memory(universe, method._cliques, expected_records)
    return method


def _through(universe: Universe, target: Floats, precision: Floats) -> LeastSquares:
    """Least squares on a universe's queries, which are within [-1, 1]."""
    return LeastSquares(
        universe.answers, universe.adjoint, target, precision, float(precision.sum())
    )


def _named(noise: Noise) -> dict[str, str]:
    if isinstance(noise, GaussianNoise):
        return {"family": "discrete Gaussian", "sigma2": str(noise.sigma2)}
    return {"family": "discrete Laplace", "scale": str(noise.scale)}
