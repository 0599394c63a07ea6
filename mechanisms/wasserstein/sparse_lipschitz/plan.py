"""Plan a sparse-Lipschitz release: blocks, grid, noise and support, by the forecast certificate.

Claim.   The curator's answers to `SparseLipschitzPlan.queries` are differentially private under its
         adjacency within its budget: with Laplace noise at exactly epsilon, delta unused (but
         for the paper's, whose number of records moves less where records are replaced).
Proof.   sparse_lipschitz.md, beside this file; every strategy and the measured discretisation state
         their own cost, and the parts of epsilon sum to it as rationals.
Choice.  Grid, noise and shares depend on public numbers only, so choosing them by simulated
         forecasts costs nothing. All simulations have fixed seeds: planning again gives the same.
Source.  "Certified private data release for sparse Lipschitz functions" (AISTATS 2024), Algorithm 1
         and Theorem 1, which chooses k by the order of magnitude.
Oracle.  tests/mechanisms/wasserstein/sparse_lipschitz/test_plan.py enumerates neighbours of small
         tables.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.blocks.choose_noise import QUANTILE, chosen_strategies
from hallmark.mechanisms.blocks.discretisation import (
    STEPS,
    MeasuredDiscretisation,
    can_be_measured,
)
from hallmark.mechanisms.blocks.estimate import FamilyEstimator
from hallmark.mechanisms.blocks.family import Family
from hallmark.mechanisms.blocks.marginals import ever_finer, noisy_counts
from hallmark.mechanisms.blocks.programs import Loss
from hallmark.mechanisms.blocks.strategies.strategy import Strategy
from hallmark.mechanisms.contract import Forecast, NoiseLine
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.grids import axis
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import Event, merged
from hallmark.mechanisms.privacy.queries import HistogramQuery
from hallmark.mechanisms.request import Request, Requested
from hallmark.mechanisms.wasserstein.sparse_lipschitz.parameters import Settings, parse

METRIC = (
    "largest 1-Wasserstein distance of a block's distribution, columns in the largest-difference "
    "metric, as a share of the diameter"
)
MOST_GRID_POINTS = 20_000  # of a support that is the whole grid
DISCRETISATION_SHARES = tuple(Fraction(1, n) for n in (200, 100, 50, 30, 20, 15, 10))
"""Parts of epsilon to choose from, for measuring the discretisation."""
DISCRETISATION_DOUBT = Fraction(1, 20)  # part of the failure probability that its bounds have


@dataclass(frozen=True, eq=False, kw_only=True)
class SparseLipschitzPlan(Requested):
    """What the curator will be asked, and what that costs. Every field is public.

    Attributes:
        family: the blocks.
        strategies: how each block is measured.
        discretisation: how the records' distances from their points are measured; None where the
            radius stands for them.
        support: records that weights are sought for, shape (points, attributes).
        support_kind: "public" or "grid".
        loss: what the weights minimise.
        expected_noise: simulated mean cost of the noise in the largest block, records times
            distance.
        k: cells of a line.
    """

    family: Family
    strategies: tuple[Strategy, ...]
    discretisation: MeasuredDiscretisation | None
    support: AnyCodes
    support_kind: str
    loss: Loss
    expected_noise: float
    k: int

    @property
    def mechanism(self) -> str:
        return "sparse-lipschitz"

    @property
    def source(self) -> str:
        return (
            "Certified private data release for sparse Lipschitz functions (AISTATS 2024), "
            "Algorithm 1 and Theorem 2, with the noise chosen by simulation, marginals made "
            "consistent, and exact Wasserstein programs and certificates"
        )

    @cached_property
    def estimator(self) -> FamilyEstimator:
        """Makes the estimates of all blocks, and simulates their errors."""
        return FamilyEstimator(self.family, self.strategies, self.adjacency)

    @property
    def queries(self) -> tuple[HistogramQuery, ...]:
        """The blocks' first, then those of the discretisation."""
        measured = () if self.discretisation is None else self.discretisation.queries
        return (*self.estimator.queries, *measured)

    @property
    def events(self) -> tuple[Event, ...]:
        return merged(query.event(self.adjacency) for query in self.queries)

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        blocks = self.estimator.noise_lines()
        if self.discretisation is None:
            return blocks
        queries = self.discretisation.queries
        distances = NoiseLine.of(
            queries[0],
            "summed distances of the records from their points, block by block (in radii)",
            len(queries),
            adjacency=self.adjacency,
            unit="2^-20 radii",
            times=len(queries),
        )
        deviation = distances.standard_deviation / STEPS
        return (*blocks, replace(distances, standard_deviation=deviation))

    @property
    def parameters(self) -> Mapping[str, Any]:
        digest = hashlib.sha256(np.ascontiguousarray(self.support, dtype="<i4").tobytes())
        return {
            "blocks": [block.name for block in self.family.blocks],
            "cells": self.k,
            "noise": sorted({strategy.name for strategy in self.strategies}),
            "loss": self.loss,
            "support": self.support_kind,
            "support_points": len(self.support),
            "support_sha256": digest.hexdigest(),
            "discretisation_share": (
                "0"
                if self.discretisation is None
                else str(self.discretisation.epsilon / self.budget.epsilon)
            ),
        }

    def forecast(self) -> Forecast:
        """The certificate to expect for the largest block."""
        n = self.expected_records
        error = forecast_certificate(
            self.family, self.support, self.expected_noise, n, self.discretisation
        )
        points = sum(block.space.size for block in self.family.blocks)
        edges = sum(len(block.space.tails) for block in self.family.blocks)
        return Forecast(
            metric=f"{METRIC}, over {self.family.title}",
            expected_error=min(1.0, error),
            statement=(
                "forecast of the certificate: discretisation, simulated noise and its projection; "
                "more where the support cannot follow the data"
            ),
            memory_bytes=2000 * edges + 400 * points + n * (4 * len(self.domain) + 24),
        )


