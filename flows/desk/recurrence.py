"""When a release recurs: as fields of cron, and in words for people who do not read those."""

import calendar
import re

from hallmark.schemas.calendar import Period
from hallmark.tasks.governance import ChangeRefused

_DAYS: dict[Period, str] = {
    # day of the month, month, and day of the week, where {} is the day of the period
    "day": "* * *",
    "week": "* * {}",
    "month": "{} * *",
    "quarter": "{} 1,4,7,10 *",
    "year": "{} 1 *",
}


def as_cron(period: Period, day: str, at: str) -> str:
    """The fields of cron for a time on a day of each period; weeks begin on Monday, day 1.

    Raises:
        ChangeRefused: there is no such day or time.
    """
    if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", at):
        what = f"is {at!r}; give a time such as 02:00"
        raise ChangeRefused(f"at: {what}", {("at",): what})
    number = int(day) if day.isdecimal() else 0
    if not 1 <= number <= 28 or (period == "week" and number > 7):
        most = "1 for Monday, up to 7 for Sunday" if period == "week" else "1 to 28"
        what = f"a {period} has no day {day}; give {most}"
        raise ChangeRefused(what, {("day",): what})
    hour, minute = at.split(":")
    on = number % 7 if period == "week" else number
    return f"{int(minute)} {int(hour)} {_DAYS[period].format(on)}"


def as_day(period: Period, cron: str) -> tuple[str, str] | None:
    """The day of each period and the time that fields of cron say, as `as_cron` takes them; None
    where they say more."""
    found = re.match(r"(\d{1,2}) (\d{1,2}) ", cron)
    at = f"{int(found[2]):02}:{int(found[1]):02}" if found else ""
    days = [str(day) for day in range(1, 8 if period == "week" else 29)]
    return next(((day, at) for day in days if at and as_cron(period, day, at) == cron), None)


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
