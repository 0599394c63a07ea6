"""The series that a release belongs to: the same table, period after period."""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Annotated, Any, NamedTuple

from pydantic import Field, ValidationError, field_validator

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


BEFORE = "_before"
"""What the name of a column ends with that says what a person was in the period before; with _2 and
so on after it, in the one before that."""


class Lag(NamedTuple):
    """What a column about an earlier period says.

    Attributes:
        of: the column that says the same of this period.
        back: how many periods lie between.
    """

    of: str
    back: int

    @property
    def name(self) -> str:
        """The column's name; of no period back, that of `of`."""
        return self.of + (BEFORE if self.back else "") + (f"_{self.back}" if self.back > 1 else "")

    @property
    def held(self) -> str:
        """The column that said this in the release of the period before."""
        return Lag(self.of, self.back - 1).name


class Panel(Section):
    """A series in which the same synthetic people run through the periods."""

    begins: str = Field(min_length=4, max_length=10)
    """the first period; the private table of every later one has, beside each of the columns, one
    with _before at the end of its name, null for people who were not there in the period before
    (hallmark lag writes such a table)"""
    columns: tuple[str, ...] = Field(min_length=1)
    """the columns of which it is measured who became what, such as [region, employed]; the first
    one without nulls"""
    back: int = Field(default=1, ge=1, le=3)
    """how many periods back: with 2, columns with _before_2 say what people were in the period
    before the last, so that histories of three periods are measured"""
    constant: tuple[str, ...] = ()
    """columns that do not change while a person is there, such as [sex]"""
    grows: dict[str, int] = Field(default_factory=dict)
    """columns that grow by so much with every period while a person is there, such as {age: 1};
    whole numbers in cells of one"""

    @property
    def lagged(self) -> dict[str, Lag]:
        """Columns about earlier periods by their names, the nearest period first."""
        lags = (Lag(name, back + 1) for back in range(self.back) for name in self.columns)
        return {lag.name: lag for lag in lags}

    @property
    def steps(self) -> dict[str, int]:
        """By column that follows from the period before, by how much it grows."""
        return dict.fromkeys(self.constant, 0) | self.grows

    def _problems(self) -> Iterator[Problem]:
        named = [*self.columns, *self.constant, *self.grows]
        for name in sorted({name for name in named if named.count(name) > 1}):
            yield Problem(
                (),
                f"names {name} twice; it is measured (columns), does not change (constant) or "
                "grows (grows): keep one",
            )


class Series(Section):
    """A period of a series."""

    period: str = Field(min_length=4, max_length=10)
    """the period that the private table is about, such as 2026, 2026-q4, 2026-11, 2026-w47 or
    2026-11-21 ({period} in the spec of a calendar); the name of the release holds it"""
    learn: bool = False
    """whether the noisy tables of earlier periods' releases help to make these records; they are
    those of the same name but for the period, in the folder of releases, and cost no budget"""
    panel: Panel | None = None
    """whether, and how, the same synthetic people run through the periods: {begins: "2024",
    columns: [region], constant: [sex], grows: {age: 1}}"""
    revised: Annotated[str, Field(min_length=3, max_length=1000)] | None = None
    """why the period is released again, of a revision (-r1 at the end of the release's name); the
    notice that it supersedes the earlier release says so"""
    recode: dict[str, WrittenMap] = Field(default_factory=dict)
    """by column whose codes have changed, this period's code for those of earlier ones: {region:
    {OLD: NEW, ...}}, or {region: {file: codes.csv, column: NAME}}; several may become one, and
    codes that keep their names need not be listed"""

    @field_validator("period")
    @classmethod
    def _check_period(cls, period: str) -> str:
        length_of(period)
        return period

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

    @property
    def lagged(self) -> dict[str, Lag]:
        """Columns about earlier periods by their names; none without a panel, and where it
        begins."""
        begins = self.panel is None or self.period == self.panel.begins
        return {} if self.panel is None or begins else self.panel.lagged

    def _problems(self) -> Iterator[Problem]:
        if self.panel is None:
            return
        try:
            length = length_of(self.panel.begins)
        except ValueError as error:
            yield Problem(("panel", "begins"), str(error))
            return
        if length != length_of(self.period) or self.panel.begins > self.period:
            yield Problem(
                ("panel", "begins"),
                f"is {self.panel.begins}, and the release is about {self.period}; give the first "
                "period of the panel, as long as this one and not after it",
            )


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


def revision_of(release: str) -> int:
    """Which revision of its period a release of this name is; 0 if it is none."""
    found = _REVISION.search(release)
    return 0 if found is None else int(found[1])


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


def with_columns_before(content: Any) -> Any:
    """The content of a spec in which the columns about the period before stand that its panel asks
    for, unless they are written there.

    What is no spec yet is left as it is: the sections say what is wrong with it.
    """
    columns, told = _mapping(content, "columns"), _mapping(content, "series")
    try:
        series = Series.model_validate(told)
    except ValidationError:
        return content
    missing = {
        name: lagged(lag, columns[lag.of])
        for name, lag in series.lagged.items()
        if _mapping(columns, lag.of) and name not in columns
    }
    return content | {"columns": {**columns, **missing}} if missing else content


def lagged(lag: Lag, column: Mapping[str, Any]) -> dict[str, Any]:
    """What a column about an earlier period says of itself, by what the column itself says."""
    told = {key: said for key, said in column.items() if key not in _OF_THIS_PERIOD}
    ago = "the period before" if lag.back == 1 else f"the period {lag.back} periods ago"
    return told | {"nulls": True, "description": f"{lag.of} in {ago}; null for who was not there"}


_OF_THIS_PERIOD = ("detail",)  # only measured with other columns is who became what


def _mapping(content: Any, key: str) -> dict[str, Any]:
    """What stands under the key, if it is a mapping; else an empty one."""
    found = content.get(key) if isinstance(content, dict) else None
    return found if isinstance(found, dict) else {}
