"""`hallmark ledger`: accounts that keep a series, and the plan of their periods."""

import json
from fractions import Fraction

import pytest

from hallmark.flows.cli.exits import ExitCode
from hallmark.mechanisms.privacy.ledger.ledger import AccountState, Ledger
from hallmark.mechanisms.privacy.presence import Presence
from hallmark.tasks.installation.workspace import ledger_url
from tests.flows.conftest import Hallmark

OPEN = ("ledger", "open", "people", "--epsilon", "2", "--delta", "1e-5", "--reason", "the board")
PLAN = ("ledger", "plan", "people", "--reason", "the board", "--from", "2026-01")


def people() -> AccountState:
    return Ledger(ledger_url()).account("people")


@pytest.mark.parametrize(
    ("options", "presence"),
    [
        (("month",), Presence(length="month")),
        (("year", "--most", "1"), Presence(length="year", most=1)),
        (("quarter", "--in-a-row", "3"), Presence(length="quarter", pattern=(0, 1, 2))),
        (
            ("week", "--in-a-row", "3", "--most", "2"),
            Presence(length="week", pattern=(0, 1, 2), most=2),
        ),
        (("month", "--rotation", "2-1-1"), Presence(length="month", pattern=(0, 1, 3))),
        (("day", "--most", "9"), Presence(length="day", most=9)),
    ],
)
def test_an_account_keeps_a_series(
    options: tuple[str, ...], presence: Presence, hallmark: Hallmark
) -> None:
    opened = hallmark(*OPEN, "--series", *options)
    assert opened.code == 0, opened
    state = people()
    assert state.presence == presence
    assert state.rho_cap is not None
    assert f"for {presence}" in " ".join(opened.out.split())
    assert "No period has a share yet; see: hallmark ledger plan --help" in opened.out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--most", "2"), "--series: say how long a period is"),
        (("--in-a-row", "2"), "--series: say how long a period is"),
        (("--rotation", "4-8-4"), "--series: say how long a period is"),
        (
            ("--series", "month", "--in-a-row", "2", "--rotation", "4-8-4"),
            "give one of --in-a-row and --rotation",
        ),
        (("--series", "month", "--rotation", "4-8"), "'4-8' is no rotation"),
        (("--series", "month", "--rotation", "0-8-4"), "'0-8-4' is no rotation"),
        (("--series", "month", "--delta", "0"), "a series needs a delta above 0"),
        (("--series", "decade"), "'decade' is not one of"),
        (("--series", "month", "--most", "0"), "'--most'"),
    ],
)
def test_a_series_that_is_none_is_refused(
    options: tuple[str, ...], says: str, hallmark: Hallmark
) -> None:
    done = hallmark(*OPEN, *options)
    assert done.code == ExitCode.USAGE
    words = " ".join(done.err.replace("│", " ").split())
    assert says.replace("--series: ", "") in words
    assert says.partition(":")[0] in words
    assert not Ledger(ledger_url()).has_account("people")


def test_a_series_does_not_add_up_budgets(hallmark: Hallmark) -> None:
    done = hallmark(*OPEN, "--series", "month", "--composition", "sum")
    assert done.code == ExitCode.BUDGET
    assert "needs composition zcdp" in done.error


def test_periods_are_planned_and_shown(hallmark: Hallmark) -> None:
    hallmark(*OPEN, "--series", "month", "--in-a-row", "2")
    done = hallmark(*PLAN, "--periods", "4")
    assert done.code == 0, done
    rows = [line for line in done.out.splitlines() if "2026-" in line]
    assert [row.split()[0] for row in rows] == ["2026-01", "2026-02", "2026-03", "2026-04"]
    assert all("about ε" in row and "nothing" in row for row in rows)
    planned = people().planned
    assert len(set(planned.values())) == 1
    (listed,) = json.loads(hallmark("ledger", "list", "--json").out)
    assert listed["planned"]["2026-03"] == str(planned["2026-03"])
    assert listed["presence"] == {"length": "month", "pattern": [0, 1], "most": None}
    shown = hallmark("ledger", "show", "people").out
    assert "beyond what is planned" in shown
    assert "plan" in shown.partition("1  ")[2]
    before = people().entries
    assert hallmark(*PLAN, "--periods", "4").code == 0
    assert people().entries == before


def test_a_plan_may_decay_and_keep_something(hallmark: Hallmark) -> None:
    hallmark(*OPEN, "--series", "month")
    done = hallmark(*PLAN, "--periods", "3", "--decay", "0.5", "--kept", "0.25")
    assert done.code == 0, done
    state = people()
    first, second, third = (float(state.planned[f"2026-0{n}"]) for n in (1, 2, 3))
    assert (second / first, third / second) == pytest.approx((0.5, 0.5), rel=1e-6)
    assert state.rho_cap is not None
    assert first + second + third == pytest.approx(0.75 * float(state.rho_cap), rel=1e-6)


@pytest.mark.parametrize(
    ("series", "options", "says"),
    [
        (("--series", "month"), ("--from", "2026"), "2026 is a year, but the account's periods"),
        (("--series", "month"), ("--from", "May"), "--from: 'May' is no period"),
        (("--series", "month"), ("--from", "9999-11"), "pass the year 9999"),
        (("--series", "month"), ("--decay", "0"), "decay must be above 0"),
        (("--series", "month"), ("--decay", "inf"), "decay must be above 0"),
        (("--series", "month"), ("--kept", "1"), "from 0 up to below 1"),
        (("--series", "month"), ("--decay", "1e-9"), "nothing is left of the cap for some"),
        ((), (), "keeps no series; open one with hallmark ledger open --series"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(
    series: tuple[str, ...], options: tuple[str, ...], says: str, hallmark: Hallmark
) -> None:
    hallmark(*OPEN, *series)
    done = hallmark(*PLAN, "--periods", "4", *options)
    assert done.code != 0
    assert says in done.error
    assert people().planned == {}


def test_the_cap_of_a_series_is_changed_in_epsilon(hallmark: Hallmark) -> None:
    hallmark(*OPEN, "--series", "month")
    before = people().rho_cap
    raised = hallmark("ledger", "cap", "people", "--epsilon", "3", "--reason", "the board")
    assert raised.code == 0, raised
    state = people()
    assert (state.cap.epsilon, state.rho_cap is not None and before is not None) == (3, True)
    assert Fraction(state.rho_cap or 0) > Fraction(before or 0)
    assert hallmark(*PLAN, "--periods", "4").code == 0
    state_of_plan = people()
    lowered = hallmark("ledger", "cap", "people", "--epsilon", "2", "--reason", "the board")
    assert lowered.code == ExitCode.BUDGET
    assert "is taken and planned for all months; set it to at least that" in lowered.error
    assert people() == state_of_plan
