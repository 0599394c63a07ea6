"""The marginal mechanisms: measure marginals with Gaussian noise, and make records that have them.

Any selection goes with any generator. Names of the registry are pairs of the two; a spec may
replace either half.

Claim.   A run is (epsilon, delta)-differentially private within `plan.budget`, and its one-way
         marginals obey the bounds of the certificate.
Proof.   Privacy: in the modules of `selection`. The certificate: ../certificates/single_columns.md,
         with the marginals that were asked before anything was chosen, so that the law of their
         noise is known; what was chosen on answers is left out of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Codes, Table
from hallmark.mechanisms.certificates.simultaneous import draws_needed
from hallmark.mechanisms.certificates.single_columns import (
    ASSUMPTIONS,
    ColumnErrors,
    ColumnEstimates,
    certify_single_columns,
)
from hallmark.mechanisms.contract import Certificate, Measurements, SyntheticMeasure
from hallmark.mechanisms.domain.cliques import Clique, title
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.execution import INLINE, Execution, part, silent
from hallmark.mechanisms.marginals.evidence import (
    Coarse,
    Evidence,
    NoisyMarginal,
    pooled,
    with_groups,
)
from hallmark.mechanisms.marginals.foretelling import FORETOLD, foretold
from hallmark.mechanisms.marginals.generators.generator import Model
from hallmark.mechanisms.marginals.parameters import design_of, generator_of
from hallmark.mechanisms.marginals.plan import MarginalPlan
from hallmark.mechanisms.marginals.selection.design import FIRST_CALL, Answer, Asked
from hallmark.mechanisms.marginals.single_columns import (
    affordable_draws,
    combine,
    margins,
    simulate_errors,
)
from hallmark.mechanisms.privacy.calls import MarginalRounds
from hallmark.mechanisms.privacy.simulation import simulate_discrete_gaussian
from hallmark.mechanisms.request import Request

_FITTED = 0.6  # progress when the model is fitted, where records take longest
_DRAFT_SEED = 20_240_613  # drafts must be the same when a run resumes


@dataclass(frozen=True, eq=False, kw_only=True)
class MarginalMeasurements(Measurements):
    """Noisy tables, and what was asked in the calls of a selection, in the same order."""

    asked: Mapping[str, tuple[Asked, ...]]

    @classmethod
    def of(cls, answers: Sequence[Answer], total: int | None) -> "MarginalMeasurements":
        """The measurements from all answers, call by call."""
        calls = dict.fromkeys(answer.call for answer in answers)
        by_call = {call: [one for one in answers if one.call == call] for call in calls}
        return cls(
            tables={call: tuple(one.counts for one in told) for call, told in by_call.items()},
            total=total,
            asked={call: tuple(one.asked for one in told) for call, told in by_call.items()},
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedMarginals:
    """A model with what its history says of the evidence.

    Attributes:
        total: number of records that the evidence speaks of.
        marginals: how many were measured.
        chosen: those of them that were chosen on answers.
        foretold: what earlier periods told, as plain JSON values, where they were asked.
    """

    model: Model
    total: float
    marginals: int
    chosen: tuple[str, ...]
    foretold: Mapping[str, Any]

    @property
    def rows(self) -> int:
        return max(1, round(self.total))

    def batch(self, rows: int, rng: np.random.Generator) -> SyntheticMeasure:
        """One of several batches of a table."""
        return self.with_history(*self.model.records(rows, rng, silent))

    def with_history(self, codes: Codes, made: Mapping[str, Any]) -> SyntheticMeasure:
        """The records, and what fitting and making them did."""
        return SyntheticMeasure(
            codes=codes,
            history={
                "estimated_records": self.total,
                "marginals": self.marginals,
                "chosen": list(self.chosen),
                **self.foretold,
                **self.model.history,
                **made,
            },
        )


@dataclass(frozen=True)
class Marginals:
    """A selection joined to a generator.

    Parameters: `selection` and `generator`, each the name of a method or a mapping with `method`
    and its settings; see `parameters`.

    Attributes:
        name: as a release spec gives it.
        selection, generator: what stands where the spec says nothing, as it would say it.
        few: the selection that stands in its place where columns have so few cells that all triples
            can be told (`parameters.triples_are_told`).
        wide: the one where noise would hide most pairs (`parameters.pairs_are_hidden`).
    """

    name: str
    selection: Mapping[str, Any]
    generator: Mapping[str, Any]
    few: Mapping[str, Any] | None = None
    wide: Mapping[str, Any] | None = None

    def plan(self, request: Request) -> MarginalPlan:
        """The least noise within `budget`, and a generator that can serve it. Public.

        Raises:
            ValueError: no columns, a budget without delta, marginals or a model that are too large,
                a public table that the generator has no use for, or a wrong parameter.
        """
        unknown = sorted(set(request.parameters) - {"selection", "generator"})
        if unknown:
            raise ValueError(
                f"mechanism.{unknown[0]}: {self.name} has no such parameter; settings stand under "
                "selection or generator"
            )
        plan = MarginalPlan(
            mechanism=self.name,
            request=request,
            design=design_of(self.selection, request, few=self.few, wide=self.wide),
            generator=generator_of(self.generator, request),
        )
        if request.public is not None and not plan.generator.takes_prior:
            raise ValueError(
                f"public_data: is not used by the generator {plan.generator.name} with these "
                "settings; remove the section, or set mechanism.generator: noise-aware"
            )
        plan.memory()
        return plan

    def select(self, curator: MarginalRounds, plan: MarginalPlan) -> tuple[Answer, ...]:
        """Everything that is asked, where some of it is chosen on answers; nothing elsewhere."""
        if not plan.chooses:
            return ()
        first = _first(curator, plan)
        return (*first, *plan.design.rounds(curator, first, _Drafts(plan)))

    def measure(
        self, curator: MarginalRounds, plan: MarginalPlan, selection: tuple[Answer, ...]
    ) -> MarginalMeasurements:
        """All answers."""
        answers = selection or _first(curator, plan)
        return MarginalMeasurements.of(answers, curator.total())

    def generate(
        self,
        plan: MarginalPlan,
        measurements: Measurements,
        *,
        rows: int | None,
        rng: np.random.Generator,
        execution: Execution = INLINE,
        besides: Sequence[NoisyMarginal] = (),
    ) -> SyntheticMeasure:
        """Records whose marginals look like the measured ones: as many as measured, or `rows`.

        Where the number of records is measured, at least one comes out. `besides` as of `fit`.

        Raises:
            ValueError: `rows` is below 1.
        """
        if rows is not None and rows < 1:
            raise ValueError(f"output.rows: {rows}; ask for at least 1")
        fitted = self.fit(
            plan,
            measurements,
            rng=rng,
            execution=replace(execution, progress=part(execution.progress, 0.0, _FITTED)),
            besides=besides,
        )
        made = part(execution.progress, _FITTED, 1.0)
        return fitted.with_history(*fitted.model.records(rows or fitted.rows, rng, made))

    def fit(
        self,
        plan: MarginalPlan,
        measurements: Measurements,
        *,
        rng: np.random.Generator,
        execution: Execution = INLINE,
        besides: Sequence[NoisyMarginal] = (),
    ) -> "FittedMarginals":
        """The model of all that was measured, and of what is known besides."""
        answers = answers_of(measurements)
        evidence = _evidence(plan, measurements, besides)
        told: dict[str, Any] = {}
        if plan.request.earlier is not None:
            known = foretold(evidence, plan.request.earlier)
            evidence = replace(evidence, marginals=pooled((*evidence.marginals, *known.marginals)))
            told[FORETOLD] = known.told(plan.domain.names)
        model = plan.generator.fit(evidence, rng=rng, execution=execution)
        return FittedMarginals(
            model=model,
            total=evidence.total,
            marginals=len(answers),
            chosen=tuple(_chosen(plan, answers)),
            foretold=told,
        )

    def drafted(
        self,
        plan: MarginalPlan,
        measurements: Measurements,
        cliques: Sequence[Clique],
        rng: np.random.Generator,
        besides: Sequence[NoisyMarginal] = (),
    ) -> list[Table]:
        """Marginals in records, as a draft of the generator would have them in its records."""
        evidence = _evidence(plan, measurements, besides)
        model = plan.generator.fit(evidence, rng=rng, draft=True)
        return [evidence.total * model.wanted(clique) for clique in cliques]

    def certify(
        self,
        plan: MarginalPlan,
        measurements: Measurements,
        synthetic: SyntheticMeasure,
        *,
        confidence: float,
        rng: np.random.Generator,
        execution: Execution = INLINE,
    ) -> Certificate:
        """Bounds on every one-way marginal that hold jointly, for these synthetic records.

        Raises:
            ValueError: the confidence is outside (0, 1), or the records do not fit the domain.
        """
        columns = certify_single_columns(
            plan.domain,
            *column_estimates(plan, measurements, confidence=confidence, rng=rng),
            synthetic.codes,
            total_is_public=plan.adjacency.total_is_public,
            confidence=confidence,
        )
        return Certificate(
            confidence=confidence,
            bounds=columns.bounds,
            method=(
                "Estimates: for each column, the inverse-variance mean over the marginals, of "
                "cells or of groups of them, that hold it and were asked before anything was "
                f"chosen, adjusted to the number of records. {columns.method}"
            ),
            assumptions=ASSUMPTIONS,
            measured=columns.measured,
        )


@dataclass(frozen=True)
class _Drafts:
    """Models for the rounds of a selection; see `Modeller`."""

    plan: MarginalPlan

    def evidence(self, answers: Sequence[Answer], total: int | None) -> Evidence:
        return evidence_of(self.plan.domain, answers, total)

    def model(self, answers: Sequence[Answer], total: int | None, previous: Model | None) -> Model:
        return self.plan.generator.fit(
            self.evidence(answers, total),
            rng=np.random.default_rng([_DRAFT_SEED, len(answers)]),
            previous=previous,
            draft=True,
        )

    def admits(self, cliques: Sequence[Clique], share: float) -> bool:
        return self.plan.generator.admits(self.plan.domain, cliques, share)


def answers_of(measurements: Measurements) -> tuple[Answer, ...]:
    """Each table of a selection's calls with its question."""
    assert isinstance(measurements, MarginalMeasurements), "what `measure` returned"
    return tuple(
        Answer(asked, table, call)
        for call, every in measurements.asked.items()
        for asked, table in zip(every, measurements.tables[call], strict=True)
    )


