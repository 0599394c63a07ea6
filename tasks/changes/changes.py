"""The same question asked of two releases: both answers, and how they changed, group by group.

Noise is drawn anew for every release, so errors of the two are independent. A change of counts and
sums, and of whatever else is linear, has an exact interval; see `mechanisms/inference/change.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress
from math import inf, isfinite
from typing import Literal, get_args

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.inference.blue import NotMeasured
from hallmark.mechanisms.inference.change import (
    Statistic,
    difference,
    in_cells,
    quotient,
    squared_and_added,
    stacked,
)
from hallmark.mechanisms.inference.estimates import UNKNOWN, Estimates, Interval
from hallmark.schemas.question import Question, QuestionError
from hallmark.tasks.questions.answers import Answer, Answering, Equations, linearised
from hallmark.tasks.questions.functions import Place

ChangeBasis = Literal[
    "exact", "given", "combined", "nominal", "first order", "replicates", "records"
]
"""What the interval of a change rests on, from the strongest to the weakest: as of one release's
answers, and `combined`, where each answer's interval is exact, but they are put together."""

_STRONGEST_FIRST: tuple[ChangeBasis, ...] = get_args(ChangeBasis)

MEANING: dict[ChangeBasis, str] = {
    "exact": "from the noisy tables of both releases; with the stated confidence, the interval "
    "holds the change from one private table to the other, as they were counted, in cells",
    "given": "from the noisy tables, the edit rules and the public totals of both releases; the "
    "interval holds with the stated confidence if rules and totals are true of the private tables, "
    "which is not checked",
    "combined": "from the noisy tables of both releases; the interval of each answer is exact, and "
    "that of the change is put together from both, so it holds with about the stated confidence",
    "nominal": "from the noisy tables, some of which were chosen on earlier answers; the interval "
    "holds with about the stated confidence",
    "first order": "from the noisy tables of both releases; the interval is a linear "
    "approximation, and holds with about the stated confidence",
    "replicates": "one answer at least comes from synthetic records, and its interval from their "
    "replicate weights; that of the change is estimated",
    "records": "one answer at least comes from synthetic records, and nothing was measured that "
    "bounds its error, so whether it changed is not told",
}

_RELATIVE = ("count", "sum", "mean")


