"""When a release recurs, as people read it."""

import pytest

from hallmark.flows.desk.recurrence import as_cron, as_day, in_words
from hallmark.schemas.calendar import Period


@pytest.mark.parametrize(
    ("period", "said"),
    [
        ("day", "every day at 06:05"),
        ("week", "every Sunday at 06:05"),
        ("month", "on day 7 of every month at 06:05"),
        ("quarter", "on day 7 of January, April, July and October at 06:05"),
        ("year", "on day 7 of January at 06:05"),
    ],
)
def test_what_the_desk_schedules_is_said_in_words(period: Period, said: str):
    cron = as_cron(period, "7", "06:05")
    assert in_words(cron) == said
    assert as_day(period, cron) == ("1" if period == "day" else "7", "06:05")


@pytest.mark.parametrize("cron", ["30 6 29 * *", "*/5 6 1 * *", "30 6 1-7 * 1", "30 6 1 2 *"])
def test_fields_of_cron_that_say_more_than_a_day_have_none(cron: str):
    assert as_day("month", cron) is None


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("30 6 * * 1", "every Monday at 06:30"),
        ("30 6 * * 7", "every Sunday at 06:30"),
        ("*/5 6 * * *", ""),
        ("30 6 13 * 5", ""),  # day 13, and every Friday
        ("30 6 * 1 *", ""),
        ("30 6 * * 1-5", ""),
        ("0 30 6 * * *", ""),
    ],
)
def test_what_others_schedule_is_said_where_words_are_exact(cron: str, said: str):
    assert in_words(cron) == said
