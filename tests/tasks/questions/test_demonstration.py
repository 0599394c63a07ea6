"""What users type who ask about the demonstration: answers, or messages that say what to type."""

from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.schemas.columns.columns import NumericColumn
from hallmark.schemas.loading import load_spec
from hallmark.schemas.question import QuestionError
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.questions.answers import Answer
from hallmark.tasks.questions.questioning import Questioning
from tests.tasks.questions.test_answers import measured

SPEC = load_spec(Path("schemas/examples/rand-hie.yaml"))
DOMAIN = TableCodec.of(SPEC.columns).domain
CODES = np.random.default_rng(5).integers(0, DOMAIN.shape, (2000, len(DOMAIN)), dtype=np.int32)
PAIRS = [marginal(pair, DOMAIN.shape) for pair in combinations(range(len(DOMAIN)), 2)]
TABLES = tuple(measured(cells, CODES, Fraction(100)) for cells in PAIRS)
ASKING = Questioning(SPEC, Estimator(TABLES, len(CODES)), CODES)
NUMERIC = [name for name, one in SPEC.columns.items() if isinstance(one, NumericColumn)]


def answers(question: str) -> tuple[Answer, ...]:
    return ASKING.answer(ASKING.bound(question), confidence=0.95).answers


@pytest.mark.parametrize("column", NUMERIC)
def test_every_decile_of_every_numeric_column_has_an_interval(column: str) -> None:
    for tenths in range(1, 10):
        (found,) = answers(f"quantile 0.{tenths} of {column}")
        assert found.basis == "exact"
        assert found.low is not None
        assert found.high is not None
        assert found.low <= found.estimate <= found.high


# What users typed, and a piece of what they are told; None where they have answers.
TYPED = {
    "count": None,
    "count by idp, hlthg": None,
    "mean of mdvis by hlthp": None,
    "share of hlthp = true where idp = true": None,
    'share of hlthp = "true"': None,
    "quantile 0.9 of mdvis by idp": None,
    "count where mdvis > 3": None,
    "average of mdvis": "did you mean: mean of mdvis",
    "mean(mdvis)": "did you mean: mean of mdvis",
    "MEAN OF mdvis BY idp": "did you mean: mean of mdvis by idp",
    "mean mdvis per idp": "did you mean: mean of mdvis by idp",
    "mean of mdvis if idp == true": "did you mean: mean of mdvis where idp = true",
    "mean of mdvis by idp where hlthp = true": "mean of mdvis where hlthp = true by idp",
    "mean of mdvis where idp = true - mean of mdvis where idp = false": "idp = true minus mean",
    "mean of mdvis where idp = true minus where idp = false": "minus mean of mdvis where idp = fa",
    "what is the total of mdvis?": "did you mean: sum of mdvis",
    "number of records": "did you mean: count",
    "how many people are in poor health?": "write count, or count where CONDITION",
    "count of hlthp = true": "did you mean: count where hlthp = true",
    "table idp by hlthg": "did you mean: count by idp, hlthg",
    "crosstab of idp x hlthg": "did you mean: count by idp, hlthg",
    "count by idp hlthg": "'idp hlthg' is not a column; write commas between columns",
    "distribution of mdvis": "did you mean: count by mdvis",
    "percent of hlthp = true": "did you mean: share of hlthp = true (a share is a number from 0",
    "proportion of hlthp = true by idp": "did you mean: share of hlthp = true by idp",
    "share of hlthp": "hlthp is not a condition; write one such as hlthp = true",
    "share of hlthp = yes": "there is no column yes; hlthp is boolean: write true or false",
    "share of hlthp = 'yes'": "write true or false",
    "mean of hlthp": "hlthp is boolean, so it has no mean; ask for share of hlthp = true",
    "90th percentile of mdvis": "did you mean: quantile 0.90 of mdvis",
    "p5 of mdvis": "is not a statistic",
    "quantile 90% of mdvis": "did you mean: quantile 0.90 of mdvis",
    "iqr of mdvis": "quantile 0.25 of COLUMN and quantile 0.75",
    "max of mdvis": "noise hides single records",
    "mode of mdvis": "count by COLUMN",
    "sd of mdvis": "with_error",
    "standard deviation of mdvis": "with_error",
    "variance of mdvis by idp": "with_error",
    "correlation of mdvis and disea": "correlations()",
    "regress mdvis on disea": "with_error",
    "difference of mdvis by idp": "minus or over",
    "missing of mdvis": "COLUMN is null",
    "columns": "data dictionary",
    "mean of age": "there is no column age",
    'count where mdvis > "3" - "x': "expected",
}


@pytest.mark.parametrize("question", TYPED)
def test_what_users_type_is_answered_or_told_what_to_type(question: str) -> None:
    told = TYPED[question]
    if told is None:
        assert all(one.low is not None for one in answers(question))
        return
    with pytest.raises(QuestionError) as refused:
        answers(question)
    assert told in str(refused.value)
    _, found, suggested = str(refused.value).partition("did you mean: ")
    if found:  # what is suggested has an answer
        assert answers(suggested.partition(" (a share")[0])
