"""AIM: what schedules cost under every relation, the candidates of a round, and replays."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hallmark.mechanisms.domain.cliques import Clique, cells
from hallmark.mechanisms.marginals.selection import aim
from hallmark.mechanisms.marginals.selection.aim import AimDesign, Round, plan_aim
from hallmark.mechanisms.marginals.selection.design import Effort
from hallmark.mechanisms.privacy.accountant import BudgetExceeded, fits, rho
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import DiscreteGaussian
from tests.mechanisms.marginals.selection.runs import (
    ADD,
    ALL,
    BUDGET,
    PERSONS,
    REPLACE,
    SHAPE,
    PlainModeller,
    Watching,
    curator_of,
    designed,
    run,
    table,
)

make = partial(designed, plan_aim)

# Schedules, without any data


def schedule(design: AimDesign, anneals: Callable[[int], bool]) -> list[Round]:
    """Rounds of a run whose noise is halved after the rounds that `anneals` names."""
    left, noise, played = design.rho - design.opening_rho, design.opening, []
    while True:
        noise, last = design.round(len(played) + 1, left, noise)
        played.append(noise)
        left -= noise.rho
        if last:
            return played
        if anneals(len(played)):
            noise = noise.annealed


def charged(design: AimDesign, rounds: Sequence[Round], l2_squared: float) -> float:
    """The sum of rho from first principles, in floats: columns, choices and marginals."""
    ones = len(design.domain) * l2_squared / (2 * float(design.opening.sigma2))
    return ones + sum(
        float(r.epsilon) ** 2 / 8 + l2_squared / (2 * float(r.sigma2)) for r in rounds
    )


@pytest.mark.parametrize("adjacency", ALL)
@pytest.mark.parametrize("cap", [None, 1, 3, 40])
@settings(max_examples=25)
@given(pattern=st.lists(st.booleans(), min_size=1, max_size=80))
def test_every_schedule_costs_rho_to_the_last_unit(
    adjacency: Adjacency, cap: int | None, pattern: list[bool]
) -> None:
    design = make(adjacency=adjacency, **({} if cap is None else {"rounds_cap": cap}))
    rounds = schedule(design, lambda number: pattern[number % len(pattern)])
    assert design.opening_rho + sum(r.rho for r in rounds) == design.rho
    squared = {REPLACE: 2, ADD: 1, PERSONS: 9}[adjacency]
    assert charged(design, rounds, squared) == pytest.approx(float(design.rho), abs=1e-9)
    assert len(rounds) <= (cap or 10**9)
    assert all(r.sigma2 > 0 and r.epsilon > 0 for r in rounds)


def test_a_forgotten_root_of_two_is_seen_in_the_sum() -> None:
    """The fault of a published program: noise of add/remove is charged as if for replace-one."""
    wrong = make(adjacency=ADD)
    rounds = schedule(wrong, lambda number: False)
    true = charged(wrong, rounds, l2_squared=2)
    assert true == pytest.approx(1.9 * float(wrong.rho), rel=0.01)
    doubled = [
        DiscreteGaussian(l2_squared=2, sigma2=r.sigma2, unit_moves=2, adaptive=True) for r in rounds
    ]
    assert not fits(doubled, BUDGET)


def test_a_forgotten_root_of_two_is_refused_by_the_curator(url: str) -> None:
    """A design of one relation, asked under the other, runs into the budget and not past it."""
    curator = curator_of(url, table(), REPLACE)
    with pytest.raises(BudgetExceeded):
        run(make(adjacency=ADD), curator)
    assert fits(curator.ledger.events("r"), BUDGET)


def test_a_run_that_never_anneals_has_equal_rounds_and_a_last_one() -> None:
    design = make()
    rounds = schedule(design, lambda number: False)
    assert design.planned_rounds == 64
    # 64 parts, of which the columns take 0.9 each; the last round takes what is left.
    assert len(rounds) == 60
    assert len(set(rounds[:-1])) == 1
    first = rounds[0]
    assert float(first.sigma2) == pytest.approx(2 * 64 / (2 * 0.9 * float(design.rho)), rel=1e-5)
    assert float(first.epsilon) == pytest.approx(sqrt(8 * 0.1 * float(design.rho) / 64), rel=1e-5)
    assert rounds[-1].rho >= first.rho
    assert rounds[-1].rho < 2 * first.rho


def test_annealing_halves_the_noise_and_ends_the_run_early() -> None:
    rounds = schedule(make(), lambda number: True)
    assert [r.sigma2 * 4 for r in rounds[1:-1]] == [r.sigma2 for r in rounds[:-2]]
    assert [r.epsilon for r in rounds[1:-1]] == [2 * r.epsilon for r in rounds[:-2]]
    assert len(rounds) < 6


@pytest.mark.parametrize("cap", [1, 2, 7])
def test_a_cap_cuts_the_budget_into_fewer_parts_and_leaves_nothing(cap: int) -> None:
    design = make(rounds_cap=cap)
    rounds = schedule(design, lambda number: False)
    assert len(rounds) == cap
    assert max(r.rho for r in rounds) < 2 * min(r.rho for r in rounds)
    assert make(rounds_cap=10**6).planned_rounds == make().planned_rounds


@pytest.mark.parametrize("adjacency", ALL)
def test_events_bound_every_run_and_just_fit_the_budget(adjacency: Adjacency) -> None:
    design = make(adjacency=adjacency)
    assert rho(design.events) == design.rho
    assert fits(design.events, BUDGET)
    ones, *rounds = design.events
    assert not ones.adaptive
    assert all(event.adaptive for event in rounds)
    dearer = replace(design, rho=design.rho * Fraction(10_002, 10_000))
    assert not fits(dearer.events, BUDGET)


# Runs


@pytest.mark.parametrize("adjacency", ALL)
def test_noise_is_halved_after_each_round_of_a_model_that_learns_nothing(
    url: str, adjacency: Adjacency
) -> None:
    design, curator = make(adjacency=adjacency), curator_of(url, table(), adjacency)
    answers = run(design, curator, PlainModeller(design.domain, stubborn=True))
    events = curator.ledger.events("r")
    assert rho(events) == design.rho
    assert fits(events, BUDGET)
    assert answers[5].asked.sigma2 * 4 == answers[4].asked.sigma2
    assert len(answers) < 4 + 6


def test_a_run_without_a_cap_ends_when_the_budget_does(url: str) -> None:
    design = make(3, 3)
    curator = curator_of(url, table()[:, :2])
    answers = run(design, curator)
    assert rho(curator.ledger.events("r")) == design.rho
    assert len(answers) - 2 <= 31
    calls = [call.call for call in curator.ledger.calls("r")]
    rounds = range(1, len(answers) - 1)
    named = [f"round-{number}-{what}" for number in rounds for what in ("choice", "marginal")]
    assert calls == ["marginals", *named]


def test_weights_are_the_attributes_shared_with_the_workload() -> None:
    workload = [
        {"columns": ["c0", "c1"], "weight": 2},
        {"columns": ["c1", "c2", "c3"], "weight": 0.5},
    ]
    design = make(workload=workload)
    expected = [
        2 * len({0, 1} & set(clique)) + 0.5 * len({1, 2, 3} & set(clique))
        for clique in design.candidates
    ]
    assert np.array(design.weights) / np.array(expected) == pytest.approx(2)
    assert set(design.candidates) == {
        (0,), (1,), (2,), (3,), (0, 1), (1, 2), (1, 3), (2, 3), (1, 2, 3)
    }  # fmt: skip


def test_models_grow_with_the_budget_spent_and_never_past_what_is_admitted(url: str) -> None:
    shares: list[float] = []

    def limit(cliques: Sequence[Clique], share: float) -> bool:
        shares.append(share)
        return cells(cliques[-1], SHAPE) <= 6 * share

    design = make(rounds_cap=5)
    curator = curator_of(url, table(), kind=Watching)
    answers = run(design, curator, PlainModeller(design.domain, limit))
    assert all(0 < share <= 1 for share in shares)
    assert shares == sorted(shares)
    assert max(shares) == 1
    spent = design.opening_rho + design.opening.rho
    assert min(shares) == float(spent / design.rho)
    for number, (_, candidates, _) in enumerate(curator.choices, start=1):
        offered = {c.cells.columns for c in candidates}
        assert {(0,), (1,), (2,), (3,)} <= offered  # parts of the model make it no larger
        assert (0, 1) not in offered  # nine cells
        assert ((0, 2) in offered) == (number == len(curator.choices))  # six, of six in the end
    assert all(cells(answer.asked.clique, SHAPE) <= 6 for answer in answers)


# What is told


def test_columns_that_the_workload_leaves_out_are_measured_all_the_same() -> None:
    design = make(workload=[{"columns": ["c0", "c1"]}])
    assert [a.clique for a in design.first] == [(0,), (1,), (2,), (3,)]
    assert design.largest == ((0,), (1,), (2,), (3,), (0, 1))


def test_noise_lines_tell_columns_choices_and_marginals() -> None:
    ones, choices, marginals = make().noise
    assert (ones.cells, marginals.cells) == (10, 9)
    assert choices.family == "exponential mechanism"
    assert "rounds or fewer" in choices.query
    assert marginals.parameter == ones.parameter


def test_parameters_tell_the_settings_and_what_follows() -> None:
    told = make(ways=3, rounds_cap=9).parameters
    assert (told["ways"], told["rounds_cap"], told["planned_rounds"]) == (3, 9, 13)
    assert told["candidates"] == 4 + 6 + 4


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"methd": "aim"}, r"selection\.methd: .*; did you mean method\?"),
        ({"rounds": 3}, r"selection\.rounds: aim has no such setting; did you mean rounds_cap\?"),
        ({"rounds_cap": 0}, r"selection\.rounds_cap: 0; give a whole number of at least 1"),
        ({"rounds_cap": None}, "a whole number"),
        ({"ways": 5}, "only 4 columns"),
    ],
)
def test_wrong_settings_are_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make(**given)


def test_pure_budgets_are_refused() -> None:
    with pytest.raises(ValueError, match="needs delta > 0"):
        make(budget=Budget(epsilon=Fraction(1)))


# Very many candidates


def test_a_round_looks_at_everything_as_long_as_that_is_a_few_minutes_work() -> None:
    design = make(ways=3)
    assert design.drawn(1) == tuple(range(len(design.candidates)))
    looked = sum(cells(clique, SHAPE) for clique in design.candidates)
    assert design.effort == Effort(8 * len(design.candidates), 8 * looked, 8, 8)


@pytest.mark.parametrize(("candidates", "entries"), [(60, 2**32), (2**18, 400), (60, 400)])
def test_of_very_many_candidates_a_round_looks_at_a_draw(
    candidates: int, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aim, "MOST_CANDIDATES", candidates)
    monkeypatch.setattr(aim, "MOST_CELLS", entries)
    design = make(2, 3, 2, 3, 2, ways=3, rounds_cap=4)
    ones = {i for i, clique in enumerate(design.candidates) if len(clique) == 1}
    rounds = [design.drawn(number) for number in range(1, 200)]
    assert rounds == [design.drawn(number) for number in range(1, 200)], "a run may resume"
    assert set().union(*rounds) == set(range(len(design.candidates))), "each has its turn"
    for drawn in rounds:
        assert list(drawn) == sorted(set(drawn))
        assert ones < set(drawn) < set(range(len(design.candidates)))
        others = set(drawn) - ones
        assert 4 * len(others) <= candidates
        assert 4 * sum(cells(design.candidates[i], design.domain.shape) for i in others) <= entries


def test_rounds_choose_from_what_they_look_at(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aim, "MOST_CANDIDATES", 12)
    design = make(ways=2, rounds_cap=4)
    curator = curator_of(url, table(), kind=Watching)
    answers = run(design, curator)
    for number, (_, candidates, _) in enumerate(curator.choices, start=1):
        offered = [c.cells.columns for c in candidates]
        assert offered == [design.candidates[i] for i in design.drawn(number)]
        assert len(offered) < len(design.candidates)
        assert answers[3 + number].asked.clique in offered


def test_no_more_is_forecast_to_be_measured_than_rounds_can() -> None:
    design = make(*[2] * 30, ways=3)
    assert len(design.largest) == 30 + design.planned_rounds < 30 + len(design.workload.cliques)
