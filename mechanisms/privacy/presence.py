"""In which periods of a series one unit may have records, and what the most exposed unit costs.

Claim.   Releases are about one period each. If, for every set of periods in which one unit may have
         records, the releases of its periods cost at most rho in zCDP together on every path, then
         the whole series is rho-zCDP: for histories whose tables are neighbours in the periods of
         one such set, each under the account's relation, and equal in all others.
Proof.   Fix two such histories and their set. Given all earlier answers, a release of a period
         outside the set has the same law under both, and adds nothing to the privacy loss. What is
         left are the releases of the set, and account_filter.md, "Caps in rho", holds for them.
Limits.  The claim is about the periods of one set. A person with records in more of them than the
         sets admit is protected for every part of the records that one set holds, and the parts
         compose.
Oracle.  tests/mechanisms/privacy/test_presence.py: all sets, one by one, of short series.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Literal, get_args

Length = Literal["day", "week", "month", "quarter", "year"]
"""How long a period is."""

LENGTHS: tuple[Length, ...] = get_args(Length)


@dataclass(frozen=True, order=True)
class Period:
    """A period of a series.

    Attributes:
        length: of the period.
        number: consecutive periods have consecutive numbers.
    """

    length: Length
    number: int


@dataclass(frozen=True, kw_only=True)
class Presence:
    """The sets of periods in which one unit may have records. Public, and recorded.

    Attributes:
        length: of the periods.
        pattern: ascending distances from the first period that a unit is in, which is 0: (0, 1, 2)
            for any three in a row, (0, 1, 2, 12, 13, 14) for three months in each of two years;
            None for all periods.
        most: how many of those it may be in; None for all of them.
    Raises:
        ValueError: the pattern does not begin with 0 and ascend, or `most` is less than 1.
    """

    length: Length
    pattern: tuple[int, ...] | None = None
    most: int | None = None

    def __post_init__(self) -> None:
        pattern = self.pattern
        if pattern is not None and (pattern[:1] != (0,) or sorted(set(pattern)) != list(pattern)):
            raise ValueError(f"a pattern begins with 0 and ascends, unlike {pattern}")
        if self.most is not None and self.most < 1:
            raise ValueError(f"a unit is in at least one period, not in {self.most}")

    @property
    def is_everywhere(self) -> bool:
        """Whether a unit may have records in all periods, so that all their releases compose."""
        return self.pattern is None and self.most is None

    def heaviest(self, costs: Mapping[int, Fraction], holding: int | None = None) -> Fraction:
        """The most that the periods of one set cost together.

        Args:
            costs: by the periods' numbers, at least 0.
            holding: only sets that hold this period, which may cost nothing so far.
        """
        sums = (self._sum(costs, held, holding) for held in self._held(costs, holding))
        return max(sums, default=Fraction(0))

    def _held(self, costs: Mapping[int, Fraction], holding: int | None) -> Iterator[set[int]]:
        """Sets of periods that hold all sets worth looking at."""
        if self.pattern is None:
            yield set(costs)
            return
        through = costs if holding is None else (holding,)
        for start in {period - after for period in through for after in self.pattern}:
            yield {start + after for after in self.pattern}

    def _sum(self, costs: Mapping[int, Fraction], held: set[int], holding: int | None) -> Fraction:
        others = sorted((costs[p] for p in held & set(costs) if p != holding), reverse=True)
        own = Fraction(0) if holding is None else costs.get(holding, Fraction(0))
        most = None if self.most is None else self.most - (holding is not None)
        return own + sum(others[:most], Fraction(0))

    def __str__(self) -> str:
        if self.pattern is None:
            of, some = f"all {self.length}s", f"any {self.most} {self.length}s"
        elif self.pattern == tuple(range(len(self.pattern))):
            row = f"{len(self.pattern)} {self.length}s in a row"
            of, some = f"any {row}", f"any {self.most} of {row}"
        else:
            of = f"the {self.length}s {', '.join(str(o + 1) for o in self.pattern)} of a rotation"
            some = f"any {self.most} of {of}"
        if self.most == 1:
            return f"one {self.length}"
        return of if self.most is None else some


def period(name: str) -> Period:
    """The period of a name, such as 2026, 2026-q4, 2026-11, 2026-w47 or 2026-11-21.

    A period has one name: what two names cost could not be told to be of one period.

    Raises:
        ValueError: no period is written like that.
    """
    for form, read in _FORMS:
        if (parts := re.fullmatch(form, name)) is not None:
            try:
                found = read(*(int(part) for part in parts.groups()))
            except ValueError:
                break  # such as 2026-02-30
            if name_of(found) == name:
                return found
    raise ValueError(
        f"{name!r} is no period; write it like 2026, 2026-q4, 2026-11, 2026-w47 or 2026-11-21"
    )


def name_of(one: Period) -> str:
    """Inverse of `period`."""
    match one.length:
        case "year":
            return f"{one.number:04d}"
        case "quarter":
            return f"{one.number // 4:04d}-q{one.number % 4 + 1}"
        case "month":
            return f"{one.number // 12:04d}-{one.number % 12 + 1:02d}"
        case "week":
            year, week, _ = date.fromordinal(7 * one.number + 1).isocalendar()
            return f"{year:04d}-w{week:02d}"
        case "day":
            return date.fromordinal(one.number).isoformat()


def rotating(runs: str) -> tuple[int, ...]:
    """The pattern of a rotation: so many periods in, out, in and so on, such as 4-8-4.

    Raises:
        ValueError: it is not written like that.
    """
    if not re.fullmatch(r"[1-9]\d{0,2}(-[1-9]\d{0,2}-[1-9]\d{0,2})*", runs):
        raise ValueError(
            f"{runs!r} is no rotation; write how many periods a unit is in, out and in again, such "
            "as 4-8-4"
        )
    pattern: list[int] = []
    start = 0
    for number, run in enumerate(int(part) for part in runs.split("-")):
        if number % 2 == 0:
            pattern += range(start, start + run)
        start += run
    return tuple(pattern)


_FORMS: Iterable[tuple[str, Callable[..., Period]]] = (
    (r"(\d{4})", lambda year: Period("year", year)),
    (r"(\d{4})-q([1-4])", lambda year, quarter: Period("quarter", 4 * year + quarter - 1)),
    (r"(\d{4})-(0[1-9]|1[0-2])", lambda year, month: Period("month", 12 * year + month - 1)),
    (
        r"(\d{4})-w(\d{2})",
        lambda year, week: Period("week", date.fromisocalendar(year, week, 1).toordinal() // 7),
    ),
    (r"(\d{4})-(\d{2})-(\d{2})", lambda *day: Period("day", date(*day).toordinal())),
)
