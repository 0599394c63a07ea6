"""Queries that are kept or drawn anew: all odds, the law of what is held, what it is charged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, expm1, log

import numpy as np
import pytest
from scipy.stats import chisquare

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.privacy.accountant import BudgetExceeded, rho
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import merged
from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.mechanisms.privacy.queries import SCORE_STEPS
from hallmark.mechanisms.privacy.refresh import Refresh
from tests.builders.curators import Make, asked
from tests.mechanisms.privacy.test_choices import (
    ANSWERS,
    CODES,
    QUERIES,
    RELATIONS,
    make,
    make_one,
)

__all__ = ["make", "make_one"]

FALSE_POSITIVE_RATE = 1e-6  # of each test; the entropy cannot be seeded
HELD = 4_000
SENSITIVITY = SCORE_STEPS * QUERIES.sensitivity(RELATIONS[0])
PAST = (0, -1, 3, 5)  # references, whole numbers in the queries' own unit
LATEST = (1, 1, 4, 4)


@dataclass(frozen=True)
class Steps:
    """The same rounds for every call."""

    most: int = SCORE_STEPS * 8
    digest: str = "steps"

    def __call__(self, chosen: Sequence[int]) -> Counts:
        return SCORE_STEPS * np.array(PAST, dtype=np.int64)

    def latest(self, chosen: Sequence[int]) -> Counts:
        return SCORE_STEPS * np.array(LATEST, dtype=np.int64)


def refresh(**changes: object) -> Refresh:
    given = {
        "rounds": 3,
        "step": Fraction(1, 2),
        "slack": Fraction(1, 4),
        "queries": HELD,
        "draws": HELD,
    }
    return Refresh(**{**given, **changes})  # type: ignore[arg-type]


def misfits(reference: Sequence[int]) -> np.ndarray:
    signed = ANSWERS - np.array(reference)
    return np.concatenate([signed, -signed])


def law(scores: np.ndarray, epsilon: float) -> np.ndarray:
    weights = np.exp(epsilon * SCORE_STEPS * scores / (2 * SENSITIVITY))
    found: np.ndarray = weights / weights.sum()
    return found


@pytest.mark.parametrize("slack", [Fraction(1, 64), Fraction(1, 4), Fraction(1), Fraction(5)])
@pytest.mark.parametrize("step", [Fraction(1, 1000), Fraction(1, 8), Fraction(3)])
def test_no_neighbours_odds_differ_by_more_than_the_coin_costs(slack, step) -> None:
    one, sensitivity, widest = refresh(slack=slack, step=step), 7, 0.0
    odds = [
        log(expm1(float(one.exponent(lacking, sensitivity))))
        for lacking in range(-3 * sensitivity, 40 * sensitivity)
    ]
    for moved in range(1, sensitivity + 1):
        widest = max(widest, np.abs(np.subtract(odds[moved:], odds[:-moved])).max())
    assert widest <= one.coin.epsilon
    assert widest > one.coin.epsilon / 2 or step > slack  # the bound is a bound on slopes


@pytest.mark.parametrize("slack", [Fraction(1, 64), Fraction(1, 4), Fraction(2)])
def test_divergences_of_coins_are_below_those_of_their_zcdp(slack) -> None:
    one = refresh(slack=slack, step=Fraction(1, 20))
    cost = float(rho([replace(one.coin, times=1)]))
    for lacking in range(60):
        first, second = (exp(-float(one.exponent(at, 6))) for at in (lacking, lacking + 6))
        for p, q in ((first, second), (second, first)):
            for order in (1.01, 2, 10, 100, 1000):
                moments = [
                    order * log(a) + (1 - order) * log(b) for a, b in ((p, q), (1 - p, 1 - q))
                ]
                assert np.logaddexp(*moments) / (order - 1) <= order * cost * (1 + 1e-9)


def test_one_query_is_kept_or_drawn_by_all_rounds(make_one: Make) -> None:
    one, start = refresh(), 2
    held = make_one().refreshed("c", QUERIES, Steps(), [start] * HELD, [one])
    lacking = Steps().most - SCORE_STEPS * int(misfits(LATEST)[start])
    kept = exp(-float(one.exponent(lacking, SENSITIVITY)))
    expected = (1 - kept) * law(misfits(PAST), 3 * float(one.step))
    expected[start] += kept
    assert chisquare(np.bincount(held, minlength=8), HELD * expected).pvalue > FALSE_POSITIVE_RATE


def test_what_had_the_law_of_earlier_rounds_has_the_law_of_all(make_one: Make) -> None:
    """The rejection sampler: weights w before, and w exp(step u / 2S) after."""
    one = refresh(step=Fraction(2))
    before = law(misfits(PAST) - misfits(LATEST) / 3, 6.0)  # rounds 1 and 2 of 3, summed
    after = law(misfits(PAST), 6.0)
    start = np.random.default_rng(1).choice(8, HELD, p=before).tolist()
    held = make_one().refreshed("c", QUERIES, Steps(), start, [one])
    found = np.bincount(held, minlength=8)
    assert chisquare(found, HELD * after).pvalue > FALSE_POSITIVE_RATE
    assert chisquare(found, HELD * before).pvalue < FALSE_POSITIVE_RATE
    lacking = Steps().most - SCORE_STEPS * misfits(LATEST)[start]
    kept = np.mean([exp(-float(one.exponent(int(lack), SENSITIVITY))) for lack in lacking])
    assert kept + (1 - kept) * after.min() < np.mean(np.array(held) == start) < 1


def test_no_more_are_drawn_anew_than_were_paid(make_one: Make) -> None:
    one = refresh(draws=11, slack=Fraction(60))  # all but surely none is kept
    held = np.array(make_one().refreshed("c", QUERIES, Steps(), [7] * HELD, [one]))
    assert (held[11:] == 7).all()
    assert (held[:11] != 7).any()


def test_misfits_beyond_the_public_bound_are_cut(make_one: Make) -> None:
    one = refresh(slack=Fraction(1, 64), draws=HELD)
    held = make_one().refreshed("c", QUERIES, Steps(most=-(10**9)), [1] * HELD, [one])
    kept = np.mean(np.array(held) == 1)
    drawn = law(misfits(PAST), 3 * float(one.step))[1]
    expected = exp(-1 / 64) + (1 - exp(-1 / 64)) * drawn
    assert abs(kept - expected) < 5 * (expected * (1 - expected) / HELD) ** 0.5  # 6e-7


def test_the_call_is_charged_what_its_refreshes_say_and_drawn_once(make: Make) -> None:
    rounds = [refresh(queries=3, draws=2, rounds=t) for t in (1, 2)]
    curator = make()
    first = curator.refreshed("c", QUERIES, Steps(), [0, 1, 2], rounds)
    assert len(first) == 6
    charged = merged(event for one in rounds for event in one.events)
    assert set(merged(curator.ledger.events("r"))) == set(charged)
    assert curator.refreshed("c", QUERIES, Steps(), [0, 1, 2], rounds) == first
    assert asked(curator) == 1
    for other in (
        ("c", QUERIES, Steps(), [0, 1, 3], rounds),
        ("c", QUERIES, Steps(digest="other"), [0, 1, 2], rounds),
        ("c", QUERIES, Steps(), [0, 1, 2], [replace(one, slack=Fraction(1)) for one in rounds]),
    ):
        with pytest.raises(LedgerError, match="c"):
            curator.refreshed(*other)


def test_nothing_is_kept_without_slack_or_held_without_a_charge(make_one: Make) -> None:
    with pytest.raises(ValueError, match="slack must be positive, not 0"):
        refresh(slack=Fraction(0))
    curator = make_one()
    with pytest.raises(ValueError, match="3 queries are held, but a refresh is charged for others"):
        curator.refreshed("c", QUERIES, Steps(), [0, 1, 2], [refresh(queries=2)])
    assert asked(curator) == 0


def test_what_would_overspend_is_refused_before_anything_is_counted(make_one: Make) -> None:
    curator = make_one(budget=Budget(epsilon=Fraction(1)), codes=CODES)
    with pytest.raises(BudgetExceeded):
        curator.refreshed("c", QUERIES, Steps(), [0] * HELD, [refresh()])
    assert asked(curator) == 0
