"""Measure marginals for a certificate alone, and columns that their grid is too coarse for.

Claim.   The answers to `MeasuredMarginals.queries` cost at most the budget that `marginals_within`
         was given. With the stated confidence all bounds of a certificate hold together.
Proof.   Laplace noise alone costs the part of epsilon that it is given, and the parts sum to all of
         it as rationals; Gaussian noise of the marginals is calibrated to the whole budget beside
         the columns' events (`privacy.calibration`). Bounds: family.md and single_columns.md, each
         group at its part of the failure probability.
Choice.  All follows from public numbers, by simulations with fixed seeds: planning again gives the
         same. Noise is simulated once for all shares: its cost is proportional to 1 / epsilon.
Oracle.  tests/mechanisms/certificates/test_measured_marginals.py, test_with_share.py,
         test_alone.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.blocks.choose_noise import (
    QUANTILE,
    NoiseChoice,
    chosen_strategies,
    expected_noise,
)
from hallmark.mechanisms.blocks.estimate import FamilyEstimate, FamilyEstimator
from hallmark.mechanisms.blocks.family import Family
from hallmark.mechanisms.blocks.marginals import at_their_cells, ever_finer
from hallmark.mechanisms.blocks.single_columns import SingleColumns
from hallmark.mechanisms.certificates.distances import (
    DOUBT,
    DRAWS,
    SummedDistances,
    expected_distances,
)
from hallmark.mechanisms.certificates.family import (
    FamilyCertificate,
    certify_family,
    shared,
    together,
)
from hallmark.mechanisms.certificates.measured_columns import MeasuredColumns
from hallmark.mechanisms.certificates.simultaneous import PILOT, draws_needed
from hallmark.mechanisms.certificates.single_columns import (
    certify_single_columns,
    forecast_single_columns,
)
from hallmark.mechanisms.compute import Compute
from hallmark.mechanisms.contract import Certificate, Measurements, NoiseLine
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import Event, merged
from hallmark.mechanisms.privacy.queries import HistogramQuery

CERTIFICATE_CALL = "certificate"  # of all queries that the certificate rests on
FINEST = 32  # cells of a line, where nobody asks for more: flows take time
SHARES = tuple(Fraction(1, n) for n in (20, 10, 5, 3, 2))
"""Parts of epsilon to choose from, for single columns."""
_FORECAST_CONFIDENCE = 0.95  # of columns; a certificate at 0.95 has some more for them


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasuredMarginals:
    """All marginals of an order, and single columns, with the noise of each. Public; pickles.

    Attributes:
        estimator: of the marginals, on their grid.
        own: of columns of which that grid merges codes, at their own cells; None where there are
            none, or where it does not pay to measure them.
        share: part of epsilon that these columns were chosen to have.
        k: cells of a line in the marginals.
        forecast: of the largest marginal's bound for records as good as the noise lets one see.
    """

    estimator: FamilyEstimator
    own: FamilyEstimator | None
    share: Fraction
    k: int
    forecast: float

    @property
    def family(self) -> Family:
        """The marginals."""
        return self.estimator.family

    @cached_property
    def columns(self) -> MeasuredColumns:
        """Single columns' histograms."""
        return MeasuredColumns(self.estimator, self.own)

    @property
    def queries(self) -> tuple[HistogramQuery, ...]:
        """The marginals' first, then the columns'."""
        return (*self.estimator.queries, *(() if self.own is None else self.own.queries))

    @property
    def events(self) -> tuple[Event, ...]:
        return merged(query.event(self.estimator.adjacency) for query in self.queries)

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        purpose = ", for the certificate"
        own = () if self.own is None else self.own.noise_lines(purpose)
        return (*self.estimator.noise_lines(purpose), *own)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What was chosen, as plain JSON values."""
        chosen = {
            "marginals": [block.name for block in self.family.blocks],
            "cells": self.k,
            "noise": _names(self.estimator),
        }
        if self.own is None:
            return chosen
        columns = {
            "measured": [block.name for block in self.own.family.blocks],
            "share": str(self.share),
            "noise": _names(self.own),
        }
        return {**chosen, "columns": columns}

    @property
    def memory_bytes(self) -> int:
        """Approximate upper bound on the memory for the marginals' graphs and tables, bytes."""
        edges = sum(len(block.space.tails) for block in self.family.blocks)
        points = sum(block.space.size for block in self.family.blocks)
        return 200 * edges + 400 * points

    def forecast_marginals(self, records: int) -> Mapping[tuple[str, ...], float]:
        """Forecast of every marginal's bound, by columns, as `forecast` is of the largest's.

        Tables of one size are measured alike, and are taken to cost what the first of them does.
        """
        blocks, names = self.family.blocks, self.family.domain.names
        estimator = self.estimator
        costs: dict[tuple[int, str], float] = {}
        for block, strategy in zip(blocks, estimator.strategies, strict=True):
            kind = block.space.size, strategy.name
            if kind not in costs:
                costs[kind] = expected_noise(block.space, strategy, adjacency=estimator.adjacency)
        return {
            tuple(names[column] for column in block.columns): min(
                1.0,
                float(distance)
                + (QUANTILE + 1) * costs[block.space.size, strategy.name] / max(records, 1),
            )
            for block, strategy, distance in zip(
                blocks,
                estimator.strategies,
                expected_distances(self.columns, 1.0, records),
                strict=True,
            )
        }

    def forecast_columns(self, records: int) -> Mapping[str, float]:
        """Forecast of every column's own bound, by name; without the projection."""
        attributes = self.family.domain.attributes
        return forecast_single_columns(
            Domain(tuple(attributes[column] for column in self.columns.columns)),
            self.columns.errors(PILOT + 99, np.random.default_rng(0)),  # the same each time
            expected_records=records,
            total_is_public=self.estimator.total_is_public,
            confidence=_FORECAST_CONFIDENCE,
            coarsening=self.columns.coarsening,
        )

    def certify(
        self,
        measurements: Measurements,
        synthetic_codes: AnyCodes,
        *,
        confidence: float,
        compute: Compute,
        rng: np.random.Generator,
    ) -> Certificate:
        """Bounds for these records: all marginals and all columns, jointly.

        Args:
            measurements: with the answers to `queries`, by `CERTIFICATE_CALL`.
            synthetic_codes: the released records, shape (rows, attributes), rows >= 1.
        """
        estimate, own = self._estimates(measurements)
        histograms, doubt = self.columns.estimate(estimate, own), self._doubt(confidence)
        joint, single = shared(confidence + doubt)
        distances = SummedDistances(self.columns)
        draws = max(draws_needed(single), self._draws(doubt))
        columns = certify_single_columns(
            Domain(tuple(self.family.domain.attributes[c] for c in self.columns.columns)),
            histograms,
            distances.watch(self.columns.errors(draws, rng)),
            synthetic_codes[:, self.columns.columns],
            total_is_public=self.estimator.total_is_public,
            confidence=single,
        )
        blocks = certify_family(
            self.estimator,
            estimate,
            synthetic_codes,
            confidence=joint,
            compute=compute,
            distances=distances.upper(histograms, confidence=1 - doubt) if doubt else None,
        )
        return together(
            blocks,
            columns,
            confidence=confidence + doubt,
            stated=confidence,
            of_distances=_of_distances(doubt),
        )

    def certify_marginals(
        self,
        measurements: Measurements,
        synthetic_codes: AnyCodes,
        *,
        confidence: float,
        compute: Compute,
        rng: np.random.Generator,
    ) -> FamilyCertificate:
        """Bounds for all marginals, and none for single columns; arguments as of `certify`."""
        estimate, own = self._estimates(measurements)
        doubt, bounds = self._doubt(confidence), None
        if doubt:
            distances = SummedDistances(self.columns)
            for _ in distances.watch(self.columns.errors(self._draws(doubt), rng)):
                pass
            histograms = self.columns.estimate(estimate, own)
            bounds = distances.upper(histograms, confidence=1 - doubt)
        blocks = certify_family(
            self.estimator,
            estimate,
            synthetic_codes,
            confidence=confidence + doubt,
            compute=compute,
            distances=bounds,
        )
        return replace(blocks, method=f"{blocks.method} {_of_distances(doubt)}".strip())

    def _estimates(
        self, measurements: Measurements
    ) -> tuple[FamilyEstimate, FamilyEstimate | None]:
        tables, marginals = measurements.tables[CERTIFICATE_CALL], len(self.estimator.queries)
        estimate = self.estimator.estimate(tables[:marginals], measurements.total)
        if self.own is None:
            return estimate, None
        return estimate, self.own.estimate(tables[marginals:], measurements.total)

    def _doubt(self, confidence: float) -> float:
        """Part of the failure probability for the distances; none where all records lie on their
        points."""
        return DOUBT * (1 - confidence) if self.family.radius > 0 else 0.0

    def _draws(self, doubt: float) -> int:
        return draws_needed(1 - doubt, affordable=DRAWS) if doubt else 0


