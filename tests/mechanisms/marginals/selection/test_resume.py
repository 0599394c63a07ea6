"""Private selections whose process dies in any call go on with what was drawn, charged once."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from hallmark.mechanisms.marginals.selection.aim import plan_aim
from hallmark.mechanisms.marginals.selection.mwem import plan_mwem
from hallmark.mechanisms.marginals.selection.tree import plan_tree
from hallmark.mechanisms.privacy.accountant import rho
from tests.mechanisms.marginals.domains import domain_of
from tests.mechanisms.marginals.selection.runs import (
    BUDGET,
    REPLACE,
    Dying,
    Killed,
    PlainModeller,
    asked,
    curator_of,
    run,
    table,
)

CHOICE_AND_MARGINAL = ("round-{}-choice", "round-{}-marginal")


@pytest.mark.parametrize("after", [False, True], ids=["before the draw", "in the log"])
@pytest.mark.parametrize("calls", range(5))
@pytest.mark.parametrize(
    ("plan", "settings", "round_calls", "last_calls", "exactly"),
    [
        (plan_aim, {"rounds_cap": 4}, CHOICE_AND_MARGINAL, (), True),
        (plan_mwem, {"rounds": 2}, CHOICE_AND_MARGINAL, (), False),
        (plan_tree, {}, ("round-{}-choice",), ("pairs",), False),
    ],
    ids=["aim", "mwem", "mst"],
)
def test_killed_in_any_call_a_run_resumes_with_what_was_drawn(
    url: str,
    plan: Callable[..., Any],
    settings: Mapping[str, Any],
    round_calls: tuple[str, ...],
    last_calls: tuple[str, ...],
    exactly: bool,
    calls: int,
    after: bool,
) -> None:
    design = plan(domain_of((3, 3, 2, 2)), budget=BUDGET, adjacency=REPLACE, settings=settings)
    codes = table()
    with pytest.raises(Killed):
        run(design, curator_of(url, codes, kind=Dying, calls=calls, after=after))
    first = run(design, curator_of(url, codes))
    assert asked(first) == asked(run(design, curator_of(url, codes)))
    ledger = curator_of(url, codes).ledger
    rounds = range(1, len(first) - 4 + 1)  # beyond the one-way marginals
    assert [call.call for call in ledger.calls("r")] == [
        "marginals",
        *(name.format(number) for number in rounds for name in round_calls),
        *last_calls,
    ]
    spent = rho(ledger.events("r"))
    assert spent == design.rho if exactly else spent <= design.rho


@pytest.mark.parametrize("calls", [2, 3, 5, 6])
@pytest.mark.parametrize("stubborn", [False, True])
def test_a_run_goes_on_with_the_noise_that_was_drawn_whatever_models_now_say(
    url: str, calls: int, stubborn: bool
) -> None:
    """Models that learn nothing halve AIM's noise, those that learn keep it."""
    domain, codes = domain_of((3, 3, 2, 2)), table()
    design = plan_aim(domain, budget=BUDGET, adjacency=REPLACE, settings={"rounds_cap": 9})
    began, went_on = (PlainModeller(domain, stubborn=kind) for kind in (stubborn, not stubborn))
    with pytest.raises(Killed):
        run(design, curator_of(url, codes, kind=Dying, calls=calls, after=False), began)
    logged = curator_of(url, codes).ledger.calls("r")
    assert len(logged) == calls
    answers = run(design, curator_of(url, codes), went_on)
    ledger = curator_of(url, codes).ledger
    assert ledger.calls("r")[:calls] == logged
    assert rho(ledger.events("r")) == design.rho
    assert asked(answers) == asked(run(design, curator_of(url, codes), began))
