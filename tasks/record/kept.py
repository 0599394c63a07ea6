"""Whether a release kept the needs of its spec, from its published noisy tables alone."""

from collections.abc import Iterator
from math import inf, isfinite

from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.transcript import Transcript
from hallmark.schemas.documents.audit_questions import KeptNeed
from hallmark.schemas.needs import Need
from hallmark.schemas.question import QuestionError
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.output.measurements import published_part
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.questions.answers import Answer
from hallmark.tasks.questions.questioning import Questioning


def kept_needs(spec: ReleaseSpec, codec: TableCodec, transcript: Transcript) -> Iterator[KeptNeed]:
    """Each need with its widest interval. Post-processing of what is published."""
    shown = published_part(transcript, codec, spec.released_columns)
    asking = Questioning(spec, Estimator.of(shown))
    for need in spec.needs:
        yield _kept(asking, need, spec.data.expected_rows)


def _kept(asking: Questioning, need: Need, expected: int) -> KeptNeed:
    told = KeptNeed(
        question=need.question,
        within=float(need.half_width),
        confidence=float(need.confidence),
        stated_by=need.stated_by,
        is_kept=False,
    )
    try:
        question = asking.bound(need.question)
        found = asking.answer(question, confidence=told.confidence)
    except QuestionError as error:
        return told.model_copy(update={"reason": str(error)})
    answering = asking.answering(question)
    least = float(need.smallest_group or 0) * expected
    large = [
        one
        for one, group in zip(found.answers, answering.equations(question), strict=True)
        if answering.records_behind(question, group, at_most=told.confidence) >= least
    ]
    if not large:
        reason = "no group is as large as the smallest that matters, as far as noise tells"
        return told.model_copy(update={"reason": reason})
    widest = max(large, key=_half_width)
    parts = zip(found.by, widest.group, strict=True)
    group = ", ".join(f"{name}: {label}" for name, label in parts) or "all records"
    if not isfinite(_half_width(widest)):
        reason = "the noise hides whether the group has any records"
        return told.model_copy(update={"group": group, "reason": reason})
    return told.model_copy(
        update={
            "is_kept": _half_width(widest) <= told.within,
            "group": group,
            "estimate": widest.estimate,
            "low": widest.low,
            "high": widest.high,
        }
    )


def _half_width(answer: Answer) -> float:
    """Infinite where the noise leaves the answer open."""
    if answer.low is None or answer.high is None or not isfinite(answer.estimate):
        return inf
    return (answer.high - answer.low) / 2