def marginals_within(
    budget: Budget,
    domain: Domain,
    *,
    order: int,
    cells: int | None,
    adjacency: Adjacency,
    records: int,
    columns: bool,
) -> MeasuredMarginals:
    """The grid, noise and share of single columns with the least forecast, for the whole budget.

    Args:
        order: columns certified jointly.
        cells: of a line; None chooses.
        records: about as many as there are.
        columns: whether bounds of single columns are wanted too. Then all columns whose codes the
            grid merges are measured, and what their noise costs is forecast beside the largest
            marginal's bound; else they are measured where that alone gets smaller.
    Raises:
        ValueError: there are not so many columns, or the tables are too large.
    """
    if order > len(domain):
        raise ValueError(
            f"certificate.marginals: {order}, but there are only {len(domain)} columns"
        )
    column_sets = tuple(combinations(range(len(domain)), order))
    best: _Design | None = None
    for k, family in ever_finer(domain, column_sets, cells, finest=FINEST):
        designs = list(_designs(k, family, budget, adjacency, records, columns))
        found = min(designs, key=lambda design: design.aim)
        if best is None or found.aim < best.aim:
            best = found
        noise = min((QUANTILE + 1) * design.cost / max(records, 1) for design in designs)
        if noise > best.aim or family.radius == 0:
            break
    assert best is not None, "there is a candidate"
    return _made(best, budget, adjacency, records)


