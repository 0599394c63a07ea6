"""Published totals that the released file must reproduce exactly.

A total is a complete table of counts by the values of some columns, or the number of records for
which a condition holds. It is public: it is stated here with its source, and never read from the
private data.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema

from hallmark.schemas.columns.category_columns import CategoryColumn
from hallmark.schemas.columns.columns import BooleanColumn, Column, DateColumn
from hallmark.schemas.columns.interval_columns import EPOCH, IntervalColumn
from hallmark.schemas.exact import shown
from hallmark.schemas.nearest import did_you_mean, no_such_column
from hallmark.schemas.rules.rules import Condition, RuleError, parse_condition
from hallmark.schemas.section import Path, Problem, Section

NULL = "null"  # names missing values in a total, as do the file's null markers
COUNT = "count"  # the key of a row that is not a column
_LISTED = 3  # most things that a message lists

Table = Mapping[str, Any] | tuple[Any, ...]


def _read_count(value: Any) -> Any:
    """The whole number as written; anything else unchanged, for `_count_problems` to refuse."""
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 12 else value


def _read_counts(value: Any) -> Table:
    if isinstance(value, Mapping):
        return {str(label): _read_count(count) for label, count in value.items()}
    if isinstance(value, list | tuple) and all(isinstance(row, Mapping) for row in value):
        return tuple(
            {
                key: _read_count(entry) if key == COUNT else NULL if entry is None else str(entry)
                for key, entry in row.items()
            }
            for row in value
        )
    raise ValueError(
        "must be a mapping such as {F: 5230, M: 4770}, or for several columns a list such as "
        f"[{{sex: F, region: north, count: 120}}, ...], not {shown(value)}"
    )


def _written(counts: Table) -> Any:
    return dict(counts) if isinstance(counts, Mapping) else [dict(row) for row in counts]


_WHOLE: dict[str, Any] = {"type": ["integer", "string"], "minimum": 0, "pattern": "^[0-9]+$"}
Count = Annotated[Any, PlainValidator(_read_count), WithJsonSchema(_WHOLE)]
Counts = Annotated[
    Table,
    PlainValidator(_read_counts),
    PlainSerializer(_written),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "object", "additionalProperties": _WHOLE, "minProperties": 1},
                {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "properties": {COUNT: _WHOLE},
                        "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
                        "required": [COUNT],
                    },
                },
            ]
        }
    ),
]


@dataclass(frozen=True)
class Group:
    """Records that a total counts together.

    Attributes:
        title: for people, such as `sex F, region north`.
        cells: neighbouring cells of every column of the total, in its order; the null cell of a
            column comes after its values.
        count: of records, as published.
    """

    title: str
    cells: tuple[range, ...]
    count: int


class PublicTotal(Section):
    """A published total: columns with counts, or where with count, and a reference."""

    columns: tuple[str, ...] | None = Field(default=None, min_length=1)
    """the columns of a complete table of counts"""
    counts: Counts | None = None
    """the complete table: {value: count} for one column, a list of {column: value, ..., count: n}
    for several; intervals are written like 0 to 14"""
    where: str | None = None
    """a condition in the language of edit rules, such as "age >= 65 and region = north" with
    values of categories in quotes"""
    count: Count | None = None
    """the number of records that fulfil the condition"""
    reference: str = Field(min_length=1)
    """where the total was published, so that a reviewer can find it"""

    @property
    def is_table(self) -> bool:
        """Whether this is a complete table, which says how many records there are in all."""
        return self.columns is not None

    @property
    def records(self) -> int | None:
        """The number of all records, if the total says so; else None."""
        return sum(count for _, count in self._rows()) if self.is_table else None

    @property
    def fulfilling(self) -> int:
        """The number of records that fulfil the condition of `where`."""
        assert isinstance(self.count, int), "only a sound total by where has one"
        return self.count

    @property
    def title(self) -> str:
        """What is counted, for people."""
        return " by ".join(self.columns) if self.columns is not None else f"where {self.where}"

    def condition(self, columns: Mapping[str, Column]) -> Condition:
        """The condition of `where`, bound to the columns."""
        return parse_condition(self.where or "").bound_to(columns)

    def touched(self) -> tuple[str, ...]:
        """The columns that the total mentions, each once."""
        return self.columns or parse_condition(self.where or "").columns()

    def groups(
        self, columns: Mapping[str, Column], null_markers: tuple[str, ...]
    ) -> tuple[Group, ...]:
        """The groups of a sound complete table."""
        assert self.columns is not None, "only complete tables have groups"
        named = [(name, columns[name]) for name in self.columns]
        return tuple(
            Group(
                ", ".join(
                    f"{name} {label}" for (name, _), label in zip(named, labels, strict=True)
                ),
                tuple(
                    cells_of(name, column, label, null_markers)
                    for (name, column), label in zip(named, labels, strict=True)
                ),
                count,
            )
            for labels, count in self._rows()
        )

    def broken(
        self, frame: pd.DataFrame, columns: Mapping[str, Column], null_markers: tuple[str, ...]
    ) -> list[str]:
        """Phrases for everything in a table that is not as published; empty if everything is.

        Args:
            frame: values in original units, as `Rule.violations` takes them.
        """
        if self.columns is None:
            found = int(self.condition(columns).holds(frame).sum())
            return [] if found == self.count else [f"{self.title}: {found}, not {self.count}"]
        faults = []
        for group in self.groups(columns, null_markers):
            inside = np.ones(len(frame), dtype=np.bool_)
            for name, cells in zip(self.columns, group.cells, strict=True):
                inside &= _within(columns[name], cells, frame[name])
            if int(inside.sum()) != group.count:
                faults.append(f"{group.title}: {int(inside.sum())}, not {group.count}")
        return faults

    def problems(
        self, columns: Mapping[str, Column], null_markers: tuple[str, ...]
    ) -> Iterator[Problem]:
        """Everything that does not suit the columns, with its fix; empty for a sound total."""
        if self.columns is None:
            for what in parse_condition(self.where or "").problems(columns):
                yield Problem(("where",), what)
            return
        unknown = [name for name in self.columns if name not in columns]
        for name in unknown:
            yield Problem(("columns", self.columns.index(name)), no_such_column(name, columns))
        if not unknown:
            yield from self._table_problems(columns, null_markers)

    def _rows(self) -> Iterator[tuple[tuple[str, ...], int]]:
        """The values of the columns, in order, with the count."""
        assert self.columns is not None, "only complete tables have rows"
        if isinstance(self.counts, Mapping):
            yield from (((label,), count) for label, count in self.counts.items())
            return
        for row in self.counts or ():
            yield tuple(row[name] for name in self.columns), row[COUNT]

    def _problems(self) -> Iterator[Problem]:
        keys = ("columns", "counts", "where", "count")
        given = {key for key in keys if getattr(self, key) is not None}
        if given == {"where", "count"}:
            yield from _count_problems(("count",), self.count)
            try:
                parse_condition(self.where or "")
            except RuleError as error:
                yield Problem(("where",), str(error))
        elif given == {"columns", "counts"}:
            yield from self._shape_problems()
        else:
            yield Problem(
                (),
                "must have columns with counts (a complete table), or where with count (a single "
                f"number), but has {' and '.join(sorted(given)) or 'neither'}",
            )

    def _shape_problems(self) -> Iterator[Problem]:
        columns = self.columns or ()
        if len(set(columns)) < len(columns):
            yield Problem(("columns",), "lists a column more than once; keep one of each")
            return
        if COUNT in columns:
            yield Problem(
                ("columns",),
                f"includes a column named {COUNT}, which is the key of the counts; state the "
                "total with where",
            )
            return
        if not self.counts:
            yield Problem(("counts",), "is empty; give the whole table")
        elif isinstance(self.counts, Mapping):
            if len(columns) > 1:
                yield Problem(
                    ("counts",),
                    "must be a list of rows for several columns, such as "
                    f"- {{{', '.join(f'{name}: ...' for name in columns)}, {COUNT}: 120}}",
                )
            for label, count in self.counts.items():
                yield from _count_problems(("counts", label), count)
        else:
            for i, row in enumerate(self.counts):
                if set(row) != {*columns, COUNT}:
                    yield Problem(
                        ("counts", i),
                        f"must have the keys {', '.join(columns)} and {COUNT}, not "
                        f"{', '.join(row) or 'none'}",
                    )
                else:
                    yield from _count_problems(("counts", i, COUNT), row[COUNT])

    def _table_problems(
        self, columns: Mapping[str, Column], null_markers: tuple[str, ...]
    ) -> Iterator[Problem]:
        """Problems unless the rows list every combination of groups of values exactly once."""
        assert self.columns is not None
        read: list[list[range]] = []
        sound = True
        for i, (labels, _) in enumerate(self._rows()):
            cells = []
            for name, label in zip(self.columns, labels, strict=True):
                try:
                    cells.append(cells_of(name, columns[name], label, null_markers))
                except ValueError as error:
                    sound = False
                    place = (label,) if isinstance(self.counts, Mapping) else (i, name)
                    yield Problem(("counts", *place), str(error))
            read.append(cells)
        if not sound:
            return
        axes = []
        for axis, name in enumerate(self.columns):
            distinct = sorted({row[axis] for row in read}, key=lambda cells: cells.start)
            fault = _partition_fault(name, columns[name], distinct)
            if fault is not None:
                yield Problem(("counts",), fault)
                return
            axes.append(len(distinct))
        seen = {tuple(row) for row in read}
        if len(seen) < len(read):
            yield Problem(("counts",), "lists a combination of values twice; keep one of each")
        elif len(seen) < prod(axes):
            yield Problem(
                ("counts",),
                f"lists {len(seen)} of the {prod(axes)} combinations of its values; a table must "
                "be complete, so list the others too, with count 0 if there are no records",
            )


def cells_of(name: str, column: Column, label: str, null_markers: tuple[str, ...]) -> range:
    """The cells of a column that a total calls `label`.

    Raises:
        ValueError: it is not a value, label or interval of whole cells of the column.
    """
    codes = () if isinstance(column, IntervalColumn) else column.codes
    if label not in codes and (label == NULL or label in column.markers(null_markers)):
        if not column.nulls:
            raise ValueError(f"{name} is never null, since it has nulls: false; remove this count")
        return range(column.levels, column.levels + 1)
    if isinstance(column, IntervalColumn):
        return _interval_cells(name, column, label)
    if isinstance(column, BooleanColumn):
        truth = column.values.get(label, {"true": True, "false": False}.get(label))
        place = -1 if truth is None else int(truth)
    elif label in codes:
        place = codes.index(label)
    else:
        labels = list(column.labels)
        place = labels.index(label) if labels.count(label) == 1 else -1
    if place < 0:
        known = [*codes, *(column.labels if isinstance(column, CategoryColumn) else ())]
        mend = did_you_mean(label, known) or "give one of its categories"
        raise ValueError(f"{label!r} is not a category of {name}; {mend}")
    return range(place, place + 1)


def _interval_cells(name: str, column: IntervalColumn, label: str) -> range:
    low, separator, high = label.partition(" to ")
    try:
        numbers = [column.number(text.strip()) for text in (low, high or low)]
    except ValueError:
        numbers = []
    if not numbers or not (separator or column.is_whole):
        example = "2001-01-01 to 2001-12-31" if isinstance(column, DateColumn) else "0 to 14"
        raise ValueError(f"{label!r} is not an interval of {name}; give one such as {example}")
    start, stop = numbers[0], numbers[1] + column.is_whole
    edges = list(column.exact_edges)
    if start not in edges or stop not in edges or start >= stop:
        raise ValueError(
            f"{label!r} does not consist of whole cells of {name}; totals count whole cells, so "
            "add edges to the column there, or count other intervals"
        )
    return range(edges.index(start), edges.index(stop))


def _within(column: Column, cells: range, values: pd.Series) -> NDArray[np.bool_]:
    """Whether each value lies in these cells of its column."""
    if cells.start >= column.levels:
        return values.isna().to_numpy(dtype=np.bool_)
    if not isinstance(column, IntervalColumn):
        wanted = column.codes[cells.start : cells.stop]
        return values.isin(wanted).to_numpy(dtype=np.bool_)
    if isinstance(column, DateColumn):
        values = (values - pd.Timestamp(EPOCH)) / pd.Timedelta(days=1)
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    low, high = float(column.edges[cells.start]), float(column.edges[cells.stop])
    # The last cell includes its upper edge.
    below = numbers <= high if cells.stop == column.levels else numbers < high
    return np.asarray((numbers >= low) & below, dtype=np.bool_)


def _partition_fault(name: str, column: Column, groups: Sequence[range]) -> str | None:
    """Why these groups, in order, do not cover the column's cells exactly once; None if they do."""
    missing: list[int] = []
    reached = 0
    for cells in groups:
        if cells.start < reached:
            return f"counts some values of {name} in two groups; the groups must not overlap"
        missing += range(reached, cells.start)
        reached = cells.stop
    missing += range(reached, column.levels + column.nulls)
    if not missing:
        return None
    named = ", ".join(_cell_name(column, cell) for cell in missing[:_LISTED])
    more = f" and {len(missing) - _LISTED} more" if len(missing) > _LISTED else ""
    return (
        f"leaves out {name} {named}{more}; a table must be complete, so list it too, with "
        "count 0 if there are no records"
    )


def _cell_name(column: Column, cell: int) -> str:
    if cell == column.levels:
        return NULL
    if isinstance(column, IntervalColumn):
        low, high = column.exact_edges[cell], column.exact_edges[cell + 1]
        return f"{column.written(low)} to {column.written(high - column.is_whole)}"
    return column.codes[cell]


def _count_problems(path: Path, count: Any) -> Iterator[Problem]:
    if not isinstance(count, int):
        yield Problem(
            path, f"must be a whole number of records, 0 or more, such as 5230, not {shown(count)}"
        )
