"""Templates: specs in whose text `{period}` stands for the period that a release is about.

What is filled in is the text as it stands, so that whoever has the template and the period can make
the spec of a release again, byte by byte.
"""

import re
from datetime import date, datetime, time, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator

from hallmark.schemas.section import Section

PERIOD_MARK = "{period}"

_TIME = r"^([01]\d|2[0-3]):[0-5]\d$"
_FIRST = "  # days after a run at "
_EMBARGO = re.compile(rf"\nembargo: \S+{_FIRST}(\S+)\n\Z")


class Embargo(Section):
    """When a period's release may be published."""

    days: int = Field(ge=0, le=366)
    """the number of days after the day that the run was scheduled for"""
    at: Annotated[str, Field(pattern=_TIME)] = "00:00"
    """the time of that day in the entry's time zone, such as 09:00"""

    @field_validator("at", mode="before")
    @classmethod
    def _check_time(cls, at: object) -> object:
        """Say what is wrong as a time, before the pattern does."""
        if isinstance(at, str) and not re.fullmatch(_TIME, at):
            raise ValueError(f"is {at!r}; give a time, such as 09:00")
        return at

    def ends(self, moment: datetime, timezone: str) -> datetime:
        """When the release of a run scheduled for `moment` may be published.

        Raises:
            OverflowError: that is beyond the year 9999.
        """
        zone = ZoneInfo(timezone)
        day: date = moment.astimezone(zone).date() + timedelta(days=self.days)
        return datetime.combine(day, time.fromisoformat(self.at), zone)


def filled_in(
    template: str, period: str, first: datetime, embargo: Embargo | None, timezone: str
) -> str:
    """The spec of a period.

    Args:
        first: when its first run was scheduled for, from which the days of an embargo are counted.
    """
    text = template.replace(PERIOD_MARK, period)
    if embargo is None:
        return text
    until = embargo.ends(first, timezone)
    return f"{text.rstrip()}\nembargo: {until.isoformat()}{_FIRST}{first.isoformat()}\n"


def first_run(spec: str) -> datetime | None:
    """The moment that the embargo of a filled-in spec is counted from; None if it tells none."""
    found = _EMBARGO.search(spec)
    try:
        return None if found is None else datetime.fromisoformat(found[1])
    except ValueError:  # not written by us
        return None
