"""Forecasts of intervals against the intervals of releases, and the epsilon that a width needs."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.transcript import Transcribing
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.schemas.loading import SpecError
from hallmark.schemas.question import QuestionError, parse_question
from hallmark.tasks.forecast.questions import epsilon_for, precisions
from hallmark.tasks.forecast.summary import plan_summary
from hallmark.tasks.planning.prepare import at_epsilon, prepare
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.requested import mechanism_of
from hallmark.tasks.questions.answers import Answering
from tests import example

QUESTION = "count where age < 40 by region"


def prepared(folder: Path, **changes: Any) -> Prepared:
    """One noise for all marginals, which is the quickest to plan."""
    return prepare(example.write(folder, 30, **({"mechanism": {"name": "private-gsd"}} | changes)))


def half_width_of_a_release(of: Prepared, question: str) -> float:
    """Of the widest group, with any answers: the widths of counts do not depend on them."""
    mechanism, codec = mechanism_of(of.spec), of.codec
    codes = np.random.default_rng(1).integers(codec.domain.shape, size=(3000, len(codec.names)))
    curator = SimulatedCurator(
        codes=codes, adjacency=of.plan.adjacency, rng=np.random.default_rng(2)
    )
    transcribing = Transcribing(curator)
    mechanism.measure(transcribing, of.plan, mechanism.select(transcribing, of.plan))
    transcript = transcribing.transcript
    answering = Answering(codec, Estimator.of(transcript))
    bound = parse_question(question).bound_to(of.spec.columns)
    return max((a.high - a.low) / 2 for a in answering.answer(bound, confidence=0.95).answers)


@pytest.mark.parametrize("mechanism", ["private-gsd", "mst"])
def test_counts_are_forecast_as_they_come_out(mechanism: str, tmp_path: Path) -> None:
    of = prepared(tmp_path, mechanism={"name": mechanism})
    question = "count by region"
    (found,) = precisions(of, [question])
    released = half_width_of_a_release(of, question)
    if mechanism == "private-gsd":
        assert found.half_width == pytest.approx(released)
    else:  # what is chosen later narrows the interval
        assert found.half_width is not None
        assert found.half_width >= released


@pytest.mark.slow
def test_the_epsilon_for_a_width_gives_that_width_and_a_little_less_does_not(
    tmp_path: Path,
) -> None:
    of = prepared(tmp_path)
    (now,) = precisions(of, [QUESTION])
    assert now.half_width is not None
    wanted = now.half_width / 2
    epsilon = epsilon_for(of, QUESTION, wanted)
    assert epsilon is not None
    for factor, narrow_enough in ((Fraction(1), True), (Fraction(9, 10), False)):
        (found,) = precisions(at_epsilon(of, factor * epsilon), [QUESTION])
        assert (found.half_width <= wanted) is narrow_enough
    assert epsilon_for(of, QUESTION, 1e-9) is None


def test_what_no_table_tells_is_said_beforehand(tmp_path: Path) -> None:
    of = prepared(tmp_path)
    (three,) = precisions(of, ["count by age, region, employed"])
    assert three.half_width is None
    assert three.reason == "nothing was measured of age x region x employed"
    chosen = prepared(tmp_path / "chosen", mechanism={"name": "mst"})
    (pair,) = precisions(chosen, ["count by region, employed"])
    assert pair.half_width is None
    assert pair.reason.endswith("before something is chosen on answers")


def test_a_group_that_may_be_empty_is_said_beforehand(tmp_path: Path) -> None:
    of = at_epsilon(prepared(tmp_path), Fraction(1, 100))
    (found,) = precisions(of, ["mean of income by age, region"])
    assert found.half_width is None
    (few,) = precisions(of, ["mean of income by age"])
    assert few.reason == "the noise would hide whether a group has any records"


def test_questions_of_the_spec_are_in_the_plan(tmp_path: Path) -> None:
    of = prepared(tmp_path, questions=["count by region", "mean of age by region"])
    told = plan_summary(of)["questions"]
    assert [one["question"] for one in told] == ["count by region", "mean of age by region"]
    assert all(one["half_width"] > 0 for one in told)


def test_a_question_of_the_spec_that_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"questions\[1\].*region is nominal"):
        prepared(tmp_path, questions=["count", "mean of region"])
    with pytest.raises(QuestionError, match="there is no column"):
        list(precisions(prepared(tmp_path), ["count by regoin"]))
