"""Plan a release of the marginal mechanisms: a selection with its noise, and a generator.

Claim.   The curator's answers to what the design asks are (epsilon, delta)-differentially private
         under `MarginalPlan.adjacency`, within the budget.
Proof.   In the module of each selection; what a generator does is post-processing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.batches import batch_sizes
from hallmark.mechanisms.certificates.simultaneous import PILOT
from hallmark.mechanisms.certificates.single_columns import ColumnErrors, forecast_single_columns
from hallmark.mechanisms.contract import Forecast, NoiseLine, Seconds
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.geometry.wasserstein import w1
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal, pooled
from hallmark.mechanisms.marginals.generators.generator import Generator, Timed
from hallmark.mechanisms.marginals.prior import Prior
from hallmark.mechanisms.marginals.selection.design import Design
from hallmark.mechanisms.marginals.single_columns import (
    SIMULATION_BYTES,
    affordable_draws,
    combine,
    gaussian_margins,
)
from hallmark.mechanisms.privacy.cells import COUNTING
from hallmark.mechanisms.privacy.events import Event, ExponentialMechanism
from hallmark.mechanisms.request import Requested

FORECAST_CONFIDENCE = 0.95
_NOISING = 2.2e-5  # seconds for the exact noise of an entry
_SIMULATING = 1.3e-8  # seconds for a simulated entry
_SCORING = (
    8e-8  # seconds for a cell of a candidate: what a model has there, and how far that is off
)


@dataclass(frozen=True, eq=False, kw_only=True)
class MarginalPlan(Requested):
    """What the curator will be asked, what that costs, and what follows. Every field is public.

    Attributes:
        mechanism: as the release spec names it.
        design: which marginals are measured, with which noise.
        generator: what makes records of them; it affects quality, not privacy.
    """

    mechanism: str
    design: Design
    generator: Generator

    @property
    def source(self) -> str:
        return f"{self.design.source}; records by {self.generator.source}"

    @property
    def chooses(self) -> bool:
        """Whether something is selected in private rounds."""
        return any(isinstance(event, ExponentialMechanism) for event in self.events)

    @property
    def events(self) -> tuple[Event, ...]:
        return self.design.events

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        return self.design.noise

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {
            "selection": {"method": self.design.name, **self.design.parameters},
            "generator": {"method": self.generator.name, **self.generator.settings},
        }

    @property
    def in_batches(self) -> bool:
        """Whether nothing ties all records of the table together but what was measured."""
        return not self.domain.totals and not self.domain.rules.determinations

    @property
    def _made(self) -> list[int]:
        """Records of every batch that is expected."""
        records = self.request.made_records or self.expected_records
        return batch_sizes(records, len(self.domain)) if self.in_batches else [records]

    def memory(self) -> int:
        """Peak memory of fitting all that may be measured, and of the records, bytes.

        Raises:
            ValueError: the generator refuses; the message tells why.
        """
        return self.generator.memory(self.domain, self._measured, max(self._made))

    @property
    def _measured(self) -> list[Clique]:
        """All that may be measured, or is known exactly."""
        cliques = list(self.design.largest)
        if self.chooses:  # what the generator does not admit will not be chosen
            cliques = []
            for clique in self.design.largest:
                if self.generator.admits(self.domain, (*cliques, clique), 1.0):
                    cliques.append(clique)
        return [*cliques, *(clique for clique, _ in self._admitted_totals(cliques))]

    def seconds(self) -> Seconds | None:
        """CPU time to expect; None where the generator knows nothing of its own."""
        if not isinstance(self.generator, Timed):
            return None
        first, effort, measured = self.design.first, self.design.effort, self._measured
        sigma = max(float(asked.sigma2) for asked in first) ** 0.5
        signal, rounds = self.expected_records / sigma, 0.0
        if effort.models:
            # They hang together, as those of a few columns do.
            ones, chosen = measured[: len(first)], sorted(measured[len(first) :])
            measured, half = ([*ones, *chosen[: effort.tables // part]] for part in (1, 2))
            candidates = effort.candidates // effort.models
            draft = self.generator.draft_seconds(self.domain, half, signal, candidates)
            if draft is None:
                return None
            rounds = effort.models * draft
        made = self.generator.seconds(self.domain, measured, self._made, signal)
        if made is None:
            return None
        entries = sum(prod(asked.sizes(self.domain.shape)) for asked in first)
        draws = PILOT + affordable_draws(self.domain.shape, first)
        return Seconds(
            count=COUNTING * self.expected_records * (len(first) + effort.candidates)
            + _NOISING * entries
            + _SCORING * effort.cells,
            fit=made[0] + rounds,
            make=made[1],
            certify=_SIMULATING * draws * entries,
        )

    def with_public(self, evidence: Evidence) -> Evidence:
        """The evidence with what is known besides: public totals, exactly, and a public table.

        They join when records are made, not before: so what is asked of the private data never
        depends on them. Totals count the published records, which need not be as many as were
        measured, so they are taken as shares. One that is no marginal, or would make the model too
        large, is left out.
        """
        scale = evidence.total / max(self.domain.totals.records, 1)
        exact = [
            NoisyMarginal(clique, counts * scale, 0.0)
            for clique, counts in self._admitted_totals(list(evidence.by_clique))
        ]
        public = self.request.public
        return replace(
            evidence,
            marginals=pooled([*evidence.marginals, *exact]),
            prior=None if public is None else Prior(self.domain, public),
        )

    def _admitted_totals(self, cliques: list[Clique]) -> list[tuple[Clique, Table]]:
        """Totals that are marginals and that the generator admits beside these cliques."""
        admitted: dict[Clique, Table] = {}
        for clique, counts in self.domain.totals.marginals():
            if clique in cliques or self.generator.admits(
                self.domain, (*cliques, *admitted, clique), 1.0
            ):
                admitted[clique] = counts
        return list(admitted.items())

    def forecast(self) -> Forecast:
        """Error of the one-way marginals to expect, and the certificates, from the noise alone."""
        return self.forecast_from(self.forecast_errors())

    def forecast_from(self, errors: ColumnErrors) -> Forecast:
        """The forecast, from draws that `forecast_errors` made."""
        records = self.expected_records
        means = [
            float(w1(attribute, counts).mean()) / records
            for attribute, counts in zip(self.domain.attributes, errors.counts, strict=True)
        ]
        return Forecast(
            metric="1-Wasserstein distance of a column's distribution, mean over the columns, as "
            "a share of the diameter",
            expected_error=min(1.0, float(np.mean(means))),
            statement="estimate: mean error of the one-way marginals that are measured before "
            "anything is chosen, simulated with continuous Gaussian noise; fitting records to all "
            "that is measured adds to it or takes from it",
            memory_bytes=self.memory() + SIMULATION_BYTES,
            seconds=self.seconds(),
            per_attribute=forecast_single_columns(
                self.domain,
                errors,
                expected_records=self.expected_records,
                total_is_public=self.adjacency.total_is_public,
                confidence=FORECAST_CONFIDENCE,
            ),
        )

    def forecast_errors(self) -> ColumnErrors:
        """Draws of the errors of all one-way marginals, with continuous Gaussian noise."""
        shape, public = self.domain.shape, self.adjacency.total_is_public
        rng = np.random.default_rng(0)  # a forecast is the same each time it is asked for
        every = (gaussian_margins(asked, shape, PILOT + 199, rng) for asked in self.design.first)
        counts, total = combine(shape, every, total=0.0 if public else None)
        return ColumnErrors(counts=counts, total=total)
