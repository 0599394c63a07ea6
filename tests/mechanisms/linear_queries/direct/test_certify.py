"""Certificates: misses are counted, and every term is needed."""

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.mechanisms.linear_queries.direct.certify import query_bounds
from hallmark.mechanisms.linear_queries.direct.method import CALL, plan_direct
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from tests.mechanisms.linear_queries.adaptive_runs import (
    ADD,
    BUDGET,
    PERSONS,
    PURE,
    REPLACE,
    planned,
    ways,
)
from tests.mechanisms.linear_queries.direct.cases import histogram, noisy, quiet, records

FALSE_POSITIVE_RATE = 1e-6


U = ways((3,) * 4, 2)


@pytest.mark.parametrize(
    ("budget", "adjacency", "rows"),
    [(BUDGET, REPLACE, 400), (PURE, REPLACE, 60), (BUDGET, ADD, 150), (PURE, PERSONS, 300)],
)
def test_bounds_miss_no_more_often_than_stated_and_half_of_them_do(
    budget: Budget, adjacency: Adjacency, rows: int
) -> None:
    codes = records((3,) * 4, rows)
    truth = U.answers(histogram(codes, U.shape)) / rows
    method = planned(plan_direct, U, budget=budget, adjacency=adjacency, expected=rows)
    total = rows if adjacency.total_is_public else None
    confidence, runs, misses, broken, tightness = 0.8, 20, 0, 0, []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        answers = noisy(method.strategy.queries, codes, rng)
        # The linear estimate itself is the worst case: a distribution's errors are smaller.
        number = method.records({CALL: answers}, total)
        made = method.strategy.estimate.means_of(answers, number)
        found = query_bounds(
            method.measured({CALL: answers}), total, made, confidence=confidence, rng=rng
        )
        errors = np.abs(made - truth)
        misses += bool((errors > found.each).any())
        broken += bool((errors > found.each / 2).any())
        tightness.append(found.each.max() / errors.max())
        assert sum(found.terms.values()) >= found.each.max() - 1e-12
    # P(more misses | the claim holds) is below the rate; and it is not always far above.
    assert binom.sf(misses - 1, runs, 1 - confidence) > FALSE_POSITIVE_RATE
    assert misses > 0 or not adjacency.total_is_public
    assert np.median(tightness) < 4
    # A twin that takes the noise for half as large; what may be no records says more than noise.
    assert binom.sf(broken - 1, runs, 1 - confidence) < FALSE_POSITIVE_RATE or total is None


def test_numbers_far_from_the_truth_are_not_certified() -> None:
    codes = records((3,) * 4, 400)
    truth = U.answers(histogram(codes, U.shape)) / 400
    method = planned(plan_direct, U, expected=400)
    rng = np.random.default_rng(0)
    answers = noisy(method.strategy.queries, codes, rng)
    made = method.distribution({CALL: answers}, 400, progress=quiet).answers()
    wrong = made + 0.4
    each = query_bounds(method.measured({CALL: answers}), 400, wrong, confidence=0.9, rng=rng).each
    assert (each >= np.abs(wrong - truth)).all()
    assert (each <= np.maximum(1 - wrong, wrong)).all()  # no more than queries' ranges leave


def test_hardly_any_records_leave_the_range_of_the_queries() -> None:
    codes = records((3,) * 4, 1)
    method = planned(plan_direct, U, adjacency=ADD, expected=1)
    rng = np.random.default_rng(0)
    answers = [0 * table for table in noisy(method.strategy.queries, codes, rng)]
    made = method.distribution({CALL: answers}, None, progress=quiet).answers()
    found = query_bounds(method.measured({CALL: answers}), None, made, confidence=0.9, rng=rng)
    assert list(found.terms) == ["range of the queries, as there may be no records"]
    assert (found.each == np.maximum(1 - made, made)).all()


@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_a_wrong_confidence_is_refused(confidence: float) -> None:
    method = planned(plan_direct, U, expected=9)
    with pytest.raises(ValueError, match=r"certificate\.confidence"):
        query_bounds(
            method.measured({CALL: []}),
            9,
            np.zeros(54),
            confidence=confidence,
            rng=np.random.default_rng(0),
        )
