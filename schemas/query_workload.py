"""Linear queries in a release spec: the list `mechanism.queries`.

    queries:
      - marginals: {ways: 3}                              # every cell of all 3-way marginals
      - marginals: {columns: [[SEX, MSP], [AGEP, SEX]]}
      - prefixes: {columns: [AGEP]}                       # AGEP below every edge
      - ranges: {columns: [AGEP, PINCP], count: 200, seed: 1}
      - where: AGEP >= 18 and SEX = "1"                   # in the language of edit rules
      - halfspaces: {columns: [AGEP, EDU], count: 100, seed: 1}
      - means: {columns: [AGEP]}
      - matrix: {columns: [SEX, MSP], file: queries.csv}

A query gives every record a value in [-1, 1]; its answer is the mean over all records. Prefixes or
ranges of several columns are a product; for separate queries, write one entry per column.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from hallmark.schemas.columns.columns import Column, NominalColumn, PlacesColumn
from hallmark.schemas.nearest import no_such_column
from hallmark.schemas.query_cuts import cell_problems
from hallmark.schemas.rules.rules import Condition, RuleError, parse_condition
from hallmark.schemas.section import Path, Problem, Section

MOST_COLUMNS = 5  # of a product of ranges
MOST_RANDOM = 2**22  # queries of one entry

Names = Annotated[tuple[str, ...], Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=MOST_RANDOM)]
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]


class MarginalQueries(Section):
    """The share of records in every cell of marginals: all of a given size, or those listed."""

    ways: int | None = Field(default=None, ge=1, le=10)
    """the number of columns per marginal; every marginal of that size is asked"""
    columns: tuple[Names, ...] | None = Field(default=None, min_length=1)
    """the marginals' columns, a list of lists such as [[SEX, MSP], [AGEP]]"""

    def _problems(self) -> Iterator[Problem]:
        if (self.ways is None) == (self.columns is None):
            yield Problem(
                (), "needs either ways (the number of columns per marginal), or columns (a list of "
                "lists such as [[SEX, MSP]])"
            )  # fmt: skip


class PrefixQueries(Section):
    """The share of records below every edge of the columns' cells, in all the columns at once."""

    columns: Names
    """columns with an order; for several columns, the products of their prefixes are asked"""


class RangeQueries(Section):
    """The share of records in ranges of the columns' cells, in all the columns at once."""

    columns: Names
    """columns with an order; for several columns, the products of their ranges are asked"""
    count: Count | None = None
    """the number of random ranges; defaults to all ranges"""
    seed: Seed | None = None
    """the seed of the random ranges: the same seed gives the same ranges; defaults to 0"""

    def _problems(self) -> Iterator[Problem]:
        if self.count is None and self.seed is not None:
            what = "is for random ranges; add count, or remove it to ask all ranges"
            yield Problem(("seed",), what)


class HalfspaceQueries(Section):
    """The share of records whose randomly weighted positions add up to more than a threshold."""

    columns: Names
    """columns with an order"""
    count: Count
    """the number of random halfspaces"""
    seed: Seed = 0
    """the seed of the random halfspaces: the same seed gives the same halfspaces"""


class MeanQueries(Section):
    """The mean position of every column between its bounds, as a number from 0 to 1."""

    columns: Names
    """columns with an order; a null counts as 0"""


class MatrixQueries(Section):
    """Queries from a file: one per row, with a number in [-1, 1] for every cell of the columns."""

    columns: Names
    """the columns whose cells the numbers are for; the cells of the last column vary fastest"""
    file: str = Field(min_length=1)
    """a public .npy file, or .csv file without a heading, relative to the spec"""
    unit: int | None = Field(default=None, ge=1, le=2**20)
    """if given, the numbers are whole and stand for multiples of 1/unit; otherwise they are rounded
    to multiples of 1/65536, and the rounded queries are asked"""

    def _problems(self) -> Iterator[Problem]:
        if not self.file.lower().endswith((".csv", ".npy")):
            what = f"is {self.file!r}; give a file whose name ends in .csv or .npy"
            yield Problem(("file",), what)