def asked_first(answers: Sequence[Answer]) -> list[Answer]:
    """What was asked before anything was chosen, so that the law of its noise is known."""
    return [answer for answer in answers if answer.call == FIRST_CALL]


def single_columns(
    domain: Domain, answers: Sequence[Answer], total: int | None
) -> tuple[tuple[np.ndarray[Any, np.dtype[np.float64]], ...], float]:
    """Estimated counts of every attribute, and of all records."""
    every = (margins(answer.asked, domain.shape, answer.counts) for answer in answers)
    counts, agreed = combine(domain.shape, every, total=total)
    return counts, float(agreed)


def column_estimates(
    plan: MarginalPlan, measurements: Measurements, *, confidence: float, rng: np.random.Generator
) -> tuple[ColumnEstimates, ColumnErrors]:
    """Estimates of every column from what was asked first, and draws of their errors.

    Raises:
        ValueError: the confidence is outside (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"certificate.confidence: {confidence}; give a number between 0 and 1")
    told, first = asked_first(answers_of(measurements)), plan.design.first
    counts, total = single_columns(plan.domain, told, measurements.total)
    error_counts, error_totals = simulate_errors(
        plan.domain.shape,
        first,
        simulate_discrete_gaussian,
        total_is_public=plan.adjacency.total_is_public,
        draws=draws_needed(confidence, affordable=affordable_draws(plan.domain.shape, first)),
        rng=rng,
    )
    return (
        ColumnEstimates(counts=counts, total=total),
        ColumnErrors(counts=error_counts, total=error_totals),
    )


def evidence_of(domain: Domain, answers: Sequence[Answer], total: int | None) -> Evidence:
    """All answers in a common form, with the number of records that they speak of."""
    _, agreed = single_columns(domain, answers, total)
    return Evidence(
        domain=domain,
        marginals=marginals_of(domain.shape, answers),
        total=max(1.0, agreed),
        total_is_public=total is not None,
    )


def marginals_of(shape: Sequence[int], answers: Sequence[Answer]) -> tuple[NoisyMarginal, ...]:
    """Each clique once: its cells, and its groups where they were measured, too."""
    fine = pooled(
        NoisyMarginal(answer.asked.clique, answer.table(shape), answer.sigma)
        for answer in answers
        if answer.asked.groups is None
    )
    grouped = pooled(
        NoisyMarginal(answer.asked.clique, answer.table(shape), answer.sigma)
        for answer in answers
        if answer.asked.groups is not None
    )
    known = {marginal.clique: marginal for marginal in fine}
    for sums in grouped:
        groups = Coarse(sums.counts.shape, sums.sigma)
        known[sums.clique] = with_groups(known[sums.clique], sums.counts, groups)
    return tuple(known.values())


def _evidence(
    plan: MarginalPlan, measurements: Measurements, besides: Sequence[NoisyMarginal]
) -> Evidence:
    """All that a generator is told."""
    evidence = evidence_of(plan.domain, answers_of(measurements), measurements.total)
    known = (*evidence.marginals, *besides)  # of one clique, they are pooled with the totals
    return plan.with_public(replace(evidence, marginals=known))


def _first(curator: MarginalRounds, plan: MarginalPlan) -> tuple[Answer, ...]:
    asked = plan.design.first
    tables = curator.histograms(FIRST_CALL, [a.query(plan.domain.shape) for a in asked])
    return tuple(Answer(a, table) for a, table in zip(asked, tables, strict=True))


def _chosen(plan: MarginalPlan, answers: Sequence[Answer]) -> list[str]:
    """Marginals that were selected in private rounds, in their order; once a round."""
    after = dict.fromkeys((answer.call, answer.asked.clique) for answer in answers)
    return [title(clique, plan.domain.names) for call, clique in after if call != FIRST_CALL]
