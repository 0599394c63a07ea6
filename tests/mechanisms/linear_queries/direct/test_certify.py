"""Certificates: misses are counted, and every term is needed."""

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.mechanisms.linear_queries.direct.method import CALL, plan_direct
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from tests.builders.requests import request_on
from tests.mechanisms.linear_queries.direct.cases import (
    ADD,
    BUDGET,
    PERSONS,
    PURE,
    REPLACE,
    histogram,
    noisy,
    quiet,
    records,
    ways,
)

FALSE_POSITIVE_RATE = 1e-6


@pytest.mark.parametrize(
    ("budget", "adjacency", "rows"),
    [(BUDGET, REPLACE, 400), (PURE, REPLACE, 60), (BUDGET, ADD, 150), (PURE, PERSONS, 300)],
)
def test_bounds_miss_no_more_often_than_stated(
    budget: Budget, adjacency: Adjacency, rows: int
) -> None:
    u, codes = ways(4, 2, cells=3), records((3,) * 4, rows)
    truth = u.answers(histogram(codes, u.shape)) / rows
    method = plan_direct(
        u, request_on(u, budget=budget, adjacency=adjacency, expected_records=rows)
    )
    total = rows if adjacency.total_is_public else None
    confidence, runs, misses, tightness = 0.8, 30, 0, []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        answers = noisy(method.strategy.queries, codes, rng)
        # The linear estimate itself is the worst case: a distribution's errors are smaller.
        estimate = method.strategy.estimate
        parts = estimate.pooled([table[None, :] for table in answers])
        parts[()] = np.array([[float(method.records({CALL: answers}, total))]])
        made = estimate.answers(parts)[0] / method.records({CALL: answers}, total)
        found = method.bounds({CALL: answers}, total, made, confidence=confidence, rng=rng)
        errors = np.abs(made - truth)
        misses += bool((errors > found.each).any())
        tightness.append(found.each.max() / errors.max())
        assert sum(found.terms.values()) >= found.each.max() - 1e-12
    # P(more misses | the claim holds) is below the rate; and it is not always far above.
    assert binom.sf(misses - 1, runs, 1 - confidence) > FALSE_POSITIVE_RATE
    assert misses > 0 or not adjacency.total_is_public
    assert np.median(tightness) < 4


def test_too_little_noise_is_caught() -> None:
    """A broken twin that takes the noise for half as large misses too often."""
    u, codes = ways(4, 2, cells=3), records((3,) * 4, 400)
    truth = u.answers(histogram(codes, u.shape)) / 400
    method = plan_direct(u, request_on(u, budget=BUDGET, adjacency=REPLACE, expected_records=400))
    misses = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        answers = noisy(method.strategy.queries, codes, rng)
        estimate = method.strategy.estimate
        parts = estimate.pooled([table[None, :] for table in answers])
        parts[()] = np.array([[400.0]])
        made = estimate.answers(parts)[0] / 400
        found = method.bounds({CALL: answers}, 400, made, confidence=0.8, rng=rng)
        misses += bool((np.abs(made - truth) > found.each / 2).any())
    assert binom.sf(misses - 1, 30, 0.2) < FALSE_POSITIVE_RATE


def test_numbers_far_from_the_truth_are_not_certified() -> None:
    u, codes = ways(4, 2, cells=3), records((3,) * 4, 400)
    truth = u.answers(histogram(codes, u.shape)) / 400
    method = plan_direct(u, request_on(u, budget=BUDGET, adjacency=REPLACE, expected_records=400))
    rng = np.random.default_rng(0)
    answers = noisy(method.strategy.queries, codes, rng)
    made = method.distribution({CALL: answers}, 400, progress=quiet).answers()
    wrong = made + 0.4
    each = method.bounds({CALL: answers}, 400, wrong, confidence=0.9, rng=rng).each
    assert (each >= np.abs(wrong - truth)).all()
    assert (each <= np.maximum(1 - wrong, wrong)).all()  # no more than queries' ranges leave


def test_hardly_any_records_leave_the_range_of_the_queries() -> None:
    u, codes = ways(4, 2, cells=3), records((3,) * 4, 1)
    method = plan_direct(u, request_on(u, budget=BUDGET, adjacency=ADD, expected_records=1))
    rng = np.random.default_rng(0)
    answers = [0 * table for table in noisy(method.strategy.queries, codes, rng)]
    made = method.distribution({CALL: answers}, None, progress=quiet).answers()
    found = method.bounds({CALL: answers}, None, made, confidence=0.9, rng=rng)
    assert list(found.terms) == ["range of the queries, as there may be no records"]
    assert (found.each == np.maximum(1 - made, made)).all()


@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_a_wrong_confidence_is_refused(confidence: float) -> None:
    method = plan_direct(
        ways(4, 2, cells=3),
        request_on(ways(4, 2, cells=3), budget=BUDGET, adjacency=REPLACE, expected_records=9),
    )
    with pytest.raises(ValueError, match=r"certificate\.confidence"):
        method.bounds(
            {CALL: []}, 9, np.zeros(54), confidence=confidence, rng=np.random.default_rng(0)
        )