@dataclass(frozen=True, kw_only=True)
class Change:
    """How a group's answer changed.

    Attributes:
        group: a label for each column of `by`.
        before, after: the answers of the releases.
        estimate: by how much the later answer is larger.
        low, high: ends of its interval; None without one, infinite where nothing bounds it.
        deviation: standard deviation of the noise in the change, to first order; None for
            quantiles, and without an interval.
        raw_low, raw_high: ends of one that holds wherever values lie in their cells; None where it
            would be the same.
        relative: the change as a share of the earlier answer, of counts, sums and means; None of
            others, and without an interval.
    """

    group: tuple[str, ...]
    before: Answer
    after: Answer
    estimate: float
    low: float | None
    high: float | None
    deviation: float | None
    basis: ChangeBasis
    raw_low: float | None = None
    raw_high: float | None = None
    relative: Interval | None = None

    @property
    def numbers(self) -> dict[str, float | bool | str | None]:
        """Everything but the group, by name, as tables and files have it."""
        relative, relative_low, relative_high = _ends(self.relative)
        return {
            "before": self.before.estimate,
            "before_low": self.before.low,
            "before_high": self.before.high,
            "after": self.after.estimate,
            "after_low": self.after.low,
            "after_high": self.after.high,
            "change": self.estimate,
            "low": self.low,
            "high": self.high,
            "deviation": self.deviation,
            "raw_low": self.raw_low,
            "raw_high": self.raw_high,
            "relative": relative,
            "relative_low": relative_low,
            "relative_high": relative_high,
            "is_told": self.is_told,
            "basis": self.basis,
        }

    @property
    def is_told(self) -> bool:
        """Whether the change is told apart from noise."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def relative_in_words(self) -> str:
        """The relative change with its interval, in per cent."""
        if self.relative is None:
            return "–"
        estimate, low, high = (100 * end for end in _ends(self.relative) if end is not None)
        if not isfinite(high - low):
            return "unknown"
        return f"{estimate:+.3g} % ({low:.3g} to {high:.3g})"

    def in_words(self, *, in_points: bool) -> str:
        """What can be told of the change.

        Args:
            in_points: whether answers are shares.
        """
        if self.low is None or self.high is None:
            return "not told: nothing bounds the error"
        if not isfinite(self.estimate) or not isfinite(self.high - self.low):
            return "unknown: the noise is too large"
        unit = " points" if in_points else ""
        estimate, low, high = (
            100 * number if in_points else number for number in (self.estimate, self.low, self.high)
        )
        if self.low > 0:
            return f"rose by {short(estimate)}{unit}, between {short(low)} and {short(high)}"
        if self.high < 0:
            return f"fell by {short(-estimate)}{unit}, between {short(-high)} and {short(-low)}"
        return f"no change can be told: between {short(low)} and {short(high)}{unit}"


@dataclass(frozen=True, kw_only=True)
class Changes:
    """All changes of the answers to a question.

    Attributes:
        by: the columns whose cells are the groups.
        in_points: whether numbers are shares, which change by points.
        simultaneous: whether all intervals of change hold at once with the confidence, or each by
            itself.
        notes: what a reader must know of them.
    """

    question: str
    by: tuple[str, ...]
    in_points: bool
    confidence: float
    simultaneous: bool
    changes: tuple[Change, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Comparing:
    """Two releases that answer a question on the same cells.

    Attributes:
        question: bound to the columns of these cells.
        before, after: with the same columns wherever the question is about them.
        kept: by group, whether both releases have it.
    """

    question: Question
    before: Answering
    after: Answering
    kept: Sequence[bool]

    def compared(self, *, confidence: float, together: int | None = None) -> Changes:
        """The changes of all groups that both have, with what a reader must know of them.

        Args:
            together: how many intervals, of this question and others, are to hold at once
                (Bonferroni); None if each holds by itself.
        Raises:
            QuestionError: neither tables nor records of a release can answer.
        """
        each = confidence if together is None else 1 - (1 - confidence) / max(1, together)
        found = self.changes(each)
        return Changes(
            question=self.question.text,
            by=self.question.by,
            in_points=self.is_in_points,
            confidence=confidence,
            simultaneous=together is not None,
            changes=tuple(found),
            notes=tuple(self._notes(found)),
        )

    @property
    def is_in_points(self) -> bool:
        """Whether the answers are shares, or differences of shares."""
        compared = self.question.compared
        is_quotient = compared is not None and compared[0] == "over"
        return not is_quotient and {one.kind for one in self.question.statistics} == {"share"}

    def _notes(self, found: Sequence[Change]) -> Iterator[str]:
        for basis in dict.fromkeys(one.basis for one in found):
            yield f"{basis}: {MEANING[basis]}"
        for name in self.after.summed_in_cells(self.question):
            told = (
                "the interval of raw values holds wherever they lie in their cells, in either table"
                if self.after.is_bounded_by_ends(self.question)
                else "how far that is from the values themselves is not in the interval"
            )
            yield (
                f"cells of {name} hold several values, and each counts as the middle of its cell; "
                f"{told}"
            )
        if any(not isfinite(one.estimate) for one in found):
            yield "unknown: in one table noise hides whether there are any such records"

    def changes(self, confidence: float) -> list[Change]:
        """The changes of all groups that both have, in the order of their cells.

        Raises:
            QuestionError: neither tables nor records of a release can answer.
        """
        found = self._at(confidence, "middle", "middle")
        if not self.after.is_bounded_by_ends(self.question):
            return found
        lower = self._at(confidence, "greatest", "least")
        upper = self._at(confidence, "least", "greatest")
        return [
            replace(one, raw_low=low.low, raw_high=high.high)
            for one, low, high in zip(found, lower, upper, strict=True)
        ]

    def _at(self, confidence: float, before: Place, after: Place) -> list[Change]:
        """The changes where such values stand for all of a cell.

        Args:
            before, after: in the first statistic; in one that it is compared with, the opposite.
        """
        try:
            found = list(self._measured(confidence, _PLACES[before], _PLACES[after]))
        except NotMeasured:
            found = list(self._from_records(confidence))
        return list(compress(found, self.kept))

    def _measured(
        self, confidence: float, before: Sequence[Place], after: Sequence[Place]
    ) -> Iterator[Change]:
        """From the noisy tables of both.

        Raises:
            NotMeasured: those of one cannot answer.
        """
        stack = lru_cache(maxsize=1)(stacked)  # groups come in batches from the same estimates
        solved = (
            self.before.solved(self.question, before),
            self.after.solved(self.question, after),
        )
        for one, two in zip(*solved, strict=True):
            group = _Group(stack(one.estimates, two.estimates), one, two)
            answers = (
                self.before.told(self.question, one, confidence),
                self.after.told(self.question, two, confidence),
            )
            found, relative, basis = self._change(group, answers, confidence)
            yield Change(
                group=one.group,
                before=answers[0],
                after=answers[1],
                estimate=found.estimate,
                low=found.low,
                high=found.high,
                deviation=found.deviation,
                basis=max(one.basis, two.basis, basis, key=_STRONGEST_FIRST.index),
                relative=relative,
            )

    def _change(
        self, group: "_Group", answers: tuple[Answer, Answer], confidence: float
    ) -> tuple[Interval, Interval | None, ChangeBasis]:
        """The change of one group, as a share of the earlier answer, too, and what both rest on."""
        first, compared = self.question.first, self.question.compared
        (mine, *others), (its, *_) = group.rows
        if first.kind == "quantile":
            cells = (
                self._cell(of, found, rows, confidence)
                for of, found, rows in zip(answers, group.equations, (mine, its), strict=True)
            )
            return in_cells(*cells), None, "combined"
        if compared is None:
            before, after = Statistic(*mine), Statistic(*its)
        elif len(mine) > 1 or len(others[0]) > 1:
            return self._first_order(group, confidence), None, "first order"
        elif compared[0] == "minus":
            before, after = (Statistic(a[0] - b[0]) for a, b in group.rows)
        else:
            before, after = (Statistic(a[0], b[0]) for a, b in group.rows)
        found = difference(group.joint, before, after, confidence)
        relative = None
        if compared is None:
            found = self._possible(found)
            if first.kind in _RELATIVE:
                relative = _less_one(quotient(group.joint, before, after, confidence))
        return found, relative, "exact" if before.below is None else "combined"

    def _first_order(self, group: "_Group", confidence: float) -> Interval:
        """The change of a difference or ratio of which a part is a ratio itself."""
        assert self.question.compared is not None, "two statistics are compared"
        operator, joint = self.question.compared[0], group.joint
        before, after = (
            linearised(operator, joint, mine, other, confidence) for mine, other in group.rows
        )
        if before is None or after is None:
            return UNKNOWN
        change, slope = after[0] - before[0], after[1] - before[1]
        half = joint.half_width(slope, confidence)
        return Interval(change, change - half, change + half, joint.deviation(slope))

    def _cell(
        self, answer: Answer, group: Equations, rows: Sequence[Floats], confidence: float
    ) -> tuple[float, float, Interval]:
        """The ends of the cell that a quantile's estimate is in, and its interval."""
        column = self.question.first.column
        assert column is not None, "a quantile has a column"
        assert answer.low is not None, "and an interval"
        assert answer.high is not None, "and an interval"
        lows, highs = self.after.ends(column)
        at = group.estimates.crossing(group.rows[0], confidence).estimate
        return (
            float(lows[at]),
            float(highs[at]),
            Interval(answer.estimate, answer.low, answer.high, None),
        )

    def _possible(self, found: Interval) -> Interval:
        """The interval without changes that no two tables have."""
        first, most = self.question.first, inf
        if first.kind == "share":
            most = 1.0
        elif first.kind == "mean":
            assert first.column is not None, "a mean has a column"
            least, greatest = self.after.range_of(first.column)
            most = greatest - least
        low, high = np.clip([found.low, found.high], -most, most)
        return replace(found, low=float(low), high=float(high))

    def _from_records(self, confidence: float) -> Iterator[Change]:
        """From the answers of each release, of which one at least is that of its records."""
        answers = []
        for of, which in ((self.before, "earlier"), (self.after, "later")):
            try:
                answers.append(of.answer(self.question, confidence=confidence).answers)
            except QuestionError as error:
                raise QuestionError(f"the {which} release cannot answer: {error}") from error
        for one, two in zip(*answers, strict=True):
            before, after = _interval(one), _interval(two)
            found = before and after and squared_and_added(before, after)
            _, low, high = _ends(found)
            yield Change(
                group=one.group,
                before=one,
                after=two,
                estimate=two.estimate - one.estimate,
                low=low,
                high=high,
                deviation=None if found is None else found.deviation,
                basis=max(one.basis, two.basis, key=_STRONGEST_FIRST.index),
            )


