"""Questions as they are written: what is read, and what is refused with which fix."""

from fractions import Fraction

import pytest

from hallmark.schemas.question import QuestionError, Statistic, parse_question
from hallmark.schemas.release_spec import ReleaseSpec
from tests import example

COLUMNS = ReleaseSpec.model_validate(example.spec("table.csv")).columns


def test_every_statistic_is_read():
    read = {
        "count": Statistic("count"),
        "sum of age": Statistic("sum", "age"),
        "mean of age": Statistic("mean", "age"),
        "median of age": Statistic("quantile", "age", probability=Fraction(1, 2)),
        "quantile 0.9 of age": Statistic("quantile", "age", probability=Fraction(9, 10)),
    }
    for text, statistic in read.items():
        assert parse_question(text).first == statistic


def test_conditions_groups_and_comparisons_are_told_apart():
    question = parse_question(
        'share of region = "by where" where age >= 18 over count where age < 18 by region, `by`'
    )
    operator, second = question.compared
    assert question.first.condition.text == 'region = "by where"'
    assert question.first.where.text == "age >= 18"
    assert operator == "over"
    assert (second.kind, second.where.text) == ("count", "age < 18")
    assert question.by == ("region", "by")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cont", "'cont' is not a statistic; write count, share of CONDITION"),
        ("mean of", "'mean of' is not a statistic"),
        ("quantile 2 of age", "'2' is not a number between 0 and 1"),
        ("quantile 1/0 of age", "'1/0' is not a number between 0 and 1"),
        ("count by age by region", "did you mean: count by age, region"),
        ("count by age where age > 3", "did you mean: count where age > 3 by age"),
        ("count by age minus count", "write `by` once, at the end"),
        ("count by age, age", "lists a column twice"),
        ("count by age of region", "'age of region' is not a column"),
        ("count minus count minus count", "compares more than two"),
        ("count where age > 3 where age > 4", "has two `where`"),
        ("count where age >", "age >"),
        ("count where region determines age", "is about several records"),
    ],
)
def test_what_is_no_question_is_refused_with_a_fix(text, told):
    with pytest.raises(QuestionError) as refused:
        parse_question(text)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("count by regoin", "region"),
        ("mean of regoin", "region"),
        ("mean of region", "region is nominal, so it has no mean; ask for shares"),
        ("median of since", "since is date, so it has no quantile"),
        ('count where region = "03"', "'03' is not a category of region"),
        ("count where age >= 18", "age >= 18 cuts a cell of age in two"),
        ("median of age minus median of income", "quantiles are not compared"),
    ],
)
def test_what_does_not_suit_the_columns_is_refused_with_a_fix(text, told):
    with pytest.raises(QuestionError) as refused:
        parse_question(text).bound_to(COLUMNS)
    assert told in str(refused.value)


def test_a_sound_question_can_be_bound():
    text = 'mean of income where age >= 20 and region = "01" by employed, since'
    assert parse_question(text).bound_to(COLUMNS).by == ("employed", "since")
