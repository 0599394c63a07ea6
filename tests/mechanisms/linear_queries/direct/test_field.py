"""Random fields against mirror descent over all cells."""

from dataclasses import replace

import numpy as np
import pytest

from hallmark.mechanisms.graphical_models.query import Query
from hallmark.mechanisms.linear_queries.direct.method import CALL, plan_direct
from tests.mechanisms.linear_queries.adaptive_runs import planned, ways
from tests.mechanisms.linear_queries.direct.cases import noisy, quiet, records


@pytest.mark.parametrize("size", [1, 2])
def test_a_field_answers_as_mirror_descent_does(size: int) -> None:
    u, codes = ways((3,) * 5, size), records((3,) * 5, 4000)
    field = planned(plan_direct, u, expected=4000, estimator="graphical", noise="gaussian")
    answers = noisy(field.strategy.queries, codes, np.random.default_rng(0))
    made = field.distribution({CALL: answers}, 4000, progress=quiet)
    same = replace(field, estimator="likelihood")
    other = same.distribution({CALL: answers}, 4000, progress=quiet)
    difference = np.abs(made.answers() - other.answers()).max()
    assert difference < 0.1 * field.expected_error()[0]
    drawn = made.cells(20_000, np.random.default_rng(1))
    assert drawn.shape == (20_000, 5)
    shares = np.bincount(drawn[:, 0], minlength=3) / 20_000
    np.testing.assert_allclose(shares, Query(made.calibrated).marginal((0,)), atol=1e-3)
