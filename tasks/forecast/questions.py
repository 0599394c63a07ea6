"""How precise the answers to a steward's questions will be, before a private byte is read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite

from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.forecast import foreseen
from hallmark.schemas.question import Question, QuestionError
from hallmark.tasks.forecast.least_epsilon import least_epsilon
from hallmark.tasks.output.measurements import published_part
from hallmark.tasks.planning.prepare import at_epsilon
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.requested import PlanRefused
from hallmark.tasks.questions.questioning import Questioning

CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class Precision:
    """What can be expected of the answers to a question.

    Attributes:
        half_width: of the widest group's 95 % interval, in the answer's unit; None where no table
            is sure to tell, or where the noise hides whether a group has records at all.
        reason: why it is None.
    """

    question: str
    half_width: float | None
    reason: str = ""


def precisions(prepared: Prepared, questions: Sequence[str]) -> Iterator[Precision]:
    """The precision of each question's answers, if records are spread evenly over all cells.

    Half-widths of counts and sums do not depend on that; those of shares, means, quantiles and
    ratios do. What a mechanism chooses on answers only narrows intervals, and is left out.

    Raises:
        QuestionError: a question does not suit the columns.
    """
    spec = prepared.spec
    if not questions:
        return
    transcript, complete = foreseen(prepared.ask, prepared.plan)
    shown = published_part(transcript, prepared.codec, spec.released_columns)
    asking = Questioning(spec, Estimator.of(shown))
    for question in [asking.bound(text) for text in questions]:
        yield _precision(asking, question, complete=complete)


def epsilon_for(prepared: Prepared, question: str, half_width: float) -> Fraction | None:
    """About the least epsilon at which the question's intervals are that narrow; None if none is.

    Raises:
        QuestionError: the question does not suit the columns.
    """

    def excess(epsilon: Fraction) -> float:
        try:
            (found,) = precisions(at_epsilon(prepared, epsilon), [question])
        except PlanRefused:
            return inf
        if found.half_width is None:
            return inf
        return found.half_width / half_width if half_width else inf

    privacy = prepared.spec.privacy
    return least_epsilon(excess, privacy.epsilon, delta=privacy.delta)


def _precision(asking: Questioning, question: Question, *, complete: bool) -> Precision:
    try:
        found = asking.answer(question, confidence=CONFIDENCE).answers
    except QuestionError as error:
        chosen = "" if complete else " before something is chosen on answers"
        return Precision(question=question.text, half_width=None, reason=f"{error}{chosen}")
    widths = [
        (one.high - one.low) / 2
        for one in found
        if one.high is not None and one.low is not None and isfinite(one.estimate)
    ]
    if len(widths) < len(found):
        return Precision(
            question=question.text,
            half_width=None,
            reason="the noise would hide whether a group has any records",
        )
    return Precision(question=question.text, half_width=max(widths))
