"""The series that a release belongs to: the same table, period after period."""

import re
from collections.abc import Iterator, Mapping
from datetime import date

from pydantic import Field, field_validator

from hallmark.schemas.columns.category_columns import CategoryColumn
from hallmark.schemas.columns.columns import Column
from hallmark.schemas.columns.recoding import WrittenMap
from hallmark.schemas.section import Problem, Section

PERIODS: dict[str, tuple[str, str]] = {
    "day": (r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "2026-11-21"),
    "week": (r"[0-9]{4}-w[0-9]{2}", "2026-w47"),
    "month": (r"[0-9]{4}-(?:0[1-9]|1[0-2])", "2026-11"),
    "quarter": (r"[0-9]{4}-q[1-4]", "2026-q4"),
    "year": (r"[0-9]{4}", "2026"),
}
"""How the name of a period is written, by its length, and an example."""

_REVISION = re.compile(r"-r([1-9][0-9]*)$")


class Series(Section):
    """A period of a series."""

    period: str = Field(min_length=4, max_length=10)
    """the period that the private table is about, such as 2026, 2026-q4, 2026-11, 2026-w47 or
    2026-11-21 ({period} in the spec of a calendar); the name of the release holds it"""
    learn: bool = False
    """whether the noisy tables of earlier periods' releases help to make these records; they are
    those of the same name but for the period, in the folder of releases, and cost no budget"""
    recode: dict[str, WrittenMap] = Field(default_factory=dict)
    """by column whose codes have changed, this period's code for those of earlier ones: {region:
    {OLD: NEW, ...}}, or {region: {file: codes.csv, column: NAME}}; several may become one, and
    codes that keep their names need not be listed"""

    def problems(self, columns: Mapping[str, Column]) -> Iterator[Problem]:
        """What of the maps does not suit the columns of this period."""
        for name, codes in self.recode.items():
            column = columns.get(name)
            if not isinstance(column, CategoryColumn):
                why = "is no column of this spec" if column is None else "has no list of codes"
                yield Problem(("recode", name), f"{why}; leave it out")
            elif unknown := codes.unknown(column.codes):
                yield Problem(
                    ("recode", name),
                    f"makes codes {unknown[0]!r}, not among the categories of {name}; give earlier "
                    "codes on the left, and this period's on the right",
                )

    @field_validator("period")
    @classmethod
    def _check_period(cls, period: str) -> str:
        length_of(period)
        return period


def length_of(period: str) -> str:
    """How long a period is, by its name: day, week, month, quarter or year.

    Raises:
        ValueError: no period is written like that.
    """
    for length, (form, _) in PERIODS.items():
        if re.fullmatch(form, period) and _is_in_the_calendar(length, period):
            return length
    raise ValueError(
        f"is {period!r}, which is no period; write it like "
        f"{', '.join(example for _, example in PERIODS.values())}"
    )


def _is_in_the_calendar(length: str, period: str) -> bool:
    """Whether there is such a day or week: no 30 February, and no week 53 in most years."""
    try:
        if length == "day":
            date.fromisoformat(period)
        elif length == "week":
            date.fromisocalendar(int(period[:4]), int(period[-2:]), 1)
    except ValueError:
        return False
    return True


def siblings(release: str, period: str) -> re.Pattern[str]:
    """What the names of a series' releases look like, with groups `period` and `revision`.

    Args:
        release: the name of one of them, which holds its period; -r1 at its end makes it the first
            revision of what was released about the period.
    """
    before, _, after = _REVISION.sub("", release).partition(period)
    form, _ = PERIODS[length_of(period)]
    return re.compile(
        rf"{re.escape(before)}(?P<period>{form}){re.escape(after)}(?:-r(?P<revision>[1-9][0-9]*))?"
    )
