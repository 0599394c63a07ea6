"""Questions in words to answers, on the cells that noisy tables can tell.

A column with detail is measured by itself on its own cells, and with other columns on the cells
that these divide. So a question about it alone is answered on its own cells, and any other on the
cells that columns share. Where own cells are single values, pieces of cells stand for them: a
quantile asks about every cell.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes, Counts
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.marginals.binning.bins import Bins
from hallmark.schemas.question import Question, parse_question
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.questions.answers import Answering, Answers, RecordWeights
from hallmark.tasks.questions.correlations import Correlation, correlations
from hallmark.tasks.questions.facts import Facts
from hallmark.tasks.questions.functions import measured


@dataclass(frozen=True, eq=False)
class SharedCells:
    """A release on the cells that columns share, or on pieces of them.

    Attributes:
        spec: without detail, or with pieces for single values.
        bins: the shared cells (or pieces) of own cells, by column that has others.
    """

    spec: ReleaseSpec
    bins: Mapping[int, Bins]

    @classmethod
    def of(cls, spec: ReleaseSpec) -> "SharedCells":
        """The shared cells of a spec; columns without detail keep their own."""
        shared = spec.without_detail()
        bins = {}
        for place, (name, column) in enumerate(spec.columns.items()):
            if shared.columns[name] is not column and column.groups_of_cells:
                (of,) = column.groups_of_cells
                bins[place] = Bins(place, of, column.nulls)
        return cls(shared, bins)

    @classmethod
    def pieces(cls, spec: ReleaseSpec) -> "SharedCells":
        """The pieces of a spec's columns; columns whose single values are not counted keep their
        own cells."""
        places = list(spec.columns)
        bins = {
            place: Bins(place, of, spec.columns[name].nulls)
            for name, of in spec.pieces.items()
            for place in [places.index(name)]
        }
        return cls(spec.in_pieces(), bins)

    @cached_property
    def codec(self) -> TableCodec:
        """The codec of all columns on shared cells."""
        return TableCodec.of(self.spec.columns)

    def records(self, codes: AnyCodes) -> AnyCodes:
        """Records on shared cells."""
        if not self.bins:
            return codes
        shared = codes.copy()
        for column, bins in self.bins.items():
            shared[:, column] = bins.table[codes[:, column]]
        return shared

    def histogram(self, counts: Counts, column: int) -> Counts:
        """A column's counts of own cells as counts of shared ones."""
        return self.bins[column].merged(counts, 0) if column in self.bins else counts

    def estimator(self, estimator: Estimator) -> Estimator:
        """From the tables that tell shared cells alone."""
        if not self.bins:
            return estimator
        seen = (self._shared(table) for table in estimator.tables)
        return replace(estimator, tables=tuple(table for table in seen if table is not None))

    def alone(self, estimator: Estimator, column: int) -> Estimator:
        """What tells of one column with detail, on its own cells."""
        own = [one for one in estimator.tables if one.columns == (column,)]
        told = [one for one in own if self._shared(one) is None]
        recoding = {column: (column, self.bins[column].table)}
        for table in self.estimator(estimator).tables:
            margin = table.margin((column,), whole=False) if column in table.columns else None
            if margin is not None:
                told.append(replace(margin, cells=margin.cells.after(recoding)))
        return replace(estimator, tables=tuple(told))

    def _shared(self, table: MeasuredTable) -> MeasuredTable | None:
        """The table on shared cells; None where it tells own cells apart."""
        recoding = {}
        for column in self.bins.keys() & set(table.columns):
            bins = self.bins[column]
            own = table.tables[table.columns.index(column)]
            if not np.array_equal(own[bins.firsts][bins.table], own):
                return None
            recoding[column] = (column, bins.firsts)
        return replace(table, cells=table.cells.after(recoding)) if recoding else table


@dataclass(frozen=True, eq=False)
class Questioning:
    """Answers questions about a release.

    Attributes:
        estimator: from its noisy tables.
        records: cell codes of its records; None if there are none.
        weights: as of `Answering`.
        given_rules: whether the spec's rules and totals are taken for true of the private table.
    """

    spec: ReleaseSpec
    estimator: Estimator
    records: AnyCodes | None = None
    weights: RecordWeights | None = None
    given_rules: bool = False

    def bound(self, text: str) -> Question:
        """The question with conditions that can be evaluated on the cells that answer it.

        Raises:
            QuestionError: it cannot be read, or does not suit the columns.
        """
        question = parse_question(text)
        bound = question.bound_to(self._pieces.spec.published, self.spec.lookups)
        if self._alone(bound) is None:
            bound = question.bound_to(self.shared.spec.published, self.spec.lookups)
        return bound

    def groups(self, question: Question) -> int:
        """Into how many groups a question that `bound` gave divides the records."""
        return prod(self.answering(question).groups(question))

    def answer(
        self,
        question: Question,
        *,
        confidence: float,
        together: int | None = None,
        told_by_tables: bool = False,
    ) -> Answers:
        """The answers to a question that `bound` gave; see `Answering.answer`."""
        return self.answering(question).answer(
            question, confidence=confidence, together=together, told_by_tables=told_by_tables
        )

    def answering(self, question: Question) -> Answering:
        """What answers a question that `bound` gave."""
        alone = self._alone(question)
        return self.on_shared if alone is None else self._on_own(alone)

    def correlations(self, *, confidence: float) -> tuple[Correlation, ...]:
        """Correlations of all released pairs that the noisy tables tell; needs records."""
        on = self.on_shared
        assert on.records is not None, "they are compared with the tables"
        names = list(self.spec.released_columns)
        return correlations(on.codec, names, on.estimator, on.records, confidence)

    @cached_property
    def shared(self) -> SharedCells:
        """The release on the cells that columns share."""
        return SharedCells.of(self._pieces.spec)

    @cached_property
    def _pieces(self) -> SharedCells:
        return SharedCells.pieces(self.spec)

    @cached_property
    def _told(self) -> Estimator:
        return self._pieces.estimator(self.estimator)

    @cached_property
    def _records(self) -> AnyCodes | None:
        return None if self.records is None else self._pieces.records(self.records)

    def _alone(self, question: Question) -> int | None:
        """The column with detail that is all the question is about, if any."""
        names = list(self.spec.columns)
        places = {names.index(measured(one, self.spec.lookups)) for one in question.columns}
        return min(places) if len(places) == 1 and places <= self.shared.bins.keys() else None

    @cached_property
    def on_shared(self) -> Answering:
        """What answers questions about several columns."""
        shared = self.shared
        return Answering(
            shared.codec,
            shared.estimator(self._told),
            None if self._records is None else shared.records(self._records),
            self.weights,
            Facts.of(shared.spec, shared.codec) if self.given_rules else None,
            self.spec.lookups,
        )

    def _on_own(self, column: int) -> Answering:
        codec = self._pieces.codec
        return Answering(
            codec,
            self.shared.alone(self._told, column),
            self._records,
            self.weights,
            Facts.of(self._pieces.spec, codec) if self.given_rules else None,
            self.spec.lookups,
        )
