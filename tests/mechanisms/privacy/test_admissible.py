"""Choices among the queries that earlier choices leave: their law, and what is refused."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.curator import Curator
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.mechanisms.privacy.linear_queries import Block, EachCell, LinearQueries
from hallmark.mechanisms.privacy.queries import admitted
from tests.builders.curators import curator_on

FALSE_POSITIVE_RATE = 1e-6
CODES = np.array([0, 0, 0, 1, 1, 2, 3, 3, 3, 3])[:, None]
QUERIES = LinearQueries((Block(marginal((0,), (4,)), EachCell(4)),))
EVENT = ExponentialMechanism(epsilon=Fraction(1, 2), times=600)


@dataclass(frozen=True)
class Nothing:
    """Answers are compared with none."""

    digest: str = "nothing"

    def __call__(self, chosen: Sequence[int]) -> np.ndarray:
        return np.zeros(4, dtype=np.int64)


@dataclass(frozen=True)
class Turns:
    """Queries 1 and 3 on even turns, after an odd number of choices all but the last chosen."""

    rest: tuple[bool, ...] = (False, True, False, True)

    def __call__(self, chosen: Sequence[int]) -> np.ndarray:
        if len(chosen) % 2 == 0:
            return np.array(self.rest)
        mask = np.ones(4, dtype=np.bool_)
        mask[chosen[-1] % 4] = False
        return mask

    @property
    def digest(self) -> str:
        return hashlib.sha256(str(self.rest).encode()).hexdigest()


def curator(url: str) -> Curator:
    adjacency = Adjacency(neighbours=Neighbours.ADD_REMOVE)
    budget = Budget(epsilon=Fraction(10_000))
    return curator_on(url, codes=CODES, adjacency=adjacency, budget=budget)


def misfit(chosen: Sequence[int]) -> float:
    """P-value of the even turns' choices under the exponential mechanism among queries 1 and 3."""
    answers = np.array([2, 4, -2, -4])  # of 1 and 3, and of their negations
    expected = np.exp(answers / 4)
    found = [sum(c == p for c in chosen[::2]) for p in (1, 3, 5, 7)]
    return float(chisquare(found, expected / expected.sum() * len(chosen[::2])).pvalue)


def test_choices_follow_the_law_among_what_is_admissible(sqlite_url: str) -> None:
    chosen = curator(sqlite_url).choices("c", QUERIES, Nothing(), [EVENT], Turns())
    assert {c % 4 for c in chosen[::2]} == {1, 3}
    assert all(a % 4 != b % 4 for a, b in zip(chosen[::2], chosen[1::2], strict=True))
    assert misfit(chosen) > FALSE_POSITIVE_RATE
    # Half the noise would not pass.
    rng = np.random.default_rng(0)
    wrong = np.exp(np.array([2, 4, -2, -4]) / 2)
    draws = rng.choice([1, 3, 5, 7], 300, p=wrong / wrong.sum())
    assert misfit(draws.tolist()) < FALSE_POSITIVE_RATE


def test_what_is_admissible_is_part_of_the_question(sqlite_url: str) -> None:
    asked, event = curator(sqlite_url), ExponentialMechanism(epsilon=Fraction(1), times=2)
    first = asked.choices("c", QUERIES, Nothing(), [event], Turns())
    assert asked.choices("c", QUERIES, Nothing(), [event], Turns()) == first
    for other in (None, Turns((True, True, False, True))):
        with pytest.raises(LedgerError):
            asked.choices("c", QUERIES, Nothing(), [event], other)
    assert asked.ledger.events("r") == (event,)


def test_a_choice_among_nothing_is_refused_before_it_is_charged(sqlite_url: str) -> None:
    asked = curator(sqlite_url)
    with pytest.raises(ValueError, match="no query is admissible"):
        asked.choices("c", QUERIES, Nothing(), [EVENT], Turns((False,) * 4))
    with pytest.raises(ValueError, match="shape"):
        asked.choices("c", QUERIES, Nothing(), [EVENT], Turns((True,)))
    assert asked.ledger.events("r") == ()


@dataclass(frozen=True)
class Once:
    """Everything at first, then nothing."""

    digest: str = "once"

    def __call__(self, chosen: Sequence[int]) -> np.ndarray:
        return np.full(4, not chosen)


@dataclass(frozen=True)
class Failing:
    """A question that cannot be asked twice."""

    digest: str = "failing"

    def __call__(self, chosen: Sequence[int]) -> np.ndarray:
        if chosen:
            raise ArithmeticError("a step failed")
        return np.zeros(4, dtype=np.int64)


def test_choices_that_end_early_are_charged_in_full(sqlite_url: str) -> None:
    asked = curator(sqlite_url)
    first = asked.choices("c", QUERIES, Nothing(), [EVENT], Once())
    assert len(first) == 1
    assert asked.choices("c", QUERIES, Nothing(), [EVENT], Once()) == first
    assert asked.ledger.events("r") == (EVENT,)


def test_a_question_that_fails_after_a_choice_leaves_it_charged_and_draws_no_other(
    sqlite_url: str,
) -> None:
    asked = curator(sqlite_url)
    with pytest.raises(ArithmeticError):
        asked.choices("c", QUERIES, Failing(), [EVENT])
    assert asked.ledger.events("r") == (EVENT,)
    first = asked.choices("c", QUERIES, Failing(), [EVENT])
    assert len(first) == 1
    assert asked.choices("c", QUERIES, Failing(), [EVENT]) == first


def test_positions_are_those_of_scores_and_of_their_negations() -> None:
    np.testing.assert_array_equal(admitted(Turns(), (), 4), [1, 3, 5, 7])
    np.testing.assert_array_equal(admitted(None, (), 3), np.arange(6))
