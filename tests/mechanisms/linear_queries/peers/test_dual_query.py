"""DualQuery: a plain transcription, and epsilons that grow. The rest: test_adaptive_methods.py."""

import numpy as np
import pytest

from hallmark.mechanisms.linear_queries.peers.dual_query import DualPath, plan_dual_query
from tests.mechanisms.linear_queries.adaptive_runs import (
    planned,
    ways,
)

SMALL = ways((2, 2, 2), 2)
SIZE = SMALL.queries.size


def test_records_answer_the_queries_drawn_best() -> None:
    path, rng = DualPath(SMALL, 3), np.random.default_rng(0)
    matrix = np.stack([SMALL.values(query) for query in range(SIZE)])
    records = [int(np.flatnonzero(path.shares())[0])]
    for _ in range(20):
        drawn = rng.integers(0, SIZE, 3), rng.choice([-1, 1], 3)
        for query, sign in zip(*drawn, strict=True):
            before = path.answers()
            np.testing.assert_allclose(
                before, matrix @ np.bincount(records, minlength=8) / len(records)
            )
            path.move(int(query), int(sign))
        payoff = drawn[1] @ matrix[drawn[0]]
        records.append(int(np.argmax(payoff)))
    np.testing.assert_allclose(path.shares(), np.bincount(records, minlength=8) / 21)


def test_epsilons_are_those_of_exponential_weights() -> None:
    method = planned(plan_dual_query, SMALL, rounds=5, samples=3, expected=700)
    for earlier, event in enumerate(method.choices, start=1):
        # exp(epsilon misfit / 2), misfit in records, is exp(eta misfit) over earlier records.
        assert float(event.epsilon) / 2 * 700 == pytest.approx(method.learning_rate * earlier)
        assert event.times == 3
    assert len(method.choices) == 4
