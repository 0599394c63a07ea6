"""Answers to a question, group by group, each with its interval and what the interval rests on.

An answer is about the private table as it was counted: in cells, after values outside the domain
were clamped, caught or refused, and persons were limited to `max_records`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from itertools import product as combinations
from math import inf, isfinite, nan, prod
from typing import Literal

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes, Counts, Floats
from hallmark.mechanisms.domain.cliques import title
from hallmark.mechanisms.inference.blue import LinearQuery, NotMeasured
from hallmark.mechanisms.inference.estimates import UNKNOWN, Estimates, Interval
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.given import given
from hallmark.mechanisms.replicates.estimates import from_replicates
from hallmark.schemas.columns.columns import NumericColumn
from hallmark.schemas.lookups import Lookup
from hallmark.schemas.question import Question, QuestionError, Statistic
from hallmark.tasks.planning.coding import TableCodec, cell_labels
from hallmark.tasks.planning.rule_values import holds_several
from hallmark.tasks.questions.facts import Fact, Facts
from hallmark.tasks.questions.functions import (
    ONE,
    Function,
    Place,
    cells_between,
    ends_of,
    indicator,
    known,
    measured,
    product,
    value_of,
    values_of_cells,
)
from hallmark.tasks.questions.held import held

Basis = Literal["exact", "given", "nominal", "first order", "replicates", "records"]
"""What an interval rests on: `exact`, on the law of the noise; `given`, on that law and on the
spec's rules and totals; `nominal`, on that law although what was measured was chosen on answers;
`first order`, on a linear approximation; `replicates`: on
replicate weights of the synthetic records, whose answer it is; `records`: the answer is that of the
synthetic records, without an interval."""

MEANING: dict[Basis, str] = {
    "exact": "from the noisy tables; with the stated confidence, the interval holds the number of "
    "the private table as it was counted, in cells",
    "given": "from the noisy tables, the edit rules and the public totals; the interval holds with "
    "the stated confidence if rules and totals are true of the private table, which is not checked",
    "nominal": "from the noisy tables, some of which were chosen on earlier answers; the interval "
    "holds with about the stated confidence",
    "first order": "from the noisy tables; the interval is a linear approximation, and holds with "
    "about the stated confidence",
    "replicates": "from the synthetic records; the interval, from replicate weights, is estimated",
    "records": "from the synthetic records; nothing was measured that bounds its error",
}


def meaning(basis: Basis, question: Question) -> str:
    """What intervals rest on and, where that is no proof, how often those of the kind held."""
    return MEANING[basis] + (f": {held(question)}" if basis == "replicates" else "")


MOST_GROUPS = 10_000
_AT_ONCE = 64  # linear queries
_FEW = 30  # records, below which a reader is told their number
_COUNT = Statistic("count")
_RECORDS = 1 << 20  # that are looked at together
_ROUNDING = 1e-9  # of an estimate: replicates that differ by less are the same


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer.

    Attributes:
        group: a label for each column of `by`.
        low, high: ends of the interval; None without one, infinite where nothing bounds it.
        raw_low, raw_high: ends of one that holds wherever values lie in their cells, with at least
            the same confidence: from the least value of each cell to the greatest. None where it
            would be the same, and without an interval.
        deviation: standard deviation of the noise in the estimate; None for quantiles, and without
            an interval.
        of_records: what the synthetic records say themselves, in the same cells; None where there
            are none, nan where no record is in the group.
    """

    group: tuple[str, ...]
    estimate: float
    low: float | None
    high: float | None
    deviation: float | None
    basis: Basis
    of_records: float | None = None
    raw_low: float | None = None
    raw_high: float | None = None

    @property
    def is_impossible(self) -> bool:
        """Whether the estimate lies outside the interval, which no impossible number is in."""
        return (
            self.low is not None
            and self.high is not None
            and (self.estimate < self.low or self.estimate > self.high)
        )

    @property
    def records_mislead(self) -> bool:
        """Whether the records' own answer lies outside the interval."""
        if self.of_records is None or self.low is None or self.high is None:
            return False
        return self.of_records < self.low or self.of_records > self.high


