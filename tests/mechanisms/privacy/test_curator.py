"""The curator: every answer is logged before it is given, charged once, and then read back."""

import os
import signal
import time
from dataclasses import replace
from fractions import Fraction
from functools import partial
from multiprocessing import get_context

import numpy as np
import pytest
from scipy.stats import binom
from sqlalchemy import NullPool, create_engine, text

from hallmark.mechanisms.privacy.accountant import BudgetExceeded, fits
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.calibration import gaussian_sigma2
from hallmark.mechanisms.privacy.cells import ArrayCounter, marginal
from hallmark.mechanisms.privacy.curator import Curator
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from hallmark.mechanisms.privacy.ledger.ledger import Ledger, LedgerError
from hallmark.mechanisms.privacy.queries import GaussianNoise, HistogramQuery, L1Score, LaplaceNoise
from hallmark.mechanisms.privacy.transforms import LevelSums
from tests.builders.curators import Make, asked, curator_on
from tests.mechanisms.privacy.test_noise import goodness_of_fit

FALSE_POSITIVE_RATE = 1e-6
SHAPE = (4, 3)
REPLACE = Adjacency(neighbours=Neighbours.REPLACE_ONE)
BUDGET = Budget(epsilon=Fraction(1), delta=Fraction(1, 10**6))
MANY = np.tile([[0, 0], [1, 2], [3, 1], [3, 1], [2, 0]], (100_000, 1))
CODES = np.array([[0, 0], [1, 2], [3, 1], [3, 1], [2, 0]])


@pytest.fixture
def make(ledger_url: str) -> Make:
    """Makes curators on SQLite and on PostgreSQL."""
    return partial(curator_on, ledger_url, codes=CODES, adjacency=REPLACE, budget=BUDGET)


def laplace(scale: int, column: int = 0) -> HistogramQuery:
    return HistogramQuery(marginal((column,), SHAPE), LaplaceNoise(Fraction(scale)))


def test_an_answer_is_the_exact_histogram_plus_integer_noise(make: Make) -> None:
    generous = Budget(epsilon=Fraction(10**6))
    tiny = LaplaceNoise(Fraction(1, 1000))  # so little that it is 0 but once in e^1000
    queries = [
        HistogramQuery(marginal((0, 1), SHAPE), tiny),
        HistogramQuery(marginal((0,), SHAPE), tiny, LevelSums(1)),
    ]
    table, halves = make(budget=generous).histograms("all", queries)
    assert table.dtype == np.int64
    assert table.reshape(SHAPE)[3, 1] == 2
    assert table.sum() == 5
    assert halves.tolist() == [2, 3]


def test_every_entry_has_noise_of_the_law_that_is_charged(sqlite_url: str) -> None:
    """Empty tables, so that what is answered is the noise; a quarter less of it is found out."""
    budget = replace(BUDGET, epsilon=Fraction(10))
    empty = np.zeros((0, 1), dtype=np.int64)
    curator = curator_on(sqlite_url, codes=empty, adjacency=REPLACE, budget=budget)
    cells = marginal((0,), (20_000,))
    noises = LaplaceNoise(Fraction(3)), GaussianNoise(Fraction(18))  # of about the same variance
    tables = curator.histograms("both", [HistogramQuery(cells, noise) for noise in noises])
    laws = {
        3: lambda z: -np.abs(z) / 3,
        2.6: lambda z: -np.abs(z) / 2.6,
        18: lambda z: -(z**2) / 36,
        13.5: lambda z: -(z**2) / 27,
    }
    for table, right in zip(tables, (3, 18), strict=True):
        for parameter, law in laws.items():
            agrees = goodness_of_fit(table, law) > FALSE_POSITIVE_RATE
            assert agrees == (parameter == right)


