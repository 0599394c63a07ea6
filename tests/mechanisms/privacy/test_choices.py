"""Choices among linear queries: their law, what they cost, and that they are drawn once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import log

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import beta, chisquare

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.privacy.accountant import BudgetExceeded
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.mechanisms.privacy.linear_queries import Block, EachCell, LinearQueries, Matrix
from hallmark.mechanisms.privacy.queries import SCORE_STEPS
from tests.builders.curators import Make, asked, curator_on

FALSE_POSITIVE_RATE = 1e-6  # of each test; OpenDP's entropy cannot be seeded
DRAWS = 1_500
GENEROUS = Budget(epsilon=Fraction(10**6))
RELATIONS = [
    Adjacency(neighbours=Neighbours.REPLACE_ONE),
    Adjacency(neighbours=Neighbours.ADD_REMOVE),
    Adjacency(neighbours=Neighbours.ADD_REMOVE, records=2, person="household"),
]
SHAPE = (3, 2)
CODES = np.array([[0, 0], [1, 1], [1, 0], [2, 1], [2, 1]])
GIVEN = {"codes": CODES, "adjacency": RELATIONS[0], "budget": GENEROUS}


def queries_of(*rows: Sequence[int], unit: int = 1) -> LinearQueries:
    values = Matrix(sparse.csr_array(np.array(rows, dtype=np.int64)))
    return LinearQueries((Block(marginal((0,), (len(rows[0]),)), values),), unit)


QUERIES = LinearQueries(
    (
        Block(marginal((0,), SHAPE), Matrix(sparse.csr_array(np.array([[2, -1, 0], [1, 1, -2]])))),
        Block(marginal((1,), SHAPE), EachCell(2, value=2)),
    ),
    unit=2,
)
ANSWERS = np.array([2 - 2, 1 + 2 - 4, 4, 6])


@dataclass(frozen=True)
class Fixed:
    """The same reference for every choice."""

    reference: tuple[int, ...]
    digest: str = "fixed"

    def __call__(self, chosen: Sequence[int]) -> Counts:
        return np.array(self.reference, dtype=np.int64)


@dataclass(frozen=True)
class Remembering:
    """Moves the reference of a chosen query beyond its answer, so that another one comes next."""

    queries: int
    seen: list[tuple[int, ...]] = field(default_factory=list)
    digest: str = "remembering"

    def __call__(self, chosen: Sequence[int]) -> Counts:
        self.seen.append(tuple(chosen))
        reference = np.zeros(self.queries, dtype=np.int64)
        for position in chosen:
            query = position % self.queries
            reference[query] = SCORE_STEPS * int(ANSWERS[query])
        return reference


@pytest.fixture
def make(ledger_url: str) -> Make:
    """Makes curators on SQLite and on PostgreSQL."""
    return partial(curator_on, ledger_url, **GIVEN)


@pytest.fixture
def make_one(sqlite_url: str) -> Make:
    """The same on SQLite alone, for laws that no database has a part in."""
    return partial(curator_on, sqlite_url, **GIVEN)


def choices(epsilon: Fraction | int, times: int = 1, *, adaptive: bool = False) -> Sequence:
    return (ExponentialMechanism(epsilon=Fraction(epsilon), times=times, adaptive=adaptive),)


def law(reference: Sequence[int], factor: float) -> np.ndarray:
    """Shares of queries and negations, of scores in units of 1/(SCORE_STEPS unit) records."""
    misfits = SCORE_STEPS * ANSWERS - np.array(reference)
    scores = np.concatenate([misfits, -misfits]) / SCORE_STEPS
    weights = np.exp(factor * (scores - scores.max()))
    return weights / weights.sum()


@pytest.mark.parametrize(
    "adjacency",
    [RELATIONS[0], pytest.param(RELATIONS[1], marks=pytest.mark.slow), RELATIONS[2]],
    ids=str,
)
def test_choices_follow_the_exponential_law_of_misfits_in_both_directions(
    make_one: Make, adjacency: Adjacency
) -> None:
    reference = (1500, -400, 3000, 6500)  # answers are above, below, above and below
    sensitivity = QUERIES.sensitivity(adjacency)
    epsilon = Fraction(3 * sensitivity, 2)
    assert sensitivity == {0: 3, 1: 2, 2: 4}[RELATIONS.index(adjacency)]
    drawn = make_one(adjacency=adjacency).choices(
        "law", QUERIES, Fixed(reference), choices(epsilon, DRAWS)
    )
    observed = np.bincount(drawn, minlength=8)
    factor = 3 / 4  # epsilon / (2 sensitivity)
    assert chisquare(observed, DRAWS * law(reference, factor)).pvalue > FALSE_POSITIVE_RATE
    # Forgetting the factor two, the unit of the values, or the steps of the reference.
    wrong_steps = tuple(r // 2 for r in reference)
    for twin in (law(reference, 2 * factor), law(reference, factor / 2), law(wrong_steps, factor)):
        assert chisquare(observed, DRAWS * twin).pvalue < FALSE_POSITIVE_RATE


def test_every_question_is_told_all_earlier_choices(make_one: Make) -> None:
    question = Remembering(QUERIES.size)
    chosen = make_one().choices("path", QUERIES, question, choices(10_000, 3))
    assert chosen == [3, 2, QUERIES.size + 1]  # answers 6, 4 and -1: the worst fit comes first
    assert question.seen == [(), (3,), (3, 2)]


@dataclass(frozen=True)
class Failing(Fixed):
    """Has no reference after this many choices."""

    after: int = 0

    def __call__(self, chosen: Sequence[int]) -> Counts:
        if len(chosen) == self.after:
            raise ZeroDivisionError
        return super().__call__(chosen)


@pytest.mark.parametrize(("after", "charges"), [(0, 0), (2, 1)])
def test_choices_that_a_failing_question_may_reveal_are_charged(
    make_one: Make, after: int, charges: int
) -> None:
    curator = make_one()
    with pytest.raises(ZeroDivisionError):
        curator.choices("call", QUERIES, Failing((0,) * 4, after=after), choices(1, 3))
    assert curator.ledger.events("r") == choices(1, 3) * charges


def test_events_of_several_kinds_are_drawn_one_after_the_other(make_one: Make) -> None:
    question = Remembering(QUERIES.size)
    events = (*choices(10_000, 2), *choices(Fraction(1, 1000), 1))
    chosen = make_one().choices("path", QUERIES, question, events)
    assert chosen[:2] == [3, 2]
    assert len(chosen) == len(question.seen) == 3


def test_choices_are_charged_as_stated_and_logged_as_one_call(make: Make) -> None:
    curator = make()
    events = (*choices(Fraction(1, 3), 4), *choices(2, 1, adaptive=True))
    curator.choices("path", QUERIES, Remembering(QUERIES.size), events)
    assert curator.ledger.events("r") == events
    (call,) = curator.ledger.calls("r")
    assert call.call == "path"
    curator.ledger.verify("people")


def test_asked_again_choices_are_read_back_and_nothing_is_counted(make: Make) -> None:
    first = make().choices("path", QUERIES, Remembering(QUERIES.size), choices(1, 50))
    replay, question = make(), Remembering(QUERIES.size)
    assert replay.choices("path", QUERIES, question, choices(1, 50)) == first
    assert asked(replay) == 0
    assert question.seen == []
    assert len(replay.ledger.calls("r")) == 1


def test_a_logged_path_is_of_its_queries_question_events_and_total(make_one: Make) -> None:
    make_one().choices("path", QUERIES, Fixed((0,) * 4), choices(1, 2))
    other = LinearQueries(QUERIES.blocks, unit=3)
    for queries, question, events, codes in (
        (other, Fixed((0,) * 4), choices(1, 2), CODES),
        (QUERIES, Fixed((0,) * 4, digest="another"), choices(1, 2), CODES),
        (QUERIES, Fixed((0,) * 4), choices(2, 2), CODES),
        (QUERIES, Fixed((0,) * 4), choices(1, 3), CODES),
        (QUERIES, Fixed((0,) * 4), choices(1, 2, adaptive=True), CODES),
        (QUERIES, Fixed((0,) * 4), choices(1, 2), CODES[1:]),
    ):
        with pytest.raises(LedgerError, match="path"):
            make_one(codes=codes).choices("path", queries, question, events)
    assert len(make_one().ledger.calls("r")) == 1


def test_choices_beyond_the_budget_are_refused_before_anything_is_counted(make: Make) -> None:
    curator, question = make(budget=Budget(epsilon=Fraction(1))), Remembering(QUERIES.size)
    with pytest.raises(BudgetExceeded, match="would cost more than the reserved"):
        curator.choices("path", QUERIES, question, choices(Fraction(1, 10), 11))
    assert asked(curator) == 0
    assert question.seen == []
    assert curator.ledger.calls("r") == []
    curator.choices("path", QUERIES, question, choices(Fraction(1, 10), 10))
    with pytest.raises(BudgetExceeded):
        curator.choices("more", QUERIES, question, choices(Fraction(1, 10)))


def test_constant_queries_of_a_public_total_cannot_be_chosen_among(make_one: Make) -> None:
    with pytest.raises(ValueError, match="sensitivity of at least 1"):
        make_one(codes=np.array([[0], [1]])).choices(
            "path", queries_of([3, 3]), Fixed((0,)), choices(1)
        )


def loss_at_least(draws: list[int], neighbours_draws: list[int], outcome: int) -> float:
    """Lower bound on the privacy loss of an outcome, wrong once in 1 / FALSE_POSITIVE_RATE."""
    n, level = len(draws), FALSE_POSITIVE_RATE / 2
    hits, others = draws.count(outcome), neighbours_draws.count(outcome)
    least = beta.ppf(level, hits, n - hits + 1)
    most = beta.ppf(1 - level, others + 1, n - others)
    return log(least / most)


def test_an_audit_finds_no_loss_above_epsilon_and_does_so_without_the_factor_two(
    make_one: Make,
) -> None:
    # One record, two cells: the first query gains what the other four lose. The reference lies so
    # low that negations are as good as never chosen, so these five are the candidates.
    queries = queries_of([0, 1], [1, 0], [1, 0], [1, 0], [1, 0])
    question = Fixed((-100 * SCORE_STEPS,) * 5)
    one, other = np.array([[1]]), np.array([[0]])

    def loss(stated: str, epsilon: int, times: int) -> float:
        draws = [
            make_one(codes=codes, release=f"{stated}-{name}").choices(
                "audit", queries, question, choices(epsilon, times)
            )
            for name, codes in (("one", one), ("other", other))
        ]
        return loss_at_least(draws[0], draws[1], outcome=0)

    # With so many draws, chance alone breaks either lower limit less often than 1e-8.
    assert 0.5 < loss("right", 2, times=1_200) <= 2  # the exact loss is 1.57
    # Scale sensitivity / 2 instead of 2 sensitivity / 2: the exact loss is 2.99.
    assert loss("broken", 4, times=2_700) > 2
