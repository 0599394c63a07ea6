"""What can be learnt from a release: questions that suit its columns, with their answers."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import isfinite

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.transcript import Transcript
from hallmark.schemas.columns.columns import DateColumn, NumericColumn
from hallmark.schemas.documents.audit_questions import (
    AnsweredQuestion,
    Correlations,
    GroupAnswer,
    Learnt,
    MeasuredMatrix,
)
from hallmark.schemas.documents.manifest import MEASUREMENTS_FILE
from hallmark.schemas.question import QuestionError, listed
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.questions.answers import finite, meaning
from hallmark.tasks.questions.correlations import Correlation
from hallmark.tasks.questions.questioning import Questioning
from hallmark.tasks.record.kept import kept_needs

CONFIDENCE = 0.95
_MOST_CELLS = 12  # of a column whose cells are groups
_GROUPED = 3  # columns whose cells are groups
_AVERAGED = 3  # columns with means
_MOST_CORRELATED = 30  # columns of the correlation matrix
_SHOWN = 12  # answers to a question: the largest


def learnt(
    spec: ReleaseSpec, codec: TableCodec, transcript: Transcript, records: AnyCodes
) -> Learnt:
    """Answers from the noisy tables in the transcript; none where these answer no such question.

    Beside them stand the answers of the records. Which questions are asked depends on the spec
    alone.
    """
    asking = Questioning(spec, Estimator.of(transcript), records)
    answered = []
    for text in _questions(spec, codec):
        try:
            question = asking.bound(text)
            found = asking.answer(question, confidence=CONFIDENCE)
        except QuestionError:  # not measured
            continue
        told = [
            GroupAnswer(
                group=", ".join(
                    f"{name}: {label}" for name, label in zip(found.by, one.group, strict=True)
                )
                or "all records",
                estimate=one.estimate,
                low=one.low,
                high=one.high,
                of_records=finite(one.of_records),
            )
            for one in found.answers
            if one.low is not None
            and one.high is not None
            and isfinite(one.estimate + one.low + one.high)
        ]
        largest = sorted(told, key=lambda one: -abs(one.estimate))[:_SHOWN]
        if largest:
            answered.append(
                AnsweredQuestion(
                    question=text,
                    basis=meaning(found.answers[0].basis, question),
                    answers=tuple(one for one in told if one in largest),
                    left_out=len(found.answers) - len(largest),
                )
            )
    return Learnt(
        file=MEASUREMENTS_FILE,
        confidence=CONFIDENCE,
        questions=tuple(answered),
        correlations=_correlations(asking),
        needs=tuple(kept_needs(spec, codec, transcript)),
    )


def _correlations(asking: Questioning) -> Correlations | None:
    found = asking.correlations(confidence=CONFIDENCE)
    if not found:
        return None
    ranked = sorted(found, key=lambda one: (not one.is_attenuated, -abs(one.estimate)))
    return Correlations(
        answers=tuple(
            GroupAnswer(
                group=_pair(one),
                estimate=one.estimate,
                low=one.low,
                high=one.high,
                of_records=one.of_records,
            )
            for one in ranked[:_SHOWN]
        ),
        told=len(found),
        attenuated=tuple(_pair(one) for one in ranked if one.is_attenuated),
        estimates=_matrix(found, diagonal=1.0, value=lambda one: one.estimate),
        deviations=_matrix(found, diagonal=None, value=lambda one: one.deviation),
    )


def _matrix(
    found: Sequence[Correlation],
    *,
    diagonal: float | None,
    value: Callable[[Correlation], float],
) -> MeasuredMatrix | None:
    """A number for all pairs of the first columns; columns of many categories are left out."""
    names = dict.fromkeys(name for one in found for name in (one.first, one.second))
    of_column = Counter(name.partition(" = ")[0] for name in names)
    shown = [name for name in names if of_column[name.partition(" = ")[0]] == 1][:_MOST_CORRELATED]
    if len(shown) < 2:
        return None
    known = {frozenset((one.first, one.second)): float(np.clip(value(one), -1, 1)) for one in found}
    rows = tuple(
        tuple(diagonal if a == b else known.get(frozenset((a, b))) for b in shown) for a in shown
    )
    return MeasuredMatrix(columns=tuple(shown), values=rows)


def _pair(one: Correlation) -> str:
    return f"{one.first} x {one.second}"


def _questions(spec: ReleaseSpec, codec: TableCodec) -> Iterator[str]:
    """Cross tables of the first columns with few cells, and means of numbers within their cells."""
    sizes = {one.name: one.attribute.cells for one in codec.codecs}
    groups = [
        name
        for name in spec.released_columns
        if not isinstance(spec.columns[name], NumericColumn | DateColumn)
        and sizes[name] <= _MOST_CELLS
    ][:_GROUPED]
    numbers = [n for n in spec.released_columns if isinstance(spec.columns[n], NumericColumn)]
    for one, other in list(combinations(groups, 2))[:1]:
        yield f"count by {listed([one, other])}"
    for name in numbers[:_AVERAGED]:
        yield f"mean of {listed([name])}" + (f" by {listed(groups[:1])}" if groups else "")
    for name in groups:
        yield f"count by {listed([name])}"
    for name in numbers[:1]:
        yield f"median of {listed([name])}"