def test_tables_of_different_noise_come_back_in_the_order_they_were_asked(
    make: Make,
) -> None:
    tiny = [LaplaceNoise(Fraction(1, 1000)), LaplaceNoise(Fraction(1, 1001))]
    queries = [HistogramQuery(marginal((i % 2,), SHAPE), tiny[i // 2 % 2]) for i in range(5)]
    answers = make(budget=Budget(epsilon=Fraction(10**6))).histograms("mixed", queries)
    rows, columns = [1, 1, 1, 2], [2, 2, 1]
    assert [answer.tolist() for answer in answers] == [rows, columns, rows, columns, rows]


def test_asked_again_the_curator_reads_the_log_and_counts_nothing(
    make: Make,
) -> None:
    curator = make()
    first = curator.histograms("call", [laplace(2)])
    again = [make().histograms("call", [laplace(2)]) for _ in range(3)]
    assert all(np.array_equal(first[0], other[0]) for other in again)
    assert len(curator.ledger.calls("r")) == 1
    replay = make()
    replay.histograms("call", [laplace(2)])
    assert asked(replay) == 0


def test_a_call_name_cannot_be_used_for_another_question(make: Make) -> None:
    make().histograms("call", [laplace(2)])
    for other in ([laplace(3)], [laplace(2, column=1)], [laplace(2), laplace(2)]):
        with pytest.raises(LedgerError, match="call"):
            make().histograms("call", other)
    assert len(make().ledger.calls("r")) == 1


def test_an_answer_is_not_given_for_a_table_of_another_size(make: Make) -> None:
    """Else old answers with a new public total would make a false certificate."""
    make().histograms("call", [laplace(2)])
    with pytest.raises(LedgerError, match="public number of records"):
        make(codes=CODES[:3]).histograms("call", [laplace(2)])


def test_a_draw_must_fit_what_stands_in_the_ledger_not_what_the_curator_believes(
    make: Make,
) -> None:
    """Another run gave the reservation back and reserved less while this one was counting."""
    curator = make()
    little = Budget(epsilon=Fraction(1, 100))
    curator.ledger.cancel("r", by="another run", reason="test")
    curator.ledger.reserve("people", "r", little, adjacency=REPLACE, binding="less")
    persons = Adjacency(neighbours=Neighbours.REPLACE_ONE, records=3)
    for other in (curator, replace(curator, budget=little, adjacency=persons)):
        with pytest.raises(LedgerError, match="another run of the release has changed its terms"):
            other.histograms("call", [laplace(2)])
    assert curator.ledger.calls("r") == []


def test_a_changed_outcome_is_not_answered(make: Make, sqlite_url: str, ledger_url: str) -> None:
    if ledger_url != sqlite_url:
        pytest.skip("the trigger is dropped in SQLite's way")
    make().histograms("call", [laplace(2)])
    with create_engine(sqlite_url, poolclass=NullPool).begin() as database:
        for (name,) in database.execute(
            text("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        ).all():
            database.execute(text(f"DROP TRIGGER {name}"))
        changed = database.execute(text("UPDATE ledger_measurements SET outcome = X'00'"))
        assert changed.rowcount == 1
    with pytest.raises(LedgerError, match="was changed"):
        make().histograms("call", [laplace(2)])


def test_what_would_overspend_is_refused_before_anything_is_counted(
    make: Make,
) -> None:
    curator = make()
    curator.histograms("first", [laplace(4)])  # epsilon 1/2
    with pytest.raises(BudgetExceeded, match="would cost more than the reserved"):
        curator.histograms("second", [laplace(3)])  # 2/3 more
    assert asked(curator) == 1
    assert len(curator.ledger.calls("r")) == 1
    curator.histograms("second", [laplace(4)])
    assert fits(curator.ledger.events("r"), Budget(epsilon=Fraction(1)))


def test_a_release_without_a_reservation_gets_nothing(make: Make) -> None:
    curator = make()
    curator.ledger.cancel("r", by="test", reason="test")
    with pytest.raises(LedgerError):
        curator.histograms("call", [laplace(4)])
    assert curator.ledger.calls("r") == []


def test_the_charge_is_the_event_of_the_noise_that_was_drawn(make: Make) -> None:
    noise = GaussianNoise(Fraction(500))
    queries = [HistogramQuery(marginal((a,), SHAPE), noise) for a in (0, 1)]
    curator = make()
    curator.histograms("gaussian", queries)
    (event,) = curator.ledger.events("r")
    assert (event.l2_squared, event.unit_moves, event.sigma2, event.times) == (2, 2, 500, 2)  # type: ignore[union-attr]


@pytest.mark.parametrize("relation", list(Neighbours))
def test_the_total_is_told_only_where_all_neighbours_share_it(
    make: Make, relation: Neighbours
) -> None:
    curator = make(adjacency=Adjacency(neighbours=relation))
    assert curator.total() == (5 if relation is Neighbours.REPLACE_ONE else None)


def test_a_person_of_several_records_hides_the_total(make: Make) -> None:
    persons = Adjacency(neighbours=Neighbours.REPLACE_ONE, records=3)
    assert make(adjacency=persons).total() is None


CANDIDATES = [
    L1Score(marginal((0,), SHAPE), np.array([1, 1, 1, 2]), penalty=0),
    L1Score(marginal((1,), SHAPE), np.array([2, 2, 1]), penalty=4),
]


def test_a_choice_is_drawn_once_by_exact_scores_at_their_largest_sensitivity(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The law of such a draw is `noise.choose`'s, which test_noise.py holds to it."""
    drawn: list[object] = []

    def choose(scores: list[int], *, sensitivity: int, epsilon: Fraction) -> int:
        drawn.append((scores, sensitivity, epsilon))
        return 1

    monkeypatch.setattr("hallmark.mechanisms.privacy.curator.choose", choose)
    candidates = [CANDIDATES[0], replace(CANDIDATES[1], weight=3)]
    cost = ExponentialMechanism(epsilon=Fraction(1, 7))
    for _ in range(2):
        assert make().choose("call", candidates, cost) == 1
    assert drawn == [([0, -12], 6, Fraction(1, 7))]
    assert make().ledger.events("r") == (cost,)


@pytest.mark.slow
def test_a_choice_follows_the_exponential_mechanism(sqlite_url: str) -> None:
    """Scores 0 and -4 at sensitivity 2, epsilon 1: odds e^(1 * 4 / (2 * 2)) = e for the first."""
    budget, cost = Budget(epsilon=Fraction(10**4)), ExponentialMechanism(epsilon=Fraction(1))
    curator = curator_on(sqlite_url, codes=CODES, adjacency=REPLACE, budget=budget)
    draws = 300
    wins = sum(curator.choose(f"call {i}", CANDIDATES, cost) == 0 for i in range(draws))
    share = np.e / (1 + np.e)
    for wrong, plausible in ((share, True), (0.5, False), (np.e**3 / (1 + np.e**3), False)):
        tails = 2 * min(binom.cdf(wins, draws, wrong), binom.sf(wins - 1, draws, wrong))
        assert (tails > FALSE_POSITIVE_RATE) == plausible


def test_candidates_are_counted_in_runs_that_fit_memory_and_scored_alike(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables of 4, 3, 12, 4 and 3 cells, at most 8 at once: runs of 7, 12 and 7 cells."""
    columns = [(0,), (1,), (0, 1), (0,), (1,)]
    candidates = [
        L1Score(marginal(clique, SHAPE), np.arange(np.prod([SHAPE[c] for c in clique])), weight=w)
        for w, clique in enumerate(columns, start=1)
    ]
    whole, parts = make(), make()
    together = whole._scores(candidates)
    assert asked(whole) == 1
    monkeypatch.setattr("hallmark.mechanisms.privacy.curator._CELLS_AT_ONCE", 8)
    assert parts._scores(candidates) == together
    assert asked(parts) == 3
    slow = [
        score(np.bincount(score.cells(CODES), minlength=score.cells.size)) for score in candidates
    ]
    assert together == slow
    cost = ExponentialMechanism(epsilon=Fraction(1, 2))
    assert parts.choose("call", candidates[:3], cost) in range(3)


def test_several_choices_are_drawn_in_turn_among_those_that_are_left(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a draw of `choose` at the largest sensitivity of all; one call, one charge."""
    drawn: list[object] = []

    def choose(scores: list[int], *, sensitivity: int, epsilon: Fraction) -> int:
        drawn.append((scores, sensitivity, epsilon))
        return len(drawn) % len(scores)

    monkeypatch.setattr("hallmark.mechanisms.privacy.curator.choose", choose)
    candidates = [*CANDIDATES, L1Score(marginal((0, 1), SHAPE), np.ones(12, dtype=int), weight=3)]
    scores = [0, -4, candidates[2](np.bincount(candidates[2].cells(CODES), minlength=12))]
    cost = ExponentialMechanism(epsilon=Fraction(1, 7), times=2)
    for _ in range(2):
        assert make().choose_several("call", candidates, cost) == [1, 0]
    assert drawn == [(scores, 6, cost.epsilon), ([scores[0], scores[2]], 6, cost.epsilon)]
    assert make().ledger.events("r") == (cost,)


def test_several_choices_are_read_back_for_the_same_question_alone(make: Make) -> None:
    cost = ExponentialMechanism(epsilon=Fraction(1, 50), times=2)
    chosen = make().choose_several("call", misfits(0, 1), cost)
    assert sorted(chosen) == [0, 1]
    assert make().choose_several("call", misfits(1, 0, off=3), cost) == [1 - i for i in chosen]
    for other in (replace(cost, times=1), replace(cost, epsilon=Fraction(1, 51))):
        with pytest.raises(LedgerError, match="call"):
            make().choose_several("call", misfits(0, 1), other)
    with pytest.raises(LedgerError, match="what was chosen before is no candidate now"):
        make().choose_several(
            "call", [*misfits(0), L1Score(marginal((0, 1), SHAPE), np.zeros(12, dtype=int))], cost
        )


def test_more_choices_than_candidates_are_refused(make: Make) -> None:
    cost = ExponentialMechanism(epsilon=Fraction(1, 50), times=3)
    with pytest.raises(ValueError, match="3 different choices among 2 candidates"):
        make().choose_several("call", misfits(0, 1), cost)
    assert make().ledger.calls("r") == []


def misfits(*columns: int, off: int = 0) -> list[L1Score]:
    """One candidate a column, whose reference has `off` records too many in every cell."""
    return [
        L1Score(marginal((a,), SHAPE), np.bincount(CODES[:, a], minlength=SHAPE[a]) + off)
        for a in columns
    ]


@pytest.mark.parametrize("chosen", [0, 1])
def test_a_choice_is_read_back_where_models_differ_a_little(
    make: Make, monkeypatch: pytest.MonkeyPatch, chosen: int
) -> None:
    """Whatever floating-point arithmetic makes of references, and of who else may be chosen."""
    monkeypatch.setattr("hallmark.mechanisms.privacy.curator.choose", lambda *_, **__: chosen)
    cost = ExponentialMechanism(epsilon=Fraction(1, 50))
    assert make().choose("call", misfits(0, 1), cost) == chosen
    monkeypatch.undo()
    assert make().choose("call", misfits(0, 1, off=3), cost) == chosen
    assert make().choose("call", misfits(1, 0), cost) == 1 - chosen
    assert make().choose("call", misfits(chosen), cost) == 0
    with pytest.raises(LedgerError, match="what was chosen before is no candidate now"):
        make().choose("call", misfits(1 - chosen), cost)
    assert len(make().ledger.calls("r")) == 1


def test_a_choice_is_not_read_back_for_other_records(make: Make) -> None:
    cost = ExponentialMechanism(epsilon=Fraction(1, 50))
    make().choose("call", misfits(0, 1), cost)
    with pytest.raises(LedgerError, match="public number of records differ"):
        make(codes=MANY).choose("call", misfits(0, 1), cost)


def test_candidates_of_one_table_are_refused(make: Make) -> None:
    with pytest.raises(ValueError, match="two candidates score the same table"):
        make().choose("call", misfits(0, 0), ExponentialMechanism(epsilon=Fraction(1, 2)))
    assert make().ledger.calls("r") == []


def test_a_fixed_and_an_adaptive_question_are_not_the_same(make: Make) -> None:
    candidates = [L1Score(marginal((0,), SHAPE), np.array([1, 1, 1, 2]))]
    cost = ExponentialMechanism(epsilon=Fraction(1, 10))
    make().choose("choice", candidates, cost)
    with pytest.raises(LedgerError, match="call"):
        make().choose("choice", candidates, replace(cost, adaptive=True))
    make().histograms("table", [laplace(20)])
    with pytest.raises(LedgerError, match="call"):
        make().histograms("table", [replace(laplace(20), adaptive=True)])
    make().choose("adaptive", candidates, replace(cost, adaptive=True))
    assert [event.adaptive for event in make().ledger.events("r")] == [False, False, True]


def test_adaptive_draws_may_spend_what_sums_prove_and_no_more(
    make: Make,
) -> None:
    """Ten tables that privacy losses alone prove to fit: the last is refused if it is adaptive."""
    sigma2 = gaussian_sigma2(BUDGET, l2_squared=2, unit_moves=2, count=10).value
    query = HistogramQuery(marginal((0,), SHAPE), GaussianNoise(sigma2))
    curator = make()
    for number in range(8):
        curator.histograms(f"call {number}", [query])
    with pytest.raises(BudgetExceeded):
        curator.histograms("call 8", [replace(query, adaptive=True)] * 2)
    assert len(curator.ledger.calls("r")) == 8
    curator.histograms("call 8", [query] * 2)
    assert fits(curator.ledger.events("r"), BUDGET)


def _ask(url: str, started: object) -> None:
    curator = Curator(
        counter=ArrayCounter(MANY),
        ledger=Ledger(url),
        release="r",
        adjacency=REPLACE,
        budget=BUDGET,
    )
    started.set()  # type: ignore[attr-defined]
    curator.histograms("call", [laplace(2)])


@pytest.mark.parametrize("kills", [5, pytest.param(24, marks=pytest.mark.slow)])
def test_killed_anywhere_a_call_leaves_one_charge_with_one_outcome(
    make: Make, ledger_url: str, kills: int
) -> None:
    """The kills fall from before the count to after the answer; the call is then asked again."""
    curator = make()
    context = get_context("fork")
    for delay in np.linspace(0, 0.12, kills):
        started = context.Event()
        process = context.Process(target=_ask, args=(ledger_url, started))
        process.start()
        started.wait(10)
        time.sleep(delay)
        if process.pid is not None and process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert len(curator.ledger.calls("r")) <= 1
    again = [make(codes=MANY).histograms("call", [laplace(2)])[0] for _ in range(3)]
    answers = {tuple(answer.tolist()) for answer in again}
    assert len(answers) == 1
    assert len(curator.ledger.calls("r")) == 1
    curator.ledger.verify("people")