@dataclass(frozen=True, kw_only=True)
class Answers:
    """All answers to a question.

    Attributes:
        by: the columns whose cells are the groups.
        simultaneous: whether all intervals hold at once with the confidence, or each by itself.
        notes: what a reader must know of them.
    """

    question: str
    by: tuple[str, ...]
    confidence: float
    simultaneous: bool
    answers: tuple[Answer, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Equations:
    """What a group's answer is computed from.

    Attributes:
        group: a label for each column of `by`.
        estimates: of this group's linear queries and others.
        rows: for each statistic, the unit vectors of its linear queries.
        basis: of whatever is computed without approximation.
    """

    group: tuple[str, ...]
    estimates: Estimates
    rows: Sequence[Sequence[Floats]]
    basis: Basis


@dataclass(frozen=True, eq=False)
class RecordWeights:
    """Weights of the synthetic records.

    Attributes:
        own: shape (records,).
        replicates: gives those for other noise, shape (records, replicates). They are large, and
            few questions need them.
    """

    own: Floats
    replicates: Callable[[], Floats]


@dataclass(frozen=True, eq=False)
class Answering:
    """Answers questions from noisy tables, beside what the synthetic records say.

    Attributes:
        codec: of all columns, in the order of the tables' column numbers.
        estimator: from the noisy tables.
        records: cell codes of the synthetic records, which answer alone where tables say nothing;
            None if there are none.
        weights: of the records; None if all count alike, without replicates.
        facts: that are taken for true of the private table; None for none.
        lookups: columns whose values the codes of others tell.
        cells: where a column's questions are about other cells than its tables count: the cell of
            the codec that holds each cell of the tables, shape (cells of the tables,).
    """

    codec: TableCodec
    estimator: Estimator
    records: AnyCodes | None = None
    weights: RecordWeights | None = None
    facts: Facts | None = None
    lookups: Mapping[str, Lookup] = field(default_factory=dict)
    cells: Mapping[int, Counts] = field(default_factory=dict)

    def groups(self, question: Question) -> tuple[int, ...]:
        """Cells of each column of `by`.

        Raises:
            QuestionError: they make too many groups.
        """
        sizes = tuple(self.codec.named(name).attribute.cells for name in question.by)
        if (groups := prod(sizes)) > MOST_GROUPS:
            raise QuestionError(
                f"`by` makes {groups:,} groups, but at most {MOST_GROUPS:,} are answered at once"
            )
        return sizes

    def answer(
        self,
        question: Question,
        *,
        confidence: float,
        together: int | None = None,
        told_by_tables: bool = False,
    ) -> Answers:
        """All groups' answers, in the order of their cells.

        Args:
            question: bound to the columns.
            together: how many intervals, of this question and others, are to hold at once
                (Bonferroni); None if each holds by itself.
            told_by_tables: refuse what the noisy tables do not tell, whatever records say.
        Raises:
            QuestionError: it has too many groups, or neither tables nor records can answer it.
        """
        sizes = self.groups(question)
        each = confidence if together is None else 1 - (1 - confidence) / together
        answered = partial(self._answered, question, sizes, each, told_by_tables)
        answers, missing = answered(("middle", "middle"))
        if self.is_bounded_by_ends(question):
            lower, _ = answered(("least", "greatest"))
            upper, _ = answered(("greatest", "least"))
            answers = [
                replace(one, raw_low=low.low, raw_high=high.high)
                for one, low, high in zip(answers, lower, upper, strict=True)
            ]
        return Answers(
            question=question.text,
            by=question.by,
            confidence=confidence,
            simultaneous=together is not None,
            answers=tuple(answers),
            notes=tuple(self._notes(question, answers, missing)),
        )

    def _answered(
        self,
        question: Question,
        sizes: Sequence[int],
        confidence: float,
        told_by_tables: bool,
        places: Sequence[Place],
    ) -> tuple[list[Answer], NotMeasured | None]:
        """All groups' answers, and what was not measured if the records had to answer.

        Args:
            places: which value stands for all of a cell, in either statistic.
        Raises:
            QuestionError: neither tables nor records can answer.
        """
        pieces = self.pieces(question, places)
        told = None
        if self.records is not None:
            weight = None if self.weights is None else self.weights.own
            told = self._from_records(question, pieces, sizes, self.records, weight)
        missing: NotMeasured | None = None
        answers: list[Answer] = []
        try:
            for one in self.solved(question, places):
                answers.append(self.told(question, one, confidence))
        except NotMeasured as error:
            if told is None or told_by_tables:
                raise QuestionError(self.what_is_missing(error)) from error
            missing = error
            answers = list(self._only_records(question, pieces, sizes, told, confidence))
        if told is not None:
            pairs = zip(answers, told, strict=True)
            answers = [replace(answer, of_records=float(value)) for answer, value in pairs]
        return answers, missing

    def told(self, question: Question, group: Equations, confidence: float) -> Answer:
        """A group's answer from the noisy tables."""
        found, is_exact = self.interval(question, group.estimates, group.rows, confidence)
        return Answer(
            group=group.group,
            estimate=found.estimate,
            low=found.low,
            high=found.high,
            deviation=found.deviation,
            basis=group.basis if is_exact else "first order",
        )

    def equations(
        self, question: Question, places: Sequence[Place] = ("middle", "middle")
    ) -> Iterator[Equations]:
        """What each group's answer is computed from by `told`, in the order of their cells.

        Args:
            places: which value stands for all of a cell, in either statistic.
        Raises:
            QuestionError: it has too many groups, or the tables cannot answer it.
        """
        try:
            yield from self.solved(question, places)
        except NotMeasured as error:
            raise QuestionError(self.what_is_missing(error)) from error

    def solved(self, question: Question, places: Sequence[Place]) -> Iterator[Equations]:
        """As `equations`, a batch of groups from one system of equations.

        Raises:
            NotMeasured: the tables cannot answer it.
        """
        cells = list(combinations(*(range(size) for size in self.groups(question))))
        pieces = self.pieces(question, places)
        at_once = max(1, _AT_ONCE // sum(map(len, pieces)))
        touched = {self.codec.names.index(name) for name in question.by}
        touched |= {column for its in pieces for one in its for column in one.columns}
        facts = self._facts_about(touched)
        for first in range(0, len(cells), at_once):
            batch = cells[first : first + at_once]
            queries = self._queries(question, pieces, batch)
            estimates = self.estimator.estimates([*queries, *(query for query, _ in facts)])
            basis: Basis = "nominal" if estimates.is_conditional else "exact"
            if facts:
                estimates = given(estimates, np.array([value for _, value in facts]))
                basis = "given" if basis == "exact" else basis
            for cell, rows in _rows(pieces, batch):
                yield Equations(self.labels(question, cell), estimates, rows, basis)

    def range_of(self, name: str) -> tuple[float, float]:
        """The least and the greatest value of a numeric column."""
        lows, highs = self.ends(name)
        return float(lows[0]), float(highs[-1])

    def records_behind(
        self, question: Question, group: Equations, *, at_most: float | None = None
    ) -> float:
        """How many records the estimates say that a group's answer is divided by: of two
        statistics, the fewest; infinitely many where it is divided by none.

        Args:
            at_most: the confidence with which there are no more; the estimate without one.
        """

        def records(row: Floats) -> float:
            noise = 0.0 if at_most is None else group.estimates.half_width(row, at_most)
            return float(row @ group.estimates.values) + noise

        found = [inf]
        for one, rows in zip(question.statistics, group.rows, strict=True):
            if one.kind in ("share", "mean"):
                found.append(records(rows[1]))
            elif one.kind == "quantile":
                assert one.probability is not None, "a quantile has a probability"
                found.append(records(rows[-1]) / (1 - float(one.probability)))
        if question.compared is not None and question.compared[0] == "over":
            found.append(records(group.rows[1][0]))
        return min(found)

    def _queries(
        self,
        question: Question,
        pieces: Sequence[Sequence[Function]],
        cells: Sequence[tuple[int, ...]],
    ) -> list[LinearQuery]:
        """The linear queries of all groups, one after the other."""
        groups = [self.group(question, cell) for cell in cells]
        asked = (group * piece for group in groups for one in pieces for piece in one)
        return [one.on(self.cells).query() for one in asked]

    def _facts_about(self, columns: set[int]) -> list[Fact]:
        """Facts that sharpen queries of these columns, and that the tables can be held to."""
        if self.facts is None:
            return []
        near = {one.columns for one in self.estimator.tables if columns & set(one.columns)}
        told: list[Fact] = []
        for facts in self.facts.about(near):
            with suppress(NotMeasured):
                self.estimator.estimates([query for query, _ in facts])
                told += facts
        return told

    def interval(
        self,
        question: Question,
        estimates: Estimates,
        rows: Sequence[Sequence[Floats]],
        confidence: float,
    ) -> tuple[Interval, bool]:
        """The answer of one group, and whether its interval is exact.

        Args:
            rows: for each statistic, the unit vectors of its linear queries.
        """
        first, mine = question.first, rows[0]
        if first.kind == "quantile":
            return self._quantile(first, estimates, mine, confidence), True
        if question.compared is None:
            if len(mine) == 1:
                found = estimates.interval(mine[0], confidence)
            else:
                found = estimates.ratio(mine[0], mine[1], confidence)
            return self._possible(found, first), True
        operator, other = question.compared[0], rows[1]
        if len(mine) == len(other) == 1:
            if operator == "minus":
                return estimates.interval(mine[0] - other[0], confidence), True
            return estimates.ratio(mine[0], other[0], confidence), True
        return first_order(operator, estimates, mine, other, confidence), False

    def _possible(self, found: Interval, one: Statistic) -> Interval:
        """The interval without values that no table has."""
        least, most = -inf, inf
        if one.kind in ("count", "share"):
            least, most = 0.0, inf if one.kind == "count" else 1.0
        elif one.kind == "mean":
            assert one.column is not None, "a mean has a column"
            least, most = self.range_of(one.column)
        low, high = np.clip([found.low, found.high], least, most)
        return replace(found, low=float(low), high=float(high))

    def _quantile(
        self, one: Statistic, estimates: Estimates, excess: Sequence[Floats], confidence: float
    ) -> Interval:
        """All values whose share of records below and above is not refuted (Woodruff).

        `excess[k]` is the number of records up to cell k, less the probability times all: the
        quantile lies in the first cell where it is not negative.
        """
        assert one.column is not None, "a quantile has a column"
        found = estimates.crossing(excess, confidence)
        lows, highs = self.ends(one.column)
        at = found.estimate
        estimate = lows[at] + found.within * (highs[at] - lows[at])
        low, high = lows[found.low], highs[found.high]
        return Interval(float(estimate), float(low), float(high), None)

    def pieces(
        self, question: Question, places: Sequence[Place] = ("middle", "middle")
    ) -> list[list[Function]]:
        """For each statistic, the functions whose sums over all records it is made of."""
        both = zip(question.statistics, places, strict=False)
        return [self._pieces(one, place) for one, place in both]

    def _pieces(self, one: Statistic, place: Place) -> list[Function]:
        """The linear queries that a statistic of all records is made of."""
        among = self._among(one)
        match one.kind:
            case "count":
                return [among]
            case "share":
                assert one.condition is not None, "a share has a condition"
                return [among * indicator(one.condition, self.codec, self.lookups), among]
        assert one.column is not None, "all others have a column"
        if one.kind == "quantile":
            assert one.probability is not None, "a quantile has a probability"
            share = among.times(-float(one.probability))
            return [
                share + among * cells_between(self.codec, one.column, 0, cell)
                for cell in range(self.codec.named(one.column).attribute.levels)
            ]
        summed = among * value_of(self.codec, one.column, self.lookups, place)
        return [summed] if one.kind == "sum" else [summed, among]

    def _among(self, one: Statistic) -> Function:
        """1 for the records that count: those of `where`, with a value of the column."""
        among = ONE if one.where is None else indicator(one.where, self.codec, self.lookups)
        if one.column is None:
            return among
        return among * known(self.codec, measured(one.column, self.lookups))

    def _from_records(
        self,
        question: Question,
        pieces: Sequence[Sequence[Function]],
        sizes: Sequence[int],
        records: AnyCodes,
        weight: Floats | None,
    ) -> Floats:
        """What the records themselves answer, all alike or with these weights, by group, shape
        (groups,)."""
        by = [self.codec.names.index(name) for name in question.by]
        sums = [np.zeros((len(its), prod(sizes))) for its in pieces]
        for start in range(0, len(records), _RECORDS):  # whatever their number
            block = slice(start, start + _RECORDS)
            some = records[block]
            group = np.zeros(len(some), dtype=np.int64)
            for column, size in zip(by, sizes, strict=True):
                group = group * size + some[:, column]
            each = 1.0 if weight is None else weight[block]
            for found, its in zip(sums, pieces, strict=True):
                for i, piece in enumerate(its):
                    found[i] += np.bincount(group, each * piece.of(some), prod(sizes))
        told = [
            self._of_records(one, list(found))
            for one, found in zip(question.statistics, sums, strict=True)
        ]
        match question.compared:
            case None:
                return told[0]
            case ("minus", _):
                return told[0] - told[1]
            case _:
                return _quotient(told[0], told[1])

    def _of_records(self, one: Statistic, sums: Sequence[Floats]) -> Floats:
        """The statistic by group, from the sums of its pieces over the records of each."""
        if one.kind == "quantile":
            assert one.column is not None, "a quantile has a column"
            lows, highs = self.ends(one.column)
            at = (np.array(sums) >= 0).argmax(axis=0)
            return np.where(np.any(sums, axis=0), (lows + highs)[at] / 2, nan)
        return sums[0] if len(sums) == 1 else _quotient(sums[0], sums[1])

    def _fewest(self, question: Question) -> list[int]:
        """How many records each group's answer rests on: of its statistics, the one of fewest;
        nothing of counts, which say so themselves."""
        if self.records is None:
            return []
        sizes = self.groups(question)
        among = [[self._among(one)] for one in question.statistics if one.kind != "count"]
        every = replace(question, compared=None)
        counted = [
            self._from_records(replace(every, first=_COUNT), [its], sizes, self.records, None)
            for its in among
        ]
        return [int(n) for n in np.min(counted, axis=0)] if counted else []

    def _only_records(
        self,
        question: Question,
        pieces: Sequence[Sequence[Function]],
        sizes: Sequence[int],
        told: Floats,
        confidence: float,
    ) -> Iterator[Answer]:
        """The groups' answers from the records, with an interval where there are replicates."""
        cells = combinations(*(range(size) for size in sizes))
        weights = np.empty((0, 0)) if self.weights is None else self.weights.replicates().T
        assert self.records is not None, "they told"
        again = [
            self._from_records(question, pieces, sizes, self.records, weight) for weight in weights
        ]
        for number, cell in enumerate(cells):
            estimate = float(told[number])
            found = from_replicates(estimate, np.array([one[number] for one in again]), confidence)
            # Replicates that do not differ tell nothing: most often no record is in the group.
            varies = found.deviation is not None and found.deviation > _ROUNDING * abs(estimate)
            is_told = bool(again) and varies
            if is_told and question.compared is None and question.first.kind != "quantile":
                found = self._possible(found, question.first)
            yield Answer(
                group=self.labels(question, cell),
                estimate=estimate,
                low=found.low if is_told else None,
                high=found.high if is_told else None,
                deviation=found.deviation if is_told else None,
                basis="replicates" if is_told else "records",
            )

    def group(self, question: Question, cell: Sequence[int]) -> Function:
        """1 for the records of a group."""
        parts = [
            cells_between(self.codec, name, code, code)
            for name, code in zip(question.by, cell, strict=True)
        ]
        return product(parts) if parts else ONE

    def labels(self, question: Question, cell: Sequence[int]) -> tuple[str, ...]:
        """What the cells of a group are called, for each column of `by`."""
        return tuple(
            cell_labels(self.codec.named(name))[code]
            for name, code in zip(question.by, cell, strict=True)
        )

    def ends(self, name: str) -> tuple[Floats, Floats]:
        """The least and the greatest value of each cell of a numeric column; of a lookup, those of
        all its values."""
        if name in self.lookups:
            values = values_of_cells(self.codec, name, self.lookups)
            return np.array([values.min()]), np.array([values.max()])
        column = self.codec.named(name).column
        assert isinstance(column, NumericColumn), "it was checked"
        return ends_of(column)

    def summed_in_cells(self, question: Question) -> list[str]:
        """The columns of sums and means whose cells hold several values, each once."""
        named = (one.column for one in question.statistics if one.kind in ("sum", "mean"))
        return [
            name
            for name in dict.fromkeys(named)
            if name is not None and holds_several(self.codec, measured(name, self.lookups))
        ]

    def is_bounded_by_ends(self, question: Question) -> bool:
        """Whether values within cells matter, and the answer lies between those that the ends of
        all cells have: a quotient does where nothing that is summed is negative."""
        several = self.summed_in_cells(question)
        if question.compared is None or question.compared[0] == "minus":
            return bool(several)
        return bool(several) and all(self.ends(name)[0][0] >= 0 for name in several)

    def what_is_missing(self, error: NotMeasured) -> str:
        """What no table tells, in words."""
        tables = [title(columns, self.codec.names) for columns in error.missing if columns]
        largest = sorted(set(tables), key=lambda name: (-name.count(" x "), name))[:3]
        return "nothing was measured of " + ", ".join(largest or ["the number of records"])

    def _notes(
        self, question: Question, answers: Sequence[Answer], missing: NotMeasured | None
    ) -> Iterator[str]:
        for basis in dict.fromkeys(answer.basis for answer in answers):
            yield f"{basis}: {meaning(basis, question)}"
        if missing is not None:
            yield f"{self.what_is_missing(missing)}, so the noisy tables cannot answer this"
        if wrong := sum(answer.records_mislead for answer in answers):
            yield (
                f"*: the synthetic records' own answer lies outside the interval ({wrong} of "
                f"{len(answers)}); rely on the estimate, and not on analyses of the records there"
            )
        if any(answer.is_impossible for answer in answers):
            yield (
                "an estimate outside its interval is what the noise left: no table has such a "
                "number, and the interval has only those that a table can have"
            )
        if any(answer.basis in ("first order", "replicates") for answer in answers):
            few = [n for n in self._fewest(question) if n < _FEW]
            if few:
                yield (
                    f"{len(few)} of {len(answers)} answers rest on fewer than {_FEW} synthetic "
                    f"records, one of them on {min(few)}"
                )
        for name in self.summed_in_cells(question):
            told = (
                "the interval of raw values holds wherever they lie in their cells"
                if self.is_bounded_by_ends(question)
                else "how far that is from the values themselves is not in the interval"
            )
            yield (
                f"cells of {name} hold several values, and each counts as the middle of its cell; "
                f"{told}"
            )
        if any(not np.isfinite(answer.estimate) for answer in answers):
            yield "unknown: the noise is too large to tell the number of records from 0"


def _rows(
    pieces: Sequence[Sequence[Function]], cells: Sequence[tuple[int, ...]]
) -> Iterator[tuple[tuple[int, ...], list[list[Floats]]]]:
    """By group, the unit vectors of its linear queries, for each statistic."""
    units = iter(np.eye(sum(map(len, pieces)) * len(cells)))
    for cell in cells:
        yield cell, [list(islice(units, len(one))) for one in pieces]


def _quotient(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.full(above.shape, nan), where=below != 0)


def first_order(
    operator: Literal["minus", "over"],
    estimates: Estimates,
    first: Sequence[Floats],
    second: Sequence[Floats],
    confidence: float,
) -> Interval:
    """A difference or ratio of statistics of which one is a ratio itself, by the delta method.

    Nothing is known unless all that is divided by is far from 0.
    """
    told = linearised(operator, estimates, first, second, confidence)
    if told is None:
        return UNKNOWN
    value, slope = told
    half = estimates.half_width(slope, confidence)
    return Interval(value, value - half, value + half, estimates.deviation(slope))


def linearised(
    operator: Literal["minus", "over"],
    estimates: Estimates,
    first: Sequence[Floats],
    second: Sequence[Floats],
    confidence: float,
) -> tuple[float, Floats] | None:
    """The value of such a difference or ratio and its slope in all linear queries, shape
    (queries,); None where something that is divided by is not far from 0."""
    below = [row for rows in (first, second) for row in rows[1:]]
    if operator == "over":
        below.append(second[0])
    for row in below:
        if abs(float(row @ estimates.values)) <= 2 * estimates.half_width(row, confidence):
            return None
    (one, one_slope), (two, two_slope) = (_value(estimates, rows) for rows in (first, second))
    if operator == "minus":
        return one - two, one_slope - two_slope
    return one / two, one_slope / two - one * two_slope / two**2


def _value(estimates: Estimates, rows: Sequence[Floats]) -> tuple[float, Floats]:
    """A statistic and its slope in all linear queries."""
    above = float(rows[0] @ estimates.values)
    if len(rows) == 1:
        return above, rows[0]
    below = float(rows[1] @ estimates.values)
    return above / below, rows[0] / below - above * rows[1] / below**2


def finite(number: float | None) -> float | None:
    """The number as JSON can have it: None where it is not finite."""
    return number if number is not None and isfinite(number) else None
