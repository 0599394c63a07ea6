"""Needs: how precisely a release should answer a question, and who said so.

- question: share of employed = true by region
  within: 1 point
  stated_by: the regional statistics unit, for the yearly table
"""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Annotated

from pydantic import Field, PlainValidator, WithJsonSchema

from hallmark.schemas.columns.columns import Column
from hallmark.schemas.exact import Exact, InsideOne, UpToOne, read_exact, shown
from hallmark.schemas.lookups import Lookup
from hallmark.schemas.question import Question, QuestionError, parse_question
from hallmark.schemas.section import Problem, Section

_POINTS = re.compile(r"(?P<number>\S+)\s*(?:percentage\s+)?points?")
_WRITTEN = re.compile(
    r"(?P<question>.+)\swithin\s+(?P<within>.+?)(?:\s+at\s+(?P<confidence>\S+?)\s*(?P<percent>%)?)?",
    re.DOTALL,
)
_FORM = "QUESTION within WIDTH, such as 'share of employed = true by region within 1 point'"


def _read_width(value: object) -> str:
    text = " ".join(str(value).split()) if isinstance(value, int | float | str) else ""
    points = _POINTS.fullmatch(text)
    try:
        number = read_exact(text if points is None else points["number"])
    except ValueError:
        number = Fraction(0)
    if isinstance(value, bool) or number <= 0:
        raise ValueError(
            f"must be a number above 0 in the answer's unit, or points of a share, such as 0.01 or "
            f"1 point, not {shown(value)}"
        )
    return text


Width = Annotated[
    str,
    PlainValidator(_read_width),
    WithJsonSchema({"type": ["number", "string"]}),
]
"""Half the width of an interval, in the answer's unit or in points of a share."""


class Need(Section):
    """A question, and how precise its answers must be."""

    question: str
    """the question, as hallmark query takes it, such as mean of income by region"""
    within: Width
    """the half width of the interval that is good enough, in the answer's unit; of a share, as a
    fraction (0.01) or in points (1 point)"""
    confidence: InsideOne = Fraction(95, 100)
    """the confidence of the interval of each group, above 0 and below 1"""
    stated_by: str = Field(min_length=3)
    """who needs it, and what for"""
    smallest_group: UpToOne | None = None
    """the share of all records in the smallest group that matters, above 0 and at most 1, from
    public knowledge; by default public totals tell it where one counts the groups"""
    about: Exact | None = None
    """roughly what the answers are, from public knowledge such as last year's release; how wide the
    intervals of shares and means are depends on it"""

    @property
    def half_width(self) -> Fraction:
        """`within`, in the answer's unit."""
        points = _POINTS.fullmatch(self.within)
        return read_exact(self.within) if points is None else read_exact(points["number"]) / 100

    @property
    def is_even(self) -> bool:
        """Whether intervals get narrower evenly with less noise; those of quantiles jump."""
        return all(one.kind != "quantile" for one in self.parsed.statistics)

    @property
    def parsed(self) -> Question:
        """The question, not bound to columns."""
        return parse_question(self.question)

    def problems_with(
        self, columns: Mapping[str, Column], lookups: Mapping[str, Lookup]
    ) -> Iterator[Problem]:
        """What keeps the question from being asked of these columns."""
        try:
            self.parsed.bound_to(columns, lookups)
        except QuestionError as error:
            yield Problem(("question",), str(error))

    def _problems(self) -> Iterator[Problem]:
        try:
            question = self.parsed
        except QuestionError as error:
            yield Problem(("question",), str(error))
            return
        is_share = question.first.kind == "share" and (
            question.compared is None or question.compared[0] == "minus"
        )
        if _POINTS.fullmatch(self.within) and not is_share:
            yield Problem(
                ("within",),
                f"points are of shares, and {question.text!r} asks for none; give a number in the "
                "answer's unit, such as 500",
            )
        if is_share and self.half_width >= 1:
            yield Problem(
                ("within",), "no share is off by as much; 1 point is written 0.01, or 1 point"
            )
        if self.about is not None and is_share and not -1 <= self.about <= 1:
            yield Problem(("about",), "no share lies there; write 15 % as 0.15")


def parse_need(text: str, stated_by: str) -> Need:
    """The need written as `QUESTION within WIDTH`, or with ` at 90 %` after it.

    Raises:
        QuestionError: it cannot be read; the message says what to write.
        ValidationError: a part of it is wrong.
    """
    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        raise QuestionError(f"{text!r} is not a need; write {_FORM}")
    given: dict[str, object] = {"question": found["question"], "within": found["within"]}
    if found["confidence"] is not None:
        try:
            confidence = read_exact(found["confidence"])
        except ValueError:
            raise QuestionError(
                f"{text!r}: {found['confidence']!r} is no confidence; write at 90 %, or at 0.9"
            ) from None
        given["confidence"] = confidence / 100 if found["percent"] else confidence
    return Need.model_validate(given | {"stated_by": stated_by})
