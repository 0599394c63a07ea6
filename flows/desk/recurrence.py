"""When a release recurs: as fields of cron, and in words for people who do not read those."""

import calendar
import re

from hallmark.schemas.calendar import Period
from hallmark.tasks.installation.errors import SafeError

_DAYS: dict[Period, str] = {
    # day of the month, month, and day of the week, where {} is the day of the period
    "day": "* * *",
    "week": "* * {}",
    "month": "{} * *",
    "quarter": "{} 1,4,7,10 *",
    "year": "{} 1 *",
}


def as_cron(period: Period, day: int, at: str) -> str:
    """The fields of cron for a time on a day of each period; weeks begin on Monday, day 1.

    Raises:
        SafeError: a week has no such day.
    """
    if period == "week" and day > 7:
        raise SafeError(f"a week has no day {day}; give 1 for Monday, up to 7 for Sunday")
    hour, minute = at.split(":")
    on = day % 7 if period == "week" else day
    return f"{int(minute)} {int(hour)} {_DAYS[period].format(on)}"


def in_words(cron: str) -> str:
    """What fields of cron say; empty where they say more than a time on plain days."""
    found = re.fullmatch(r"(\d+) (\d+) (\*|\d+) (\*|[\d,]+) (\*|\d)", cron)
    if found is None:
        return ""
    minute, hour, day, months, weekday = found.groups()
    at = f"at {int(hour):02}:{int(minute):02}"
    if weekday != "*":
        plain = (day, months) == ("*", "*")
        return f"every {calendar.day_name[(int(weekday) - 1) % 7]} {at}" if plain else ""
    if day == "*":
        return f"every day {at}" if months == "*" else ""
    of = "every month" if months == "*" else _listed(months.split(","))
    return f"on day {day} of {of} {at}"


def _listed(months: list[str]) -> str:
    *some, last = (calendar.month_name[int(month)] for month in months)
    return f"{', '.join(some)} and {last}" if some else last
