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
