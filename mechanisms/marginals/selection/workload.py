"""Workloads: the marginals that a release is to answer well, and how much each matters.

A workload is either all marginals of so many columns (`ways`), or a list that the spec gives
(`workload`), each entry with its columns and, optionally, a weight. Columns that matter most may
have marginals of more of them besides, for a share of the budget (`priorities`), and so may the
pairs of the column that the records will be used to predict (`target`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

from hallmark.mechanisms.domain.cliques import Clique, all_ways, cells, title
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.selection.settings import (
    WHERE,
    Settings,
    nearest,
    positive,
    refuse_unknown,
    share,
    short,
    whole,
)

MAX_CELLS = 2**27  # of all tables together: 1 GiB of counts, and some ten minutes of noise
MAX_MARGINALS = 100_000  # every one is a query, with a digest of its own in the log
MOST_TIMES = 10_000  # that a weight may be of another
DEFAULT_WAYS = 2
PRIORITY_WAYS = 3
ALL = "all"  # in place of the names of all columns
PRIORITY_SHARE = Fraction(1, 5)
TARGET_SHARE = Fraction(3, 20)


@dataclass(frozen=True)
class Workload:
    """Marginals with positive weights; only the ratios of the weights matter. Public.

    Attributes:
        cliques: the marginals, each once.
        weights: of each.
        ways: columns of each, where they are all marginals of so many; None for a list.
    """

    cliques: tuple[Clique, ...]
    weights: tuple[Fraction, ...]
    ways: int | None = None

    def to_json(self, domain: Domain) -> Mapping[str, Any]:
        """The workload as a release spec gives it, plain JSON values."""
        if self.ways is not None:
            return {"ways": self.ways}
        return {
            "workload": [
                {"columns": [domain.names[a] for a in clique], "weight": str(weight)}
                for clique, weight in zip(self.cliques, self.weights, strict=True)
            ]
        }


def parse_workload(settings: Settings, domain: Domain) -> Workload:
    """The workload of a spec: its `workload`, or all marginals of `ways` columns.

    Raises:
        ValueError: both are given, or one is not what it should be; the message tells where.
    """
    if "workload" in settings:
        if "ways" in settings:
            raise ValueError(f"{WHERE}.ways: given with workload; give one of the two")
        return _listed(settings["workload"], domain)
    return _all(settings, domain)


@dataclass(frozen=True)
class Priorities:
    """Columns whose marginals of `ways` are measured besides. Public.

    Attributes:
        columns: positions, ascending.
        share: of the budget, in zCDP, above 0 and below 1.
    """

    columns: Clique
    ways: int
    share: Fraction

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """The marginals."""
        return tuple(combinations(self.columns, self.ways))

    def to_json(self, domain: Domain) -> Mapping[str, Any]:
        """As a release spec gives it, plain JSON values."""
        names = [domain.names[column] for column in self.columns]
        return {"columns": names, "ways": self.ways, "share": str(self.share)}


@dataclass(frozen=True)
class Target:
    """A column that the records will be used to predict: its pairs are measured besides. Public.

    Attributes:
        column: position.
        columns: of the table.
        share: of the budget, in zCDP, above 0 and below 1.
    """

    column: int
    columns: int
    share: Fraction

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """The marginals."""
        others = (a for a in range(self.columns) if a != self.column)
        return tuple((min(a, self.column), max(a, self.column)) for a in others)

    def to_json(self, domain: Domain) -> Mapping[str, Any]:
        """As a release spec gives it, plain JSON values."""
        return {"column": domain.names[self.column], "share": str(self.share)}


def with_more_of(workload: Workload, more: Priorities | Target) -> Workload:
    """The workload with these marginals, which share their part of the budget evenly.

    Precisions of a marginal that is in both add up.
    """
    others = sum((weight**2 for weight in workload.weights), Fraction(0))
    each = float(more.share / (1 - more.share) * others / len(more.cliques))
    weights = dict(zip(workload.cliques, workload.weights, strict=True))
    for clique in more.cliques:
        weights[clique] = short((float(weights.get(clique, 0)) ** 2 + each) ** 0.5)
    return Workload(tuple(weights), tuple(weights.values()))


def parse_priorities(settings: Settings, domain: Domain) -> Priorities | None:
    """The columns of a spec that matter most; None where it names none.

    Raises:
        ValueError: they are not what they should be; the message tells where.
    """
    given, where = settings.get("priorities"), f"{WHERE}.priorities"
    if given is None:
        return None
    if not isinstance(given, Mapping) or "columns" not in given:
        raise ValueError(f"{where}: {given!r}; give {{columns: [...], ways: 3, share: 0.2}}")
    refuse_unknown(given, ("columns", "ways", "share"), "the section", where)
    named = domain.names if given["columns"] == ALL else given["columns"]
    columns = _clique(named, f"{where}.columns", domain.names)
    ways = whole(given, "ways", PRIORITY_WAYS, where)
    if ways > len(columns):
        raise ValueError(
            f"{where}.ways: {ways!r}; give a whole number from 1 to the {len(columns)} columns "
            "that are named"
        )
    return Priorities(columns, ways, share(given, "share", PRIORITY_SHARE, where))


def parse_target(settings: Settings, domain: Domain) -> Target | None:
    """The column of a spec that is to be predicted; None where it names none.

    Raises:
        ValueError: it is not what it should be; the message tells where.
    """
    given, where = settings.get("target"), f"{WHERE}.target"
    if given is None:
        return None
    section = given if isinstance(given, Mapping) else {"column": given}
    if not isinstance(section.get("column"), str):
        raise ValueError(f"{where}: {given!r}; give a column, or {{column: ..., share: 0.15}}")
    refuse_unknown(section, ("column", "share"), "the section", where)
    (column,) = _clique([section["column"]], where, domain.names)
    if len(domain) < 2:
        raise ValueError(f"{where}: {section['column']} is the only column; leave it out")
    return Target(column, len(domain), share(section, "share", TARGET_SHARE, where))


def refuse_large(cliques: Iterable[Clique], domain: Domain, what: str) -> None:
    """Tables that are too large to be measured, or to be looked at for a choice.

    Raises:
        ValueError: they have more than `MAX_CELLS` cells in all.
    """
    sizes = {clique: cells(clique, domain.shape) for clique in cliques}
    if sum(sizes.values()) > MAX_CELLS:
        largest = max(sizes, key=sizes.__getitem__)
        raise ValueError(
            f"{WHERE}: {what} have {sum(sizes.values()):,} cells, more than {MAX_CELLS:,}; use "
            "fewer or smaller marginals, or coarser cells (the largest is "
            f"{title(largest, domain.names)} with {sizes[largest]:,})"
        )


def _all(settings: Settings, domain: Domain) -> Workload:
    columns = len(domain)
    ways = whole(settings, "ways", min(DEFAULT_WAYS, max(columns, 1)))
    if ways > columns:
        raise ValueError(
            f"{WHERE}.ways: {ways}, but there are only {columns} columns; give at most that many"
        )
    marginals = comb(columns, ways)
    if marginals > MAX_MARGINALS:
        raise ValueError(
            f"{WHERE}.ways: {ways}, and {columns} columns have {marginals:,} marginals of so many, "
            f"more than {MAX_MARGINALS:,}; give fewer ways, or list the workload"
        )
    return Workload(all_ways(columns, ways), (Fraction(1),) * marginals, ways)


def _listed(given: Any, domain: Domain) -> Workload:
    where = f"{WHERE}.workload"
    if not _is_list(given):
        raise ValueError(f"{where}: {given!r}; give a list of {{columns: [...], weight: ...}}")
    if not given:
        raise ValueError(f"{where}: there is no marginal; list one at least")
    if len(given) > MAX_MARGINALS:
        raise ValueError(f"{where}: {len(given):,} marginals; list at most {MAX_MARGINALS:,}")
    seen: dict[Clique, int] = {}
    weights = []
    for position, entry in enumerate(given):
        here = f"{where}[{position}]"
        if not isinstance(entry, Mapping) or "columns" not in entry:
            raise ValueError(f"{here}: {entry!r}; give {{columns: [...], weight: ...}}")
        for name in entry:
            if name not in ("columns", "weight"):
                mend = nearest(name, ("columns", "weight")) or "there are columns and weight"
                raise ValueError(f"{here}.{name}: a marginal has no such setting; {mend}")
        clique = _clique(entry["columns"], f"{here}.columns", domain.names)
        if clique in seen:
            raise ValueError(
                f"{here}.columns: {title(clique, domain.names)} is entry {seen[clique]} too; list "
                "each marginal once, with the weight it should have"
            )
        weight = positive(entry.get("weight", 1))
        if weight is None:
            raise ValueError(f"{here}.weight: {entry['weight']!r}; give a positive number")
        seen[clique] = position
        weights.append(weight)
    if max(weights) > MOST_TIMES * min(weights):
        raise ValueError(
            f"{where}: the largest weight is more than {MOST_TIMES:,} times the smallest, whose "
            "marginal would be noise alone; leave it out, or weigh it more"
        )
    return Workload(tuple(seen), tuple(weights))


def _clique(given: Any, where: str, names: Sequence[str]) -> Clique:
    if not _is_list(given) or not given:
        raise ValueError(f"{where}: {given!r}; give a list of column names")
    positions = []
    for name in given:
        if name not in names:
            mend = nearest(name, names) or "name columns of the spec"
            raise ValueError(f"{where}: there is no column {name}; {mend}")
        position = names.index(name)
        if position in positions:
            raise ValueError(f"{where}: {name} is named twice; name each column once")
        positions.append(position)
    return tuple(sorted(positions))


def _is_list(given: Any) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, str)
