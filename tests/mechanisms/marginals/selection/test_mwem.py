"""MWEM: fixed events, the law of a choice, replays, and what may be chosen."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest

from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.marginals.selection.mwem import plan_mwem
from hallmark.mechanisms.privacy.accountant import fits, rho
from hallmark.mechanisms.privacy.adjacency import Adjacency
from tests.mechanisms.marginals.selection.runs import (
    ALL,
    BUDGET,
    PERSONS,
    PlainModeller,
    curator_of,
    designed,
    run,
    table,
)

SHORT = {"rounds": 2, "one_way_share": 0.3}  # as in test_adaptive: one calibration is enough
make = partial(designed, plan_mwem)


@pytest.mark.parametrize("adjacency", ALL)
def test_shares_of_rho_fit_the_budget_and_little_more_does_not(adjacency: Adjacency) -> None:
    design = make(adjacency=adjacency, **SHORT)
    ones, choices, marginals = design.events
    assert rho([ones]) == design.rho * Fraction(3, 10)
    assert rho([marginals]) == design.rho * Fraction(7, 10) * Fraction(9, 10)
    assert rho([choices]) == pytest.approx(design.rho * Fraction(7, 100), rel=1e-5)
    assert (ones.times, choices.times, marginals.times) == (4, 2, 2)
    assert not any(event.adaptive for event in design.events)
    assert fits(design.events, BUDGET)
    assert not fits(replace(design, rho=design.rho * Fraction(10_003, 10_000)).events, BUDGET)


def test_models_that_would_be_too_large_are_not_offered(url: str) -> None:
    def pairs_of_coins(cliques: Sequence[Clique], share: float) -> bool:
        return share == 1 and cliques[-1] == (2, 3)

    def nothing(cliques: Sequence[Clique], share: float) -> bool:
        return False

    design = make(**SHORT)
    curator = curator_of(url, table())
    answers = run(design, curator, PlainModeller(design.domain, pairs_of_coins))
    assert [answer.asked.clique for answer in answers[4:]] == [(2, 3), (2, 3)]
    assert design._admitted(answers[:4], PlainModeller(design.domain, nothing)) == (
        (0,), (1,), (2,), (3,)
    )  # fmt: skip


def test_memory_is_forecast_for_the_largest_marginals_one_a_round() -> None:
    assert make(adjacency=PERSONS, rounds=2).largest == ((0,), (1,), (2,), (3,), (0, 1), (0, 2))


def test_defaults_and_what_is_told() -> None:
    design = make(adjacency=PERSONS)
    told = design.parameters
    assert (told["rounds"], told["one_way_share"], told["choice_share"]) == (4, "1/5", "1/10")
    ones, choices, marginals = design.noise
    assert (ones.cells, choices.cells, marginals.cells) == (10, 4, 36)
    assert marginals.sensitivity == "L2 = sqrt(36) records"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rounds": 0}, r"selection\.rounds: 0; give a whole number of at least 1"),
        ({"rounds_cap": 3}, "did you mean rounds"),
        ({"one_way_share": 0}, "a number between 0 and 1"),
        ({"one_way_share": 1}, "a number between 0 and 1"),
        ({"one_way_share": "half"}, "a number between 0 and 1"),
        ({"ways": 5}, "only 4 columns"),
        (
            {"workload": [{"columns": ["c0"], "weight": 2}, {"columns": ["c1"]}]},
            "mwem knows no weights",
        ),
    ],
)
def test_wrong_settings_are_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make(**given)