@dataclass(frozen=True, eq=False)
class _Design:
    """A grid that was tried, with its support and forecast certificate."""

    k: int
    family: Family
    support: AnyCodes
    discretisation: MeasuredDiscretisation | None
    error: float


def make_plan(request: Request) -> SparseLipschitzPlan:
    """Spend the budget on the design with the least forecast certificate. Public.

    Raises:
        ValueError: a wrong parameter, tables that are too large, or no public records where the
            grid is too large to be the support.
    """
    domain, budget, adjacency = request.domain, request.budget, request.adjacency
    expected_records, public = request.expected_records, request.public
    settings = parse(request)
    column_sets = settings.blocks or _all_marginals(domain, settings.marginals)
    kind = _support_kind(settings, public)
    chosen: _Design | None = None
    for k, family in ever_finer(domain, column_sets, settings.cells):
        if chosen is not None and kind == "grid" and grid_points(domain, k) > MOST_GRID_POINTS:
            break
        support = _support(domain, settings, kind, public, k)
        _, cost = chosen_strategies(settings.noise, family, budget, adjacency)
        for discretisation in _discretisations(settings, family, budget, adjacency):
            share = 0.0 if discretisation is None else discretisation.epsilon / budget.epsilon
            error = forecast_certificate(
                family, support, cost / (1 - float(share)), expected_records, discretisation
            )
            if chosen is None or error < chosen.error:
                chosen = _Design(k, family, support, discretisation, error)
        assert chosen is not None, "the loop above has a step at least"
        if (QUANTILE + 1) * cost / expected_records > chosen.error or family.radius == 0:
            break  # finer grids have more noise, or nothing to gain
    assert chosen is not None, "there is a candidate"
    spent = Fraction(0) if chosen.discretisation is None else chosen.discretisation.epsilon
    rest = Budget(epsilon=budget.epsilon - spent, delta=budget.delta)
    strategies, cost = chosen_strategies(settings.noise, chosen.family, rest, adjacency)
    return SparseLipschitzPlan(
        request=replace(request, public=None),  # the support has what is used of it
        family=chosen.family,
        strategies=strategies,
        discretisation=chosen.discretisation,
        support=chosen.support,
        support_kind=kind,
        loss=settings.loss,
        expected_noise=cost,
        k=chosen.k,
    )


def forecast_certificate(
    family: Family,
    support: AnyCodes,
    noise_cost: float,
    records: int,
    discretisation: MeasuredDiscretisation | None,
) -> float:
    """Discretisation of both tables, the noise's quantile, and as much again of it to project."""
    released = max(float(block.distances_to_points(support).mean()) for block in family.blocks)
    private = family.radius
    if discretisation is not None:
        slack = discretisation.slack(
            0.05 * float(DISCRETISATION_DOUBT) / len(discretisation.measured)
        )
        # Private records are not known: they may lie as the support does, or evenly in the cells.
        evenly = max(
            block.radius * len(block.columns) / (len(block.columns) + 1) for block in family.blocks
        )
        private = min(private, max(released, evenly) + slack * private / STEPS / records)
    return private + released + (QUANTILE + 1) * noise_cost / records


def _all_marginals(domain: Domain, order: int) -> tuple[tuple[int, ...], ...]:
    if order > len(domain):
        raise ValueError(
            f"mechanism.marginals: {order}, but there are only {len(domain)} columns; give at most "
            "that many"
        )
    return tuple(combinations(range(len(domain)), order))


def _support_kind(settings: Settings, public: AnyCodes | None) -> str:
    if settings.support == "public" and public is None:
        raise ValueError(
            "mechanism.support: public, but the spec has no public_data section; add one, or use "
            "support: grid"
        )
    if settings.support == "auto":
        return "grid" if public is None else "public"
    return settings.support


def _support(
    domain: Domain, settings: Settings, kind: str, public: AnyCodes | None, k: int
) -> AnyCodes:
    if kind == "public":
        assert public is not None
        if len(public) <= settings.support_points:
            return public.astype(np.int32)
        # A fixed choice: the plan is the same each time it is made.
        rows = np.random.default_rng(0).choice(len(public), settings.support_points, replace=False)
        return public[np.sort(rows)].astype(np.int32)
    size = grid_points(domain, k)
    if size > MOST_GRID_POINTS:
        raise ValueError(
            f"public_data: there is none, and the grid over all {len(domain)} columns has {size:,} "
            f"points at {k} cells a column, more than {MOST_GRID_POINTS:,}; name a public table "
            "with these columns, set fewer cells, or release fewer columns"
        )
    axes = [axis(attribute, k) for attribute in domain.attributes]
    chosen = np.meshgrid(*(axis.representatives for axis in axes), indexing="ij")
    return np.stack([codes.ravel() for codes in chosen], axis=1).astype(np.int32)


def grid_points(domain: Domain, k: int) -> int:
    """Points of the grid over all columns."""
    return noisy_counts(domain, (range(len(domain)),), k)


def _discretisations(
    settings: Settings, family: Family, budget: Budget, adjacency: Adjacency
) -> tuple[MeasuredDiscretisation | None, ...]:
    """Ways to treat the discretisation: the radius stands for it, or a share measures it."""
    if not settings.measure_discretisation or not can_be_measured(family):
        return (None,)
    measured = (
        MeasuredDiscretisation(family=family, adjacency=adjacency, epsilon=share * budget.epsilon)
        for share in DISCRETISATION_SHARES
    )
    return (None, *measured)
