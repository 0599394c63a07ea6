"""DQRS: the law of a plain transcription, and what is drawn anew. The rest: adaptive methods."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import ks_2samp

from hallmark.mechanisms.linear_queries.peers.dqrs import plan_dqrs, slack
from hallmark.mechanisms.linear_queries.peers.dual_query import (
    DualPath,
    drawn_evenly,
    plan_dual_query,
)
from hallmark.mechanisms.privacy.budget import Budget
from tests.mechanisms.linear_queries.adaptive_runs import (
    bits,
    curator,
    error,
    finished,
    planned,
    ways,
)

SMALL = ways((2, 2, 2), 2)
SIZE = SMALL.queries.size


def test_slack_falls_as_the_cube_root_of_the_square() -> None:
    for earlier in range(1, 1000):
        assert 2**-0.5 <= float(slack(earlier)) / earlier ** (-2 / 3) <= 2**0.5


def test_draws_are_those_that_the_learning_rate_makes_likely() -> None:
    method = planned(plan_dqrs, SMALL, expected=10_000)
    rate = method.learning_rate
    for earlier, most in enumerate(method.draws, start=1):
        anew = 60 * (1 - np.exp(-float(slack(earlier)) - rate))
        assert anew <= most <= anew + np.sqrt(anew) + 1.5
    fresh = planned(plan_dual_query, SMALL, expected=10_000, rounds=method.rounds)
    assert method.learning_rate > 1.2 * fresh.learning_rate
    assert method.parameters["drawn_anew_at_most"] == sum(method.draws)


def transcribed(codes: np.ndarray, method, rng: np.random.Generator) -> float:
    """DQRS with floats: the largest misfit of the records of all rounds."""
    matrix = np.stack([SMALL.values(query) for query in range(SIZE)])
    signed = np.concatenate([matrix, -matrix])
    truth = signed @ np.bincount(codes @ [4, 2, 1], minlength=8) / len(codes)
    held, records, weights = list(drawn_evenly(SMALL, method.samples)), [], np.zeros(2 * SIZE)
    for most in (*method.draws, None):
        records.append(int(np.argmax(signed[held].sum(axis=0))))
        if most is None:
            break
        latest = truth - signed[:, records[-1]]
        weights += method.learning_rate * latest
        law = np.exp(weights - weights.max())
        exponents = float(slack(len(records))) + method.learning_rate * (1 - latest[held])
        anew = np.flatnonzero(rng.random(len(held)) >= np.exp(-exponents))[:most]
        for place in anew:
            held[place] = int(rng.choice(2 * SIZE, p=law / law.sum()))
    return float((truth - signed[:, records].mean(axis=1)).max())


@pytest.mark.slow
def test_errors_have_the_law_of_a_plain_transcription(tmp_path) -> None:
    codes, runs = bits(1000, 3), 20
    budget = Budget(epsilon=Fraction(3), delta=Fraction(1, 10**5))
    method = planned(plan_dqrs, SMALL, budget=budget, rounds=12, samples=6)
    ours = []
    for run in range(runs):
        folder = tmp_path / str(run)
        folder.mkdir()
        asked = curator(folder, codes, method)
        ours.append(error(SMALL, codes, finished(method, method.ask(asked), asked).answers()))
    rng = np.random.default_rng(5)
    plain = [transcribed(codes, method, rng) for _ in range(8 * runs)]
    assert ks_2samp(ours, plain).pvalue > 1e-6  # the false positive rate, or less: many ties
    at_chance = [transcribed(codes, replace(method, epsilon=Fraction(1, 10**9)), rng)
                 for _ in range(8 * runs)]  # fmt: skip
    assert ks_2samp(ours, at_chance).pvalue < 1e-6


def test_the_latest_record_is_the_one_that_was_added() -> None:
    path = DualPath(SMALL, 3)
    for query in (0, 5, 7, 2, 2, 9):
        before, rounds = path.answers(), round(1 / path.shares()[path.shares() > 0].min())
        path.move(query, 1)
    sums = path.answers() * 3
    np.testing.assert_allclose(sums - path.latest(), before * 2)
    assert rounds == 2