class QueryEntry(Section):
    """One entry of the list: a kind of query with its arguments."""

    marginals: MarginalQueries | None = None
    """every cell of marginals: {ways: 3} or {columns: [[SEX, MSP]]}"""
    prefixes: PrefixQueries | None = None
    """prefixes of ordered columns: {columns: [AGEP]}"""
    ranges: RangeQueries | None = None
    """ranges of ordered columns: {columns: [AGEP, PINCP], count: 200, seed: 1}"""
    where: str | None = None
    """a condition in the language of edit rules, such as AGEP >= 18 and SEX = "1"; a record for
    which nulls leave it undecided does not count"""
    halfspaces: HalfspaceQueries | None = None
    """random halfspaces of ordered columns: {columns: [AGEP, EDU], count: 100, seed: 1}"""
    means: MeanQueries | None = None
    """mean positions of ordered columns: {columns: [AGEP]}"""
    matrix: MatrixQueries | None = None
    """any queries: {columns: [SEX, MSP], file: queries.csv}"""

    @property
    def kind(self) -> str:
        """The key that the entry has."""
        return next(key for key in KINDS if getattr(self, key) is not None)

    def condition(self, columns: Mapping[str, Column]) -> Condition:
        """The condition of `where`, bound to the columns."""
        assert self.where is not None, "only where there is one"
        return parse_condition(self.where).bound_to(columns)

    def touched(self) -> tuple[str, ...]:
        """The columns that the entry names, each once."""
        if self.where is not None:
            return parse_condition(self.where).columns()
        listed = getattr(self, self.kind).columns
        if self.marginals is not None:
            listed = [name for names in listed or () for name in names]
        return tuple(dict.fromkeys(listed))

    def problems(self, columns: Mapping[str, Column]) -> Iterator[Problem]:
        """Everything that does not suit the columns, with its fix; empty for a sound entry."""
        if self.where is not None:
            for what in cell_problems(parse_condition(self.where), columns):
                yield Problem(("where",), what)
        elif self.marginals is not None:
            yield from _marginal_problems(self.marginals, columns)
        else:
            listed = getattr(self, self.kind).columns
            yield from _name_problems((self.kind, "columns"), listed, columns)
            if self.matrix is None:
                yield from self._order_problems(listed, columns)

    def _problems(self) -> Iterator[Problem]:
        given = [key for key in KINDS if getattr(self, key) is not None]
        if len(given) != 1:
            found = f"has {' and '.join(given)}" if given else "is empty"
            what = f"{found}; an entry has one of {', '.join(KINDS)}, so write one entry for each"
            yield Problem((), what)
        elif self.where is not None:
            try:
                parse_condition(self.where)
            except RuleError as error:
                yield Problem(("where",), str(error))

    def _order_problems(
        self, listed: tuple[str, ...], columns: Mapping[str, Column]
    ) -> Iterator[Problem]:
        for i, name in enumerate(listed):
            column = columns.get(name)
            if isinstance(column, NominalColumn | PlacesColumn):
                yield Problem(
                    (self.kind, "columns", i),
                    f"{name} is {column.type} and has no order, so it has no {self.kind}; ask for "
                    "its marginal, or make the column ordinal",
                )
        if self.kind in ("prefixes", "ranges") and len(listed) > MOST_COLUMNS:
            yield Problem(
                (self.kind, "columns"),
                f"lists {len(listed)}, but a product has at most {MOST_COLUMNS}; write an entry "
                "for each group of columns",
            )


KINDS = tuple(QueryEntry.model_fields)
"""The kinds of query, by their keys."""


def _marginal_problems(
    marginals: MarginalQueries, columns: Mapping[str, Column]
) -> Iterator[Problem]:
    if marginals.ways is not None and marginals.ways > len(columns):
        yield Problem(
            ("marginals", "ways"),
            f"is {marginals.ways}, but there are only {len(columns)} columns; give at most that",
        )
    for i, names in enumerate(marginals.columns or ()):
        yield from _name_problems(("marginals", "columns", i), names, columns)


def _name_problems(
    path: Path, names: tuple[str, ...], columns: Mapping[str, Column]
) -> Iterator[Problem]:
    for i, name in enumerate(names):
        if name not in columns:
            yield Problem((*path, i), no_such_column(name, columns))
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield Problem(path, f"lists {name} more than once; keep one of each")
