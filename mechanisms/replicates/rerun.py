"""The mechanism run once more, with the released records in place of the private table."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes, Counts, Floats, Table
from hallmark.mechanisms.contract import Measurements, Mechanism, Plan, SyntheticMeasure
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.inference.transcript import Transcribing
from hallmark.mechanisms.replicates.pairs import PairTables
from hallmark.mechanisms.replicates.simulated import SimulatedCurator

Generate = Callable[[Measurements, np.random.Generator], SyntheticMeasure]
"""Makes as many records from measurements as were measured, as the release makes its own."""


@runtime_checkable
class Drafting(Protocol):
    """A mechanism that estimates marginals without making records, in a fraction of the time."""

    def drafted(
        self,
        plan: Any,
        measurements: Measurements,
        cliques: Sequence[Clique],
        rng: np.random.Generator,
    ) -> list[Table]:
        """The marginals in records, near to those of the records that it would make.

        Those of several columns are over the bins of such as are measured in some, those of one
        column over its own cells.
        """
        ...


@dataclass(frozen=True, eq=False)
class Rerun:
    """What came of one run.

    Attributes:
        tables: of all pairs, side by side, in records.
        answers: to everything that was asked before a private choice, side by side.
    """

    tables: Floats
    answers: Counts


@dataclass(frozen=True, eq=False, kw_only=True)
class Rerunning:
    """Runs a mechanism on public records.

    Attributes:
        records: that stand for the private ones, as many as those are.
        generate: makes records, where the mechanism is not `Drafting`.
    """

    mechanism: Mechanism
    plan: Plan
    records: AnyCodes
    pairs: PairTables
    generate: Generate
    _counted: dict[str, Counts] = field(default_factory=dict)

    def rerun(self, rng: np.random.Generator) -> Rerun:
        """One run, whose noise and generator are drawn with `rng`."""
        curator = Transcribing(
            SimulatedCurator(
                codes=self.records,
                adjacency=self.plan.adjacency,
                rng=rng,
                counted=self._counted,
            )
        )
        selection = self.mechanism.select(curator, self.plan)
        measurements = self.mechanism.measure(curator, self.plan, selection)
        if isinstance(self.mechanism, Drafting):
            drafted = self.mechanism.drafted(self.plan, measurements, self.pairs.cliques, rng)
            tables = self.pairs.joined(drafted)
        else:
            tables = self.pairs.counts(self.generate(measurements, rng).codes)
        return Rerun(tables, side_by_side(asked_first(curator.transcript.tables())))


def as_many(codes: AnyCodes, records: int, rng: np.random.Generator) -> AnyCodes:
    """So many of the records, each as often as any other but for one time."""
    whole, rest = divmod(records, len(codes))
    parts = [codes] * whole + [codes[np.sort(rng.permutation(len(codes))[:rest])]]
    return np.concatenate(parts)


def asked_first(tables: Iterable[MeasuredTable]) -> tuple[MeasuredTable, ...]:
    """The tables whose questions depend on no answer, which every rerun asks, too."""
    return tuple(one for one in tables if not one.conditional)


def side_by_side(tables: Sequence[MeasuredTable]) -> Counts:
    """All answers."""
    return np.concatenate([np.empty(0, dtype=np.int64), *(one.answers for one in tables)])
