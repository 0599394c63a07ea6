"""Periods, embargoes and wrong calendars."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hallmark.schemas.calendar import Scheduled
from hallmark.schemas.loading import SpecError, load_calendar

MOMENT = datetime(2026, 11, 30, 23, 30, tzinfo=UTC)  # December has begun in Berlin


def entry(**changes: Any) -> Scheduled:
    content = {
        "spec": "acs.yaml",
        "period": "month",
        "cron": "0 2 1 * *",
        "budget": {"epsilon": "1/2"},
    }
    return Scheduled.model_validate(content | changes)


@pytest.mark.parametrize(
    ("period", "name"),
    [
        ("day", "2026-11-30"),
        ("week", "2026-w49"),
        ("month", "2026-11"),
        ("quarter", "2026-q4"),
        ("year", "2026"),
    ],
)
def test_a_period_has_a_name_that_it_recognises(period: str, name: str):
    there = entry(period=period)
    assert there.period_of(MOMENT) == name
    assert there.check_period(name) == name


@pytest.mark.parametrize(
    ("period", "name"),
    [
        ("day", "2026-11"),
        ("day", "2026-11-1"),
        ("week", "2026-49"),
        ("month", "2026-13"),
        ("month", "2026-11-01"),
        ("quarter", "2026-q5"),
        ("year", "2026-11"),
        ("year", "26"),
    ],
)
def test_the_name_of_another_period_is_refused(period: str, name: str):
    with pytest.raises(ValueError, match=f"period '{name}' is not a {period}; write it like 2026"):
        entry(period=period).check_period(name)


def test_the_time_zone_decides_which_period_it_is():
    assert entry(timezone="Europe/Berlin").period_of(MOMENT) == "2026-12"


@pytest.mark.parametrize(
    ("period", "lag", "name"),
    [
        ("day", 1, "2026-11-29"),
        ("week", 1, "2026-w48"),
        ("month", 1, "2026-10"),
        ("month", 12, "2025-11"),
        ("quarter", 1, "2026-q3"),
        ("quarter", 4, "2025-q4"),
        ("year", 2, "2024"),
    ],
)
def test_a_lag_goes_back_whole_periods(period: str, lag: int, name: str):
    assert entry(period=period, lag=lag).period_of(MOMENT) == name


def test_the_first_days_of_january_belong_to_their_iso_week():
    assert entry(period="week").period_of(datetime(2027, 1, 2, tzinfo=UTC)) == "2026-w53"


def test_an_embargo_ends_at_a_time_of_day_where_the_agency_is():
    there = entry(timezone="Europe/Berlin", embargo={"days": 3, "at": "09:00"})
    assert there.embargo_of(MOMENT) == datetime(2026, 12, 4, 8, 0, tzinfo=UTC)
    assert entry().embargo_of(MOMENT) is None


def test_an_embargo_keeps_its_time_of_day_over_a_change_of_clocks():
    there = entry(timezone="Europe/Berlin", embargo={"days": 7, "at": "09:00"})
    march = datetime(2026, 3, 27, 2, 0, tzinfo=UTC)
    assert there.embargo_of(march) == datetime(2026, 4, 3, 7, 0, tzinfo=UTC)  # in summer time


WRONG = [
    ("period: month", "period: fortnight", "releases.acs.period: must be day, week"),
    ('cron: "0 2 1 * *"', 'cron: "0 2 1 *"', "releases.acs.cron: is '0 2 1 *'; give five fields"),
    (
        "timezone: UTC",
        "timezone: Berlin",
        "releases.acs.timezone: is 'Berlin', which is not a time",
    ),
    ("epsilon: 1/2", "epsilon: 0", "releases.acs.budget.epsilon: is 0; give a number above 0"),
    ("epsilon: 1/2", "epsilon: half", "releases.acs.budget.epsilon: "),
    ("spec: acs.yaml", "specs: acs.yaml", "releases.acs.specs: is not a key"),
]


@pytest.mark.parametrize(("line", "wrong", "message"), WRONG)
def test_a_wrong_calendar_is_refused_where_it_is_wrong(
    line: str, wrong: str, message: str, tmp_path: Path
):
    good = (
        "hallmark_calendar: 1\nreleases:\n  acs:\n    spec: acs.yaml\n    period: month\n"
        '    cron: "0 2 1 * *"\n    timezone: UTC\n    budget: {epsilon: 1/2}\n'
    )
    path = tmp_path / "calendar.yaml"
    path.write_text(good)
    assert load_calendar(path).releases["acs"].period == "month"
    assert line in good
    path.write_text(good.replace(line, wrong))
    with pytest.raises(SpecError) as error:
        load_calendar(path)
    assert any(message in problem for problem in error.value.problems), error.value.problems


def test_two_entries_cannot_share_a_spec(tmp_path: Path):
    one = '    spec: acs.yaml\n    period: month\n    cron: "0 2 1 * *"\n    budget: {epsilon: 1}\n'
    path = tmp_path / "calendar.yaml"
    path.write_text(f"hallmark_calendar: 1\nreleases:\n  a:\n{one}  b:\n{one}")
    with pytest.raises(SpecError, match=r"acs\.yaml is named by two entries"):
        load_calendar(path)
