"""The release calendar: which releases recur, when, and within which budget.

One YAML file next to the specs that it names. Such a spec is a template: `{period}` in its text
stands for the period that a run is about, such as 2026-11, so that each period has its own release
and its own noise. Read one with `schemas.loading.load_calendar`.
"""

import re
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Literal, Self
from zoneinfo import ZoneInfo, available_timezones

from pydantic import Field, field_validator, model_validator

from hallmark.schemas.exact import BelowOne, Positive
from hallmark.schemas.section import Format, Identifier, Section
from hallmark.schemas.series import PERIODS
from hallmark.schemas.templates import Embargo

Period = Literal["day", "week", "month", "quarter", "year"]


PlanApproved = Literal["each", "once"]


class PeriodBudget(Section):
    """The most that the releases of one period may reserve together."""

    epsilon: Positive
    """the epsilon of each period, an exact number above 0"""
    delta: BelowOne = Fraction(0)
    """the delta of each period; 0 for pure differential privacy"""


class Scheduled(Section):
    """A release that recurs in every period."""

    spec: str = Field(min_length=1)
    """the spec, relative to the calendar; {period} in its text stands for the period"""
    period: Period
    """the length of a period: day, week, month, quarter or year"""
    lag: int = Field(default=0, ge=0, le=60)
    """how many periods back a run is about: 0 for the period that it falls in, 1 for the one
    before"""
    cron: str
    """when it runs, in five fields, such as "0 2 1 * *" for the first of the month at 2:00"""
    timezone: str = "UTC"
    """the time zone of all times of the entry, such as Europe/Berlin"""
    budget: PeriodBudget
    """the most that the releases of one period may reserve: {epsilon: ..., delta: ...}"""
    embargo: Embargo | None = None
    """when a period's release may be published; defaults to at once"""
    plan_approved: PlanApproved = "each"
    """whether the plan of each period is approved, or once the plan of the series: the template
    with the share of each period, at the gate of the first period that is run"""

    @field_validator("cron")
    @classmethod
    def _check_cron(cls, cron: str) -> str:
        if not re.fullmatch(r"[\d*/,\-A-Za-z]+( [\d*/,\-A-Za-z]+){4}", cron):
            raise ValueError(
                f'is {cron!r}; give five fields, such as "0 2 1 * *" (minute, hour, day of the '
                "month, month, day of the week)"
            )
        return cron

    @field_validator("timezone")
    @classmethod
    def _check_timezone(cls, timezone: str) -> str:
        if timezone not in available_timezones():
            raise ValueError(f"is {timezone!r}, which is not a time zone; give one such as UTC")
        return timezone

    def period_of(self, moment: datetime) -> str:
        """The name of the period that a run scheduled for `moment` is about."""
        local = moment.astimezone(ZoneInfo(self.timezone))
        for _ in range(self.lag):
            local = _start(local, self.period) - timedelta(days=1)
        return _name(local, self.period)

    def embargo_of(self, moment: datetime) -> datetime | None:
        """When the release of a run scheduled for `moment` may be published."""
        return None if self.embargo is None else self.embargo.ends(moment, self.timezone)

    def check_period(self, name: str) -> str:
        """The name unchanged, if it is a period of the entry's length, such as 2026-11 for months.

        Raises:
            ValueError: it is not.
        """
        form, example = PERIODS[self.period]
        if not re.fullmatch(form, name):
            raise ValueError(f"period {name!r} is not a {self.period}; write it like {example}")
        return name


class Calendar(Section):
    """A whole calendar."""

    hallmark_calendar: Format
    """the version of the calendar format: 1"""
    releases: dict[Identifier, Scheduled] = Field(min_length=1)
    """every recurring release, under a name for the entry"""

    @model_validator(mode="after")
    def _check_specs(self) -> Self:
        specs = [entry.spec for entry in self.releases.values()]
        twice = sorted({spec for spec in specs if specs.count(spec) > 1})
        if twice:
            raise ValueError(
                f"{', '.join(twice)} is named by two entries, which would run the same releases; "
                "merge them, or give each its own spec"
            )
        return self


def _name(local: datetime, period: Period) -> str:
    match period:
        case "day":
            return f"{local:%Y-%m-%d}"
        case "week":
            year, week, _ = local.isocalendar()
            return f"{year}-w{week:02d}"
        case "month":
            return f"{local:%Y-%m}"
        case "quarter":
            return f"{local.year}-q{(local.month + 2) // 3}"
        case "year":
            return f"{local.year}"


def _start(local: datetime, period: Period) -> datetime:
    """The first day of the period that includes the moment."""
    match period:
        case "day":
            return local
        case "week":
            return local - timedelta(days=local.weekday())
        case "month":
            return local.replace(day=1)
        case "quarter":
            return local.replace(month=3 * ((local.month - 1) // 3) + 1, day=1)
        case "year":
            return local.replace(month=1, day=1)
