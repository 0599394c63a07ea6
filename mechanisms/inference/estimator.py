"""Estimates from everything that a release measured, on whichever grid tells most.

Tables on few columns are looked at together, on the combinations of these columns' codes. Where the
number of records is public, those that share no column with the queries are left out, and others
are summed to the columns that they share where they can be: what is lost tells of the queries'
columns only where cells were measured in groups of unequal size, and then less than a
hundred-thousandth of a deviation, at many times the cost. A table on many combinations of codes,
such as those of hundreds of categories in groups, is summed even so, though that loses some
precision. A table on so many columns that their combinations cannot be written out is looked at on
its own cells, together with others on the same cells; it informs queries that its cells decide.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.inference.blue import Blue, LinearQuery, NotMeasured, Weights
from hallmark.mechanisms.inference.estimates import Estimates
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.inference.transcript import Transcript
from hallmark.mechanisms.privacy.cells import CellMap

MOST_COMBINATIONS = 2**20  # of a table that is looked at together with others
MOST_WHOLE = 2**12  # of a table that is not summed to a query's columns where that loses anything


@dataclass(frozen=True, eq=False)
class Estimator:
    """Answers linear queries from measured tables.

    Attributes:
        tables: all of a release.
        total: the number of records, if it is public.
    """

    tables: tuple[MeasuredTable, ...]
    total: int | None

    @classmethod
    def of(cls, transcript: Transcript) -> "Estimator":
        """The estimator from everything in a transcript."""
        return cls(tuple(transcript.tables()), transcript.total)

    def about(self, columns: Iterable[int]) -> "Estimator":
        """The estimator from the tables alone that have all of these columns, or no others."""
        wanted = set(columns)
        tables = tuple(
            one
            for one in self._touching(wanted)
            if wanted.issubset(one.columns) or wanted.issuperset(one.columns)
        )
        return replace(self, tables=tables)

    def _touching(self, columns: Iterable[int]) -> list[MeasuredTable]:
        """The tables that have one of these columns, or none at all."""
        places = set(self._without_columns).union(*(self._places[column] for column in columns))
        return [self.tables[place] for place in sorted(places)]

    def _about(self, columns: set[int]) -> Iterator[MeasuredTable]:
        """The tables that touch the columns, summed to those of them that they have.

        Where one has no such sum, those on the same columns are needed whole beside it.
        """
        alike: dict[Clique, list[MeasuredTable]] = {}
        for one in self._touching(columns):
            alike.setdefault(one.columns, []).append(one)
        for of_all, tables in alike.items():
            kept = columns.intersection(of_all)
            margins = []
            if 0 < len(kept) < len(of_all):
                whole = max(prod(one.shape) for one in tables) <= MOST_WHOLE
                found = (one.margin(kept, whole=whole) for one in tables)
                margins = [margin for margin in found if margin is not None]
            yield from margins if len(margins) == len(tables) else tables

    @cached_property
    def _places(self) -> Mapping[int, list[int]]:
        """Where the tables with a column stand among all."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for place, one in enumerate(self.tables):
            for column in one.columns:
                found[column].append(place)
        return found

    @cached_property
    def _without_columns(self) -> list[int]:
        return [place for place, one in enumerate(self.tables) if not one.columns]

    def estimates(self, queries: Sequence[LinearQuery]) -> Estimates:
        """The estimates of least variance, all from the same grid, which no answer decides.

        Raises:
            NotMeasured: no grid tells all of the queries.
        """
        columns = {column for query in queries for column in query.columns}
        near = self
        if self.total is not None and columns:
            near = replace(self, tables=tuple(self._about(columns)))
        found, missing = [], None
        for grid in near._grids:
            try:
                found.append(Estimates(grid.weights(queries), self.total or 0))
            except NotMeasured as error:
                missing = missing or error
        if not found:
            raise missing or NotMeasured([query.columns for query in queries])
        return min(found, key=lambda one: float(np.trace(one.covariance)))

    @cached_property
    def _grids(self) -> "tuple[Blue | _OnCells, ...]":
        public = self.total is not None
        together = [one for one in self.tables if one.fits(MOST_COMBINATIONS)]
        wide: dict[str, list[MeasuredTable]] = {}
        for one in self.tables:
            if not one.fits(MOST_COMBINATIONS):
                wide.setdefault(one.cells.digest, []).append(one)
        grids = [_OnCells.of(tables, total_is_public=public) for tables in wide.values()]
        return (Blue(together, total_is_public=public), *grids)


@dataclass(frozen=True, eq=False)
class _OnCells:
    """Tables on the same cells, whose number takes the place of a column."""

    table: MeasuredTable  # any of them
    blue: Blue

    @classmethod
    def of(cls, tables: Iterable[MeasuredTable], *, total_is_public: bool) -> "_OnCells":
        known = tuple(tables)
        size = known[0].cells.size
        numbered = CellMap((0,), (np.arange(size, dtype=np.int64),), size)
        blue = Blue(
            [replace(one, cells=numbered) for one in known], total_is_public=total_is_public
        )
        return cls(known[0], blue)

    def weights(self, queries: Sequence[LinearQuery]) -> Weights:
        on_cells = [self.table.on_cells(query.values, query.columns) for query in queries]
        told = [LinearQuery((0,), values) for values in on_cells if values is not None]
        if len(told) < len(queries):
            raise NotMeasured([query.columns for query in queries])
        return self.blue.weights(told)