@dataclass(frozen=True, eq=False)
class _Design:
    """A grid with a kind of noise and a share for the columns, and what is forecast of it.

    Attributes:
        noise: "gaussian" for all, or "auto" for the best of Laplace's.
        merged: columns whose codes the grid merges.
        cost: expected of the noise in the costliest marginal, records times distance.
        aim: what is to be small.
    """

    k: int
    family: Family
    noise: NoiseChoice
    merged: tuple[int, ...]
    share: Fraction
    cost: float
    aim: float


def _designs(
    k: int, family: Family, budget: Budget, adjacency: Adjacency, records: int, columns: bool
) -> Iterator[_Design]:
    merges = SingleColumns(family).merged
    singles = at_their_cells(family.domain, merges) if merges else None
    shares = () if columns and merges else (Fraction(0),)
    kinds: tuple[NoiseChoice, ...] = ("auto",) if budget.is_pure else ("auto", "gaussian")
    for noise in kinds:
        whole = _allowed(budget, noise)
        strategies, cost = chosen_strategies(noise, family, whole, adjacency)
        estimator, own, own_cost = FamilyEstimator(family, strategies, adjacency), None, 0.0
        if singles is not None:
            own_strategies, own_cost = chosen_strategies(noise, singles, whole, adjacency)
            own = FamilyEstimator(singles, own_strategies, adjacency)
        for share in (*shares, *(() if own is None else SHARES)):
            part = float(share)
            # Of epsilon, the parts add up; of Gaussian noise, about the parts' squares do.
            left = sqrt(1 - part**2) if noise == "gaussian" else 1 - part
            measured = MeasuredColumns(estimator, own if share else None)
            distances = float(
                expected_distances(measured, 1 / part if share else 0.0, records).max()
            )
            aim = distances + (QUANTILE + 1) * cost / left / max(records, 1)
            if columns and share:
                aim += (QUANTILE + 1) * own_cost / part / max(records, 1)
            yield _Design(k, family, noise, merges, share, cost / left, aim)


def _made(design: _Design, budget: Budget, adjacency: Adjacency, records: int) -> MeasuredMarginals:
    whole = _allowed(budget, design.noise)
    own, left = None, whole
    beside: tuple[Event, ...] = ()
    if design.share:
        part = replace(whole, epsilon=design.share * whole.epsilon)
        singles = at_their_cells(design.family.domain, design.merged)
        own_strategies, _ = chosen_strategies(design.noise, singles, part, adjacency)
        own = FamilyEstimator(singles, own_strategies, adjacency)
        if design.noise == "gaussian":
            beside = merged(query.event(adjacency) for query in own.queries)
        else:
            left = replace(whole, epsilon=whole.epsilon - part.epsilon)
    strategies, cost = chosen_strategies(
        design.noise, design.family, left, adjacency, beside=beside
    )
    estimator = FamilyEstimator(design.family, strategies, adjacency)
    distances = float(expected_distances(MeasuredColumns(estimator, own), 1.0, records).max())
    return MeasuredMarginals(
        estimator=estimator,
        own=own,
        share=design.share,
        k=design.k,
        forecast=distances + (QUANTILE + 1) * cost / max(records, 1),
    )


def _allowed(budget: Budget, noise: NoiseChoice) -> Budget:
    """Laplace noise leaves delta unused, so that its costs add up exactly."""
    return budget if noise == "gaussian" else Budget(epsilon=budget.epsilon)


def _names(estimator: FamilyEstimator) -> list[str]:
    return sorted({strategy.name for strategy in estimator.strategies})


def _of_distances(doubt: float) -> str:
    if not doubt:
        return ""
    return (
        "How far the private records lie from their points on average follows from the columns' "
        f"measured histograms and a simulated quantile of their noise, at confidence {1 - doubt:g}."
        " "
    )
