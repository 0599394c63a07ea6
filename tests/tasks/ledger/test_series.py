"""The plan of a series: shares as large as the cap allows, and none that it does not cover."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hallmark.mechanisms.privacy.presence import Presence, period
from hallmark.tasks.ledger.series import NoPlan, periods_of, planned

CAP = Fraction(1, 4)
STEP = Fraction(1, 10**6)  # a share that is larger by this would not fit


def state(presence: Presence | None, **taken: Fraction) -> Any:
    by_period = {name.strip("_"): rho for name, rho in taken.items()}
    return SimpleNamespace(
        name="people", presence=presence, rho_cap=CAP, by_period=by_period, planned={}
    )


def heaviest(presence: Presence, costs: Mapping[str, Fraction]) -> Fraction:
    """What the most exposed unit costs, over all sets of periods one by one."""
    numbered = {period(name).number: rho for name, rho in costs.items()}
    some = sorted(numbered)
    pattern = presence.pattern or range(max(some) - min(some) + 1)
    most = presence.most or len(some)
    return max(
        sum((numbered[n] for n in held), Fraction(0))
        for size in range(min(most, len(some)) + 1)
        for held in combinations(some, size)
        if presence.pattern is None
        or any({n - held[0] + at for n in held} <= set(pattern) for at in pattern)
        or not held
    )


PRESENCES = st.sampled_from(
    [
        Presence(length="year"),
        Presence(length="year", most=1),
        Presence(length="year", most=2),
        Presence(length="year", pattern=(0, 1, 2)),
        Presence(length="year", pattern=(0, 2, 3), most=2),
    ]
)
TAKEN = st.dictionaries(
    st.sampled_from([f"_{year}" for year in range(2022, 2029)]),
    st.integers(1, 9).map(lambda n: n * CAP / 40),
    max_size=3,
)


@given(PRESENCES, TAKEN, st.integers(1, 4), st.sampled_from([0.5, 1.0, 1.25]))
@settings(max_examples=60, deadline=None)
def test_shares_are_the_largest_that_fit(
    presence: Presence, taken: dict[str, Fraction], periods: int, decay: float
) -> None:
    account = state(presence, **taken)
    try:
        shares = planned(account, "2025", periods, decay=decay)
    except NoPlan:
        # Then a period has nothing: all that its sets may have is taken.
        least = {str(2025 + n): STEP for n in range(periods)}
        beside = {**least, **account.by_period}
        beside |= {name: max(rho, beside[name]) for name, rho in least.items()}
        assert heaviest(presence, beside) > CAP
        return
    assert list(shares) == [str(2025 + n) for n in range(periods)]
    ratios = [float(shares[str(2026 + n)] / shares[str(2025 + n)]) for n in range(periods - 1)]
    assert ratios == pytest.approx([decay] * (periods - 1), rel=1e-5)
    assert heaviest(presence, larger(account.by_period, shares)) <= CAP
    more = {name: rho * (1 + Fraction(1, 10**4)) + STEP for name, rho in shares.items()}
    assert heaviest(presence, larger(account.by_period, more)) > CAP


def larger(one: Mapping[str, Fraction], other: Mapping[str, Fraction]) -> dict[str, Fraction]:
    nothing = Fraction(0)
    return {n: max(one.get(n, nothing), other.get(n, nothing)) for n in {*one, *other}}


def test_a_rotation_shares_among_the_periods_of_one_set() -> None:
    shares = planned(state(Presence(length="month", pattern=(0, 1, 12, 13))), "2026-01", 24)
    assert float(shares["2027-12"]) == pytest.approx(float(CAP) / 4, rel=1e-6)


def test_what_is_kept_is_in_no_share() -> None:
    shares = planned(state(Presence(length="quarter")), "2026-q3", 3, kept=0.5)
    assert list(shares) == ["2026-q3", "2026-q4", "2027-q1"]
    assert float(sum(shares.values())) == pytest.approx(float(CAP) / 2, rel=1e-6)


def test_what_is_taken_of_a_period_is_in_its_share() -> None:
    account = state(Presence(length="year"), _2026=CAP / 2)
    shares = planned(account, "2026", 2)
    assert float(shares["2026"]) == pytest.approx(float(CAP) / 2, rel=1e-6)
    assert float(shares["2027"]) == pytest.approx(float(CAP) / 2, rel=1e-6)


def test_nothing_left_is_refused() -> None:
    with pytest.raises(NoPlan, match="nothing is left of the cap for some of these periods"):
        planned(state(Presence(length="year"), _2024=CAP), "2025", 1)


@pytest.mark.parametrize("length", ["day", "week"])
def test_no_period_is_past_the_year_9999(length: Any) -> None:
    last = {"day": "9999-12-31", "week": "9999-w51"}[length]
    with pytest.raises(NoPlan, match="pass the year 9999"):
        planned(state(Presence(length=length)), last, 5)


def test_periods_are_listed_in_order_with_both() -> None:
    account = state(Presence(length="quarter"), **{"2026-q1": Fraction(1), "2025-q4": Fraction(2)})
    account.planned = {"2026-q2": Fraction(3), "2026-q1": Fraction(4)}
    assert list(periods_of(account).items()) == [
        ("2025-q4", (0, 2)),
        ("2026-q1", (4, 1)),
        ("2026-q2", (3, 0)),
    ]
