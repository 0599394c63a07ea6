"""A workload of linear queries: blocks in a common unit, and what every query is called.

The class is closed under negation: whoever looks for the query that fits worst (`Curator.choices`)
looks among all queries and their negations, of which there are `Workload.signed`. Values lie in
[-1, 1]. A query that is listed twice counts twice, but queries of the same kind on the same cells
share a block, and marginals that are listed twice are kept once.

Oracle.  tests/mechanisms/linear_queries/test_workload.py evaluates the parts record by record.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
from scipy import sparse

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.linear_queries.cell_names import CellNames, box_name
from hallmark.mechanisms.linear_queries.kinds import MOST_QUERIES, Part
from hallmark.mechanisms.privacy.linear_queries import (
    Block,
    Boxes,
    EachCell,
    LinearQueries,
    Matrix,
    Rows,
)

LARGEST_UNIT = 2**20


@dataclass(frozen=True, eq=False)
class Workload:
    """Linear queries with their names. Public.

    Attributes:
        queries: on records of the domain that `names` is of.
        names: of the cells of every column of the domain.
        titles: by block, where in it the queries of a part start, and how they are called.
    """

    queries: LinearQueries
    names: tuple[CellNames, ...]
    titles: tuple[tuple[tuple[int, str | None], ...], ...]

    @classmethod
    def of(
        cls, domain: Domain, parts: Iterable[Part], names: Sequence[CellNames] | None = None
    ) -> "Workload":
        """All queries of the parts in their order, but for those that join an earlier block.

        Raises:
            ValueError: there are none, too many, or their common unit is too fine.
        """
        groups = _grouped(parts)
        unit = lcm(*(part.unit for group in groups for part in group))
        if unit > LARGEST_UNIT:
            raise ValueError(
                f"the values of all queries together are multiples of 1/{unit}, but at most of "
                f"1/{LARGEST_UNIT}; give matrices a common unit, or none to have them rounded"
            )
        queries = LinearQueries(
            tuple(Block(group[0].cells, _joined(group, unit)) for group in groups), unit
        )
        if queries.size > MOST_QUERIES:
            raise ValueError(
                f"there are {queries.size:,} queries, but at most {MOST_QUERIES:,} are taken; ask "
                "for fewer"
            )
        sizes = [[0, *(part.rows.size for part in group[:-1])] for group in groups]
        if names is None:
            named = zip(domain.names, domain.shape, strict=True)
            names = [CellNames.of_codes(name, cells) for name, cells in named]
        return cls(
            queries,
            tuple(names),
            tuple(
                tuple(
                    (int(start), part.title)
                    for start, part in zip(np.cumsum(starts), group, strict=True)
                )
                for starts, group in zip(sizes, groups, strict=True)
            ),
        )

    @property
    def size(self) -> int:
        """Number of queries."""
        return self.queries.size

    @property
    def signed(self) -> int:
        """Number of queries and their negations, the class that choices are made from."""
        return 2 * self.size

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Positions of the columns that some query sees."""
        return tuple(sorted({column for cells in self.queries.maps for column in cells.columns}))

    def label(self, query: int) -> str:
        """What a query asks, for people."""
        block, row = self.queries.located(query)
        titles = self.titles[block]
        position = bisect_right([start for start, _ in titles], row) - 1
        start, title = titles[position]
        if title is None:
            return self._seen(block, row)
        following = titles[position + 1][0] if position + 1 < len(titles) else None
        rows = self.queries.blocks[block].rows
        alone = (following or rows.size) - start == 1
        return title if alone else f"{title}, row {row - start + 1}"

    def described(self, query: int) -> dict[str, Any]:
        """A query as plain JSON values: its label, its columns, and the range of its values."""
        block, _ = self.queries.located(query)
        return {
            "label": self.label(query),
            "columns": [self.names[c].column for c in self.queries.maps[block].columns],
            "least": int(self.queries.least[query]) / self.queries.unit,
            "greatest": int(self.queries.greatest[query]) / self.queries.unit,
        }

    @property
    def summary(self) -> Mapping[str, Any]:
        """The workload as plain JSON values."""
        return {
            "queries": self.size,
            "signed_queries": self.signed,
            "unit": f"1/{self.queries.unit}",
            "columns": [self.names[column].column for column in self.columns],
            "sha256": self.queries.digest,
        }

    def _seen(self, block: int, row: int) -> str:
        """The cells that a query counts, which its rows tell."""
        cells, rows = self.queries.blocks[block].cells, self.queries.blocks[block].rows
        names = [self.names[column] for column in cells.columns]
        if isinstance(rows, Boxes):
            return box_name(names, rows.lower[row].tolist(), rows.upper[row].tolist())
        where = np.unravel_index(row, [len(name.firsts) for name in names])
        return ", ".join(name.run(int(i), int(i) + 1) for name, i in zip(names, where, strict=True))


def _grouped(parts: Iterable[Part]) -> list[list[Part]]:
    """Parts that can share a block, in the order in which the first of each is listed."""
    groups: dict[tuple[str, type[Rows]], list[Part]] = {}
    for part in parts:
        group = groups.setdefault((part.cells.digest, type(part.rows)), [])
        if not group or not isinstance(part.rows, EachCell):
            group.append(part)
    if not groups:
        raise ValueError("there is no query; list at least one")
    return list(groups.values())


def _joined(group: Sequence[Part], unit: int) -> Rows:
    """The rows of the parts one after the other, in units of 1/unit."""
    first = group[0].rows
    if isinstance(first, EachCell):
        return replace(first, value=first.value * (unit // group[0].unit))
    if isinstance(first, Boxes):
        boxes = [part.rows for part in group if isinstance(part.rows, Boxes)]
        assert all((box.shape, box.value) == (first.shape, 1) for box in boxes)
        lower = np.concatenate([box.lower for box in boxes])
        upper = np.concatenate([box.upper for box in boxes])
        return Boxes(first.shape, lower, upper, value=unit)
    matrices = [
        part.rows.values * np.int64(unit // part.unit)
        for part in group
        if isinstance(part.rows, Matrix)
    ]
    return Matrix(sparse.csr_array(sparse.vstack(matrices, format="csr")))
