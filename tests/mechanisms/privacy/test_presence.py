"""Series: what the most exposed unit costs, by all sets one by one, and by all histories."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hallmark.mechanisms.privacy.costs import zcdp_epsilon
from hallmark.mechanisms.privacy.presence import Period, Presence, name_of, period, rotating
from tests.mechanisms.privacy.histories import Counts, gaussian, worst_delta

PERIODS = range(5)
PATTERNS = st.one_of(
    st.none(),
    st.sets(st.integers(1, 6), max_size=3).map(lambda more: (0, *sorted(more))),
)
PRESENCES = st.builds(
    Presence,
    length=st.just("month"),
    pattern=PATTERNS,
    most=st.one_of(st.none(), st.integers(1, 4)),
)
COSTS = st.dictionaries(
    st.sampled_from(PERIODS), st.integers(0, 9).map(Fraction), max_size=len(PERIODS)
)


def sets(presence: Presence) -> Iterator[frozenset[int]]:
    """All sets of `PERIODS` in which a unit may have records, by the definition alone."""
    for size in range(len(PERIODS) + 1):
        for chosen in combinations(PERIODS, size):
            fits = presence.most is None or size <= presence.most
            if fits and (
                presence.pattern is None
                or not chosen
                or any(
                    {p - start for p in chosen} <= set(presence.pattern)
                    for start in range(-10, len(PERIODS))
                )
            ):
                yield frozenset(chosen)


@given(PRESENCES, COSTS)
def test_the_heaviest_set_is_found(presence: Presence, costs: Mapping[int, Fraction]):
    sums = [sum((costs.get(p, Fraction(0)) for p in held), Fraction(0)) for held in sets(presence)]
    assert presence.heaviest(costs) == max(sums)


@given(PRESENCES, COSTS, st.sampled_from(PERIODS))
def test_the_heaviest_set_with_a_period_is_found(
    presence: Presence, costs: Mapping[int, Fraction], held: int
):
    sums = [
        sum((costs.get(p, Fraction(0)) for p in held_too), Fraction(0))
        for held_too in sets(presence)
        if held in held_too
    ]
    assert presence.heaviest(costs, holding=held) == max(sums)


TWO_IN_A_ROW = Presence(length="year", pattern=(0, 1))
THREE = Presence(length="year", most=3)
MENU = {0: gaussian(32), 1: gaussian(64), 2: gaussian(32), 3: gaussian(64)}
RHO = Fraction(1, 16)


def worst(epsilon: float, counted: Presence, exposed: frozenset[int]) -> float:
    """Largest delta for units with records in these periods, where others are counted."""
    menu = [MENU[p] for p in sorted(exposed)]

    def admits(counts: Counts) -> bool:
        costs = {
            p: n * release.cost.rho
            for p, n, release in zip(sorted(exposed), counts, menu, strict=True)
        }
        return counted.heaviest(costs) <= RHO

    return worst_delta(epsilon, menu, admits)


@pytest.mark.parametrize("presence", [TWO_IN_A_ROW, THREE], ids=str)
def test_no_history_of_a_series_passes_the_cap(presence: Presence):
    """Releases of every period are chosen in view of all answers, also those of other periods."""
    delta = Fraction(1, 100)
    epsilon = zcdp_epsilon(RHO, delta)
    deltas = [
        worst(epsilon, presence, exposed)
        for exposed in sets(presence)
        if max(exposed, default=9) < 4
    ]
    assert float(delta) / 10 < max(deltas) <= float(delta)


def test_a_series_that_counts_too_few_periods_is_found_out():
    """Three periods of a unit, where the account counts one: a broken twin of `THREE`."""
    delta = Fraction(1, 100)
    broken = Presence(length="year", most=1)
    assert worst(zcdp_epsilon(RHO, delta), broken, frozenset({0, 1, 2})) > float(delta)


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("2026", "2025"),
        ("2026-q1", "2025-q4"),
        ("2026-01", "2025-12"),
        ("2026-w01", "2025-w52"),
        ("2021-w01", "2020-w53"),
        ("2026-03-01", "2026-02-28"),
    ],
)
def test_consecutive_periods_have_consecutive_numbers(name: str, before: str):
    later, earlier = period(name), period(before)
    assert later == Period(earlier.length, earlier.number + 1)
    assert (name_of(later), name_of(earlier)) == (name, before)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "26",
        "2026-13",
        "2026-w54",
        "2026-02-30",
        "2026-q5",
        "2026-1",
        "٢٠٢٦",
        "0000-w01",
        "2026\n",
    ],
)
def test_what_is_no_period_is_refused(name: str):
    with pytest.raises(ValueError, match="is no period; write it like"):
        period(name)


@pytest.mark.parametrize("pattern", [(), (1, 2), (0, 2, 1), (0, 0, 1)])
def test_a_pattern_begins_with_0_and_ascends(pattern: tuple[int, ...]):
    with pytest.raises(ValueError, match="begins with 0 and ascends"):
        Presence(length="month", pattern=pattern)


@pytest.mark.parametrize(
    ("runs", "pattern"),
    [("3", (0, 1, 2)), ("1-2-1", (0, 3)), ("4-8-4", (0, 1, 2, 3, 12, 13, 14, 15))],
)
def test_a_rotation_is_a_pattern(runs: str, pattern: tuple[int, ...]):
    assert rotating(runs) == pattern


@pytest.mark.parametrize("runs", ["", "4-8", "0", "4-8-0", "4--4", "4-8-4-", "1000"])
def test_what_is_no_rotation_is_refused(runs: str):
    with pytest.raises(ValueError, match="is no rotation"):
        rotating(runs)


def test_all_releases_compose_only_where_a_unit_may_be_in_all_periods():
    assert Presence(length="year").is_everywhere
    for some in ({"most": 2}, {"pattern": (0, 1)}, {"pattern": (0, 1), "most": 1}):
        assert not Presence(length="year", **some).is_everywhere


def test_a_unit_is_somewhere():
    with pytest.raises(ValueError, match="at least one period"):
        Presence(length="month", most=0)


@pytest.mark.parametrize(
    ("presence", "words"),
    [
        (Presence(length="month"), "all months"),
        (Presence(length="month", most=1), "one month"),
        (Presence(length="month", most=8), "any 8 months"),
        (Presence(length="year", pattern=(0, 1, 2)), "any 3 years in a row"),
        (Presence(length="year", pattern=(0, 1, 2), most=2), "any 2 of 3 years in a row"),
        (Presence(length="month", pattern=(0, 1, 12)), "the months 1, 2, 13 of a rotation"),
    ],
)
def test_a_presence_is_told_in_words(presence: Presence, words: str):
    assert str(presence) == words
