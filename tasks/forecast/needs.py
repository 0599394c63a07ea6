"""Whether needs will be met, before a private byte is read.

The law of the noise is known beforehand, and with it the width of every count and sum. A share or a
mean of a group is a ratio, so how wide its interval is also depends on how many records the group
has, and less on the answer. The first comes from public totals, or from what the need states; where
neither tells it, the forecast says from which size of group on the need is met. Over answers, the
forecast is for the one that public totals or the need's `about` tell, and for the worst: the noise
in `above - r below` is a convex function of r, so no answer is worse than both the least and the
greatest. The worst also takes the group for as small as noise may make it look. Where nothing tells
the answer, the width under an even spread is shown, but nothing is promised of it.

Claim.   Intervals of a release are as wide as forecast where sizes and answers are as stated, and
         no wider than the worst.
Oracle.  tests/tasks/forecast/test_needs.py measures simulated releases of public data, and so does
         benchmarks/needs.py, on five tables.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from math import ceil, inf, isfinite
from typing import Any, Literal

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.forecast import KnownShares, Supposed, foreseen
from hallmark.schemas.needs import Need
from hallmark.schemas.question import Question, QuestionError
from hallmark.tasks.output.measurements import published_part
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.total_tables import total_cells
from hallmark.tasks.questions.answers import Answering, Equations
from hallmark.tasks.questions.functions import measured
from hallmark.tasks.questions.questioning import Questioning

Outlook = Literal["met", "expected", "depends", "missed", "no promise"]
"""Whether a need will be met: `met`, whatever the answers are; `expected`, unless answers are
unlike what is stated or public; `depends`, in groups that are large enough or with answers that
suit, and nothing public says whether they are; `missed`; `no promise`, since no table is sure to
tell."""

Sizes = Literal["public", "stated", "even", "any"]
"""What says how many records a group has: public totals, the need, an even spread over all cells,
or nothing, since the width does not depend on it."""


_SAID: Mapping[Sizes, str] = {
    "public": "",
    "stated": ", as stated",
    "even": ", were all alike",
    "any": "",
}


@dataclass(frozen=True, kw_only=True)
class NeedForecast:
    """What can be expected of a need.

    Attributes:
        half_width: of the widest group's interval, in the answer's unit; None where no table is
            sure to tell, or where the noise hides whether the group has records at all.
        at_most: the same if answers are as unfavourable as can be; None where it is not known.
        group: the widest, in words.
        records: that the group is taken to have; None where the width does not depend on it.
        least_records: from how many records on a group's interval is narrow enough; None where the
            width does not depend on it, or no group is large enough.
        reason: why there is no half width.
    """

    question: str
    within: float
    confidence: float
    stated_by: str
    outlook: Outlook
    half_width: float | None = None
    at_most: float | None = None
    group: str = ""
    records: float | None = None
    sizes: Sizes = "any"
    least_records: int | None = None
    reason: str = ""

    @property
    def excess(self) -> float:
        """The half width as a multiple of what is good enough; infinite without one."""
        return inf if self.half_width is None else self.half_width / self.within

    @property
    def satisfied(self) -> bool:
        """Whether the half width is good enough, if sizes and answers are as assumed."""
        return self.excess <= 1

    @property
    def words(self) -> str:
        """The outlook, for people."""
        if self.half_width is None:
            return f"{self.outlook}: {self.reason}"
        wide = f"± {self.half_width:.3g}"
        if self.records is None:
            return f"{self.outlook}: {wide}, whatever the answers are"
        least = "" if self.least_records is None else f"groups of {self.least_records:,} records"
        if self.outlook == "depends" and self.sizes == "even" and least:
            return (
                f"depends: met in {least} and more, and nothing public says how many they have; "
                f"{wide} were all alike"
            )
        told = f"{wide} in {self.group} ({self.records:,.0f} records{_SAID[self.sizes]})"
        match self.outlook:
            case "met":
                assert self.at_most is not None, "it was judged by that"
                return f"met: {told}, at most ± {self.at_most:.3g} whatever the answers are"
            case "expected":
                return f"expected to be met: {told}, but {self._worst} if answers are unlike that"
            case "depends":
                return (
                    f"depends on answers of which nothing is public: {told} were records spread "
                    f"evenly, {self._worst} if they are not"
                )
        return f"missed: {told}" + (f"; met in {least} and more" if least else "")

    @property
    def _worst(self) -> str:
        return "more" if self.at_most is None else f"up to ± {self.at_most:.3g}"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"words": self.words}


def need_forecasts(prepared: Prepared, needs: Sequence[Need]) -> Iterator[NeedForecast]:
    """What the plan promises of each need.

    Raises:
        QuestionError: a question does not suit the columns.
    """
    if needs:
        promises = Promises(prepared)
        yield from (promises.of(need) for need in needs)


class Promises:
    """What a plan promises of needs, as they are asked about."""

    def __init__(self, prepared: Prepared) -> None:
        spec = prepared.spec
        self._prepared, self._known = prepared, tuple(_known_shares(prepared))
        transcript, self._complete = foreseen(prepared.ask, prepared.plan, self._known)
        shown = published_part(transcript, prepared.codec, spec.released_columns)
        self._asking = Questioning(spec, Estimator.of(shown))

    def of(self, need: Need) -> NeedForecast:
        """The forecast of one need.

        Raises:
            QuestionError: its question does not suit the columns.
        """
        question = self._asking.bound(need.question)
        answering = self._asking.answering(question)
        told = _Forecasting(self._prepared, need, question, answering, self._known)
        return told.forecast(complete=self._complete)


def _known_shares(prepared: Prepared) -> Iterator[KnownShares]:
    """Shares from public totals of all records, of columns that no larger total has."""
    made = total_cells(prepared.spec, prepared.codec).totals
    tables = [
        total
        for total, stated in zip(made, prepared.spec.public_totals, strict=True)
        if stated.is_table and total.counts.sum()
    ]
    seen: set[int] = set()
    for total in sorted(tables, key=lambda one: -len(one.columns)):
        if seen.isdisjoint(total.columns):
            seen |= set(total.columns)
            cells = np.bincount(total.groups.ravel(), minlength=len(total.counts))
            each = total.counts / total.counts.sum() / np.maximum(cells, 1)
            yield KnownShares(total.columns, each[total.groups])


@dataclass(frozen=True, eq=False)
class _Forecasting:
    """The forecast of one need."""

    prepared: Prepared
    need: Need
    question: Question
    answering: Answering
    known: tuple[KnownShares, ...]

    def forecast(self, *, complete: bool) -> NeedForecast:
        told = NeedForecast(
            question=self.need.question,
            within=float(self.need.half_width),
            confidence=float(self.need.confidence),
            stated_by=self.need.stated_by,
            outlook="no promise",
        )
        try:
            groups = list(self.answering.equations(self.question))
        except QuestionError as error:
            return replace(told, reason=self._not_told(error, complete=complete))
        if not self._is_ratio:
            return max((self._of_sum(told, one) for one in groups), key=lambda one: one.excess)
        sized = [(one, size) for one in groups if (size := self._size(one)) >= 0.5]
        if not sized:
            return replace(told, reason="public totals say that no group has any records")
        widest = max(
            (self._of_ratio(told, one, size) for one, size in sized), key=lambda one: one[0].excess
        )
        return self._judged(*widest, worst=self._at_most(sized))

    def _not_told(self, error: QuestionError, *, complete: bool) -> str:
        name = self.prepared.plan.mechanism
        if complete:
            return f"the noisy tables of {name} do not tell it: {error}"
        return (
            f"{name} chooses on private answers what else it measures, so it cannot promise this: "
            f"{error} before that"
        )

    @property
    def _is_ratio(self) -> bool:
        """Whether the width depends on how many records there are."""
        sums = all(one.kind in ("count", "sum") for one in self.question.statistics)
        is_quotient = self.question.compared is not None and self.question.compared[0] == "over"
        return not sums or is_quotient

    @property
    def _confidence(self) -> float:
        return float(self.need.confidence)

    def _of_sum(self, told: NeedForecast, group: Equations) -> NeedForecast:
        """The forecast of counts and sums, which holds whatever they are."""
        combination = group.rows[0][0]
        if len(group.rows) > 1:
            combination = combination - group.rows[1][0]
        half = group.estimates.half_width(combination, self._confidence)
        met: Outlook = "met" if half <= told.within else "missed"
        return replace(told, half_width=half, at_most=half, group=self._title(group), outlook=met)

    def _of_ratio(
        self, told: NeedForecast, group: Equations, size: float
    ) -> tuple[NeedForecast, Equations]:
        """The forecast for one group of this size, which nothing is made of yet."""
        half = self._half_width(group, size)
        reason = "" if half is not None else "the noise would hide whether a group has any records"
        forecast = replace(
            told,
            half_width=half,
            group=self._title(group),
            records=size,
            sizes=self._sizes,
            reason=reason,
        )
        return forecast, group

    def _judged(self, told: NeedForecast, group: Equations, *, worst: float) -> NeedForecast:
        least = self._least_records(group)
        outlook: Outlook = "missed"
        if told.sizes == "even" and least is not None:
            outlook = "depends"
        elif worst <= told.within:
            outlook = "met"
        elif not self._answer_is_known:
            best = self._at_least(group, told.records or 0.0)
            outlook = "depends" if best <= told.within else "missed"
        elif told.satisfied:
            outlook = "expected"
        at_most = worst if isfinite(worst) else None
        return replace(told, outlook=outlook, at_most=at_most, least_records=least)

    def _size(self, group: Equations) -> float:
        """The records that a group is taken to have."""
        spread = self.answering.records_behind(self.question, group)
        if self.need.smallest_group is None:
            return spread
        stated = float(self.need.smallest_group) * self.prepared.plan.expected_records
        return max(stated, spread) if self._is_public else stated

    @property
    def _sizes(self) -> Sizes:
        if self.need.smallest_group is not None:
            return "stated"
        return "public" if self._is_public else "even"

    @property
    def _is_public(self) -> bool:
        """Whether a public total counts the groups, or there is one group of all records."""
        spec, names = self.prepared.spec, self.prepared.codec.names
        inside = [
            name
            for one in self.question.statistics
            for name in (() if one.where is None else one.where.columns())
        ]
        averaged = [one.column for one in self.question.statistics if one.column is not None]
        dividing = [
            *self.question.by,
            *inside,
            *(n for n in averaged if spec.columns[measured(n, spec.lookups)].nulls),
        ]
        places = {names.index(measured(name, spec.lookups)) for name in dividing}
        return not places or any(places <= set(one.columns) for one in self.known)

    @property
    def _answer_is_known(self) -> bool:
        """Whether the need states the answer, or public totals tell it."""
        if self.need.about is not None and self._is_quotient:
            return True
        names, lookups = self.prepared.codec.names, self.prepared.spec.lookups
        places = {names.index(measured(name, lookups)) for name in self.question.columns}
        return any(places <= set(one.columns) for one in self.known)

    def _half_width(self, group: Equations, size: float) -> float | None:
        """Of the group's interval, were it of this size; None where noise hides that it is not
        empty."""
        answers = []
        if self.need.about is not None and self._is_quotient:
            answers = [float(self.need.about)]
        return self._half(group, self._values(group, size), answers)

    def _at_most(self, sized: Sequence[tuple[Equations, float]]) -> float:
        """The widest that intervals of groups of these sizes can be, whatever the answers are, as
        small as noise makes groups look with the need's confidence."""
        if self._extremes is None:
            return inf
        widest = 0.0
        for group, size in sized:
            values = self._values(group, size)
            for _, below in self._quotients(group):
                values[below.argmax()] -= group.estimates.half_width(below, self._confidence)
                if below @ values <= 0:
                    return inf
            for answers in product(*self._extremes):
                half = self._half(group, values, answers, clipped=False)
                widest = max(widest, inf if half is None else half)
        return widest

    def _at_least(self, group: Equations, size: float) -> float:
        """The narrowest that the group's interval can be, whatever the answer is; 0 where that is
        not computed."""
        if self._extremes is None or len(self._extremes) > 1:
            return 0.0
        (ends,), (above, below) = self._extremes, group.rows[0]
        covariance = group.estimates.covariance
        best = float(above @ covariance @ below) / float(below @ covariance @ below or 1.0)
        values = self._values(group, size)
        answers = (*ends, float(np.clip(best, *ends)))
        widths = [self._half(group, values, [answer]) for answer in answers]
        return min(inf if width is None else width for width in widths)

    @property
    def _is_quotient(self) -> bool:
        """Whether the answer is one number over another, so that it tells the one by the other: a
        share, a mean, or a ratio of counts or sums."""
        if self.question.compared is None:
            return self.question.first.kind in ("share", "mean")
        sums = all(one.kind in ("count", "sum") for one in self.question.statistics)
        return sums and self.question.compared[0] == "over"

    @property
    def _extremes(self) -> Sequence[tuple[float, float]] | None:
        """The least and the greatest that each share or mean can be; None where intervals are no
        function of these."""
        operator = None if self.question.compared is None else self.question.compared[0]
        kinds = {one.kind for one in self.question.statistics}
        if operator == "over" or not kinds <= {"share", "mean"}:
            return None
        return [
            (0.0, 1.0) if one.column is None else self.answering.range_of(one.column)
            for one in self.question.statistics
        ]

    def _quotients(self, group: Equations) -> Sequence[tuple[Floats, Floats]]:
        """The linear queries that are divided, each with what it is divided by."""
        if self._is_quotient and self.question.compared is not None:
            return [(group.rows[0][0], group.rows[1][0])]
        return [(rows[0], rows[1]) for rows in group.rows if len(rows) == 2]

    def _values(self, group: Equations, size: float) -> Floats:
        """The group's linear queries, were the smallest that something is divided by of this size,
        and none more than all records."""
        every = max(float(self.prepared.plan.expected_records), size)
        spread = self.answering.records_behind(self.question, group)
        values = group.estimates.values * (size / spread)
        for _, below in self._quotients(group):
            at = below.argmax()
            values[at] = min(values[at], every)
        return values

    def _half(
        self, group: Equations, values: Floats, answers: Sequence[float], *, clipped: bool = True
    ) -> float | None:
        """Half of the group's interval at these values and, as far as they are given, quotients;
        None where noise hides whether it has any records.

        Args:
            clipped: whether the interval ends where no answer can be.
        """
        supposed = values.copy()
        for (above, below), answer in zip(self._quotients(group), answers, strict=False):
            supposed[above.argmax()] = answer * float(below @ values)
        estimates = Supposed(group.estimates.weights, group.estimates.total, supposed=supposed)
        if self.question.compared is None and not clipped:
            above, below = group.rows[0]
            found = estimates.ratio(above, below, self._confidence)
        else:
            found, _ = self.answering.interval(
                self.question, estimates, group.rows, self._confidence
            )
        width = (found.high - found.low) / 2
        return width if isfinite(found.estimate) and isfinite(width) else None

    def _least_records(self, group: Equations) -> int | None:
        """The least size from which on the group's interval is narrow enough."""
        within = float(self.need.half_width)

        def narrow_enough(size: int) -> bool:
            half = self._half_width(group, size)
            return half is not None and half <= within

        low, high = 0, self.prepared.plan.expected_records
        if not narrow_enough(high):
            return None
        while high - low > max(1, high // 200):  # to half a percent
            middle = max(low + 1, ceil((low * high) ** 0.5) if low else high // 8)
            low, high = (low, middle) if narrow_enough(middle) else (middle, high)
        return high

    def _title(self, group: Equations) -> str:
        parts = zip(self.question.by, group.group, strict=True)
        return ", ".join(f"{name}: {label}" for name, label in parts) or "all records"