_PLACES: Mapping[Place, tuple[Place, Place]] = {
    "least": ("least", "greatest"),
    "middle": ("middle", "middle"),
    "greatest": ("greatest", "least"),
}


@dataclass(frozen=True, eq=False)
class _Group:
    """What both releases tell of a group.

    Attributes:
        joint: the estimates of both.
        before, after: as each release tells it.
    """

    joint: Estimates
    before: Equations
    after: Equations

    @property
    def equations(self) -> tuple[Equations, Equations]:
        return self.before, self.after

    @property
    def rows(self) -> tuple[list[list[Floats]], list[list[Floats]]]:
        """For each release, its statistics' rows as combinations of the joint queries."""
        sizes = [len(of.estimates.weights.constant) for of in self.equations]
        return (
            [[np.pad(row, (0, sizes[1])) for row in rows] for rows in self.before.rows],
            [[np.pad(row, (sizes[0], 0)) for row in rows] for rows in self.after.rows],
        )


def _interval(answer: Answer) -> Interval | None:
    if answer.low is None or answer.high is None:
        return None
    return Interval(answer.estimate, answer.low, answer.high, answer.deviation)


def _ends(found: Interval | None) -> tuple[float | None, float | None, float | None]:
    """The estimate and the ends of an interval; None without one."""
    return (None, None, None) if found is None else (found.estimate, found.low, found.high)


def _less_one(found: Interval) -> Interval:
    """A quotient as a share by which something grew."""
    return replace(found, estimate=found.estimate - 1, low=found.low - 1, high=found.high - 1)


def short(number: float) -> str:
    """A number as people read it."""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
