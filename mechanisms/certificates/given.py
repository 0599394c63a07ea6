"""Certify records that were made elsewhere: the whole budget measures the certificate's marginals.

Claim.   `measure` is private within `plan.budget`. With the certificate's confidence every bound
         holds for the given records: for all marginals of the order asked for, and for every
         column by itself.
Proof.   Every strategy states its own cost. `plan` returns what the accountant proves to fit, or
         Laplace noise alone, whose parts of epsilon sum to it as rationals; delta is then unused.
         Accuracy: family.md and one_way.md, beside this file. They bound one event of the noise,
         on which the bounds hold for all tables of records at once; so nothing is asked of how the
         records came about, nor of what their maker knew.
Source.  "Certified private data release for sparse Lipschitz functions" (AISTATS 2024), Lemma 1,
         which asks nothing of how the synthetic data were made.
Oracle.  tests/mechanisms/certificates/test_given.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mechanisms.certificates.family import METRIC, certify_family_and_columns
from mechanisms.certificates.measured_marginals import marginals_within
from mechanisms.checkpoint import Checkpoint
from mechanisms.compute import SERIAL, Compute
from mechanisms.contract import (
    Certificate,
    Forecast,
    Measurements,
    NoiseLine,
    Progress,
    SyntheticMeasure,
    refuse_public,
)
from mechanisms.families.estimate import FamilyEstimator
from mechanisms.families.family import Family
from mechanisms.geometry.domain import Domain
from mechanisms.privacy.accountant import fits
from mechanisms.privacy.adjacency import Adjacency
from mechanisms.privacy.budget import Budget
from mechanisms.privacy.cells import Codes
from mechanisms.privacy.curator import Curator
from mechanisms.privacy.events import Event, merged
from mechanisms.strategies.strategy import Strategy

MARGINALS = 2  # columns certified jointly, where the spec does not say
ASSUMPTION = (
    "The bounds hold however the certified records were made. If private data had a part in that, "
    "it cost privacy of its own, of which this certificate counts nothing."
)
"""What a certificate of given records does not say, beside what every certificate assumes."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GivenPlan:
    """What is measured to certify records that somebody else made. Every field is public.

    Attributes:
        family: the marginals.
        strategies: how each is measured.
        k: cells of a line in them.
        expected_bound: forecast for the largest marginal.
    """

    domain: Domain
    adjacency: Adjacency
    budget: Budget
    expected_records: int
    family: Family
    strategies: tuple[Strategy, ...]
    k: int
    expected_bound: float

    @property
    def mechanism(self) -> str:
        return "certify"

    @property
    def source(self) -> str:
        return (
            "Certified private data release for sparse Lipschitz functions (AISTATS 2024), Lemma 1:"
            " the certificate alone, with exact Wasserstein distances; no records are made"
        )

    @cached_property
    def estimator(self) -> FamilyEstimator:
        """Makes the marginals' estimates, and simulates their errors."""
        return FamilyEstimator(self.family, self.strategies, self.adjacency)

    @property
    def events(self) -> tuple[Event, ...]:
        return merged(query.event(self.adjacency) for query in self.estimator.queries)

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        return self.estimator.noise_lines(", for the certificate")

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {
            "marginals": [block.name for block in self.family.blocks],
            "cells": self.k,
            "noise": sorted({strategy.name for strategy in self.strategies}),
        }

    def forecast(self) -> Forecast:
        """The bound to expect of the largest marginal."""
        edges = sum(len(block.space.tails) for block in self.family.blocks)
        points = sum(block.space.size for block in self.family.blocks)
        return Forecast(
            metric=f"{METRIC}, largest over {self.family.title}",
            expected_error=min(1.0, self.expected_bound),
            statement=(
                "forecast of the certificate of records that are distributed as the private ones: "
                "discretisation, and simulated noise; the bound of others is larger by about as "
                "much as they are off"
            ),
            memory_bytes=200 * edges
            + 400 * points
            + self.expected_records * (4 * len(self.domain) + 24),
        )


@dataclass(frozen=True)
class CertifyGiven:
    """A certificate without a release. It makes no records; those that it certifies are given.

    Attributes:
        marginals: columns certified jointly; None for two, or one where there is but one.
        cells: of a line in these marginals; None chooses by forecast.
    """

    marginals: int | None = None
    cells: int | None = None

    @property
    def name(self) -> str:
        return "certify"

    def plan(
        self,
        domain: Domain,
        *,
        budget: Budget,
        adjacency: Adjacency,
        expected_records: int,
        parameters: Mapping[str, Any],
        public: Codes | None = None,
    ) -> GivenPlan:
        """The grid and noise with the least forecast, for the whole budget.

        Raises:
            ValueError: there are parameters, or public records; no record is expected; or the
                marginals do not exist or are too large.
        """
        refuse_public(self.name, public)
        if parameters:
            raise ValueError(
                f"mechanism.{min(parameters)}: certify has no parameters; say what is measured by "
                "certificate.marginals and certificate.cells"
            )
        if expected_records < 1:
            raise ValueError(f"expected number of records: {expected_records}; give at least 1")

        def within(spent: Budget) -> GivenPlan:
            chosen = marginals_within(
                spent,
                domain,
                order=self.marginals or min(MARGINALS, len(domain)),
                cells=self.cells,
                adjacency=adjacency,
                records=expected_records,
            )
            return GivenPlan(
                domain=domain,
                adjacency=adjacency,
                budget=budget,
                expected_records=expected_records,
                family=chosen.family,
                strategies=chosen.strategies,
                k=chosen.k,
                expected_bound=chosen.forecast,
            )

        plan = within(budget)
        if not fits(plan.events, budget):
            # Lines with Laplace and others with Gaussian noise, each by its own proof; costs of
            # Laplace noise alone add up exactly.
            plan = within(Budget(epsilon=budget.epsilon))
        return plan

    def select(self, curator: Curator, plan: GivenPlan) -> None:
        """Nothing is left to choose: the plan says what is measured."""

    def measure(self, curator: Curator, plan: GivenPlan, selection: None) -> Measurements:
        """All marginals in one call."""
        tables = curator.histograms("certificate", plan.estimator.queries)
        return Measurements(tables=tuple(tables), total=curator.total())

    def generate(
        self,
        plan: GivenPlan,
        measurements: Measurements,
        *,
        rows: int | None,
        rng: np.random.Generator,
        progress: Progress,
        checkpoint: Checkpoint | None = None,
    ) -> SyntheticMeasure:
        """No records.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("certify makes no records; give it those to certify")

    def certify(
        self,
        plan: GivenPlan,
        measurements: Measurements,
        synthetic: SyntheticMeasure,
        *,
        confidence: float,
        rng: np.random.Generator,
        compute: Compute = SERIAL,
    ) -> Certificate:
        """Bounds for the given records: all marginals and all columns, jointly."""
        certificate = certify_family_and_columns(
            plan.domain,
            plan.estimator,
            plan.estimator.estimate(measurements.tables, measurements.total),
            synthetic.codes,
            confidence=confidence,
            compute=compute,
            rng=rng,
        )
        return replace(certificate, assumptions=(*certificate.assumptions, ASSUMPTION))
