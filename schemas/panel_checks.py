"""Whether a panel suits the columns of its spec, and what is made of them."""

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from hallmark.schemas.columns.columns import Column, DateColumn, NumericColumn
from hallmark.schemas.nearest import no_such_column
from hallmark.schemas.public_totals import PublicTotal
from hallmark.schemas.section import Path, Problem
from hallmark.schemas.series import Lag, Panel, Series, lagged
from hallmark.schemas.spec_sections import Constraint, MechanismChoice, Output
from hallmark.schemas.table_sections import DataSource

_PANEL = ("series", "panel")
_OF_HISTORIES = ("person", "period")  # columns that `tasks.panels` adds


def panel_problems(
    series: Series,
    columns: Mapping[str, Column],
    names: Collection[str],
    *,
    constraints: Mapping[int, Constraint],
    public_totals: Mapping[int, PublicTotal],
    data: DataSource | None,
    mechanism: MechanismChoice | None,
    output: Output | None,
) -> Iterator[Problem]:
    """What is wrong between the panel of a series, if it has one, and the rest of the spec.

    Args:
        columns: those that are sound by themselves.
        names: of all columns.
    """
    panel = series.panel
    if panel is None:
        return
    yield from _column_problems(panel, columns, names)
    for name in _OF_HISTORIES:
        if name in names:
            yield Problem(
                ("columns", name),
                "has a name that histories of a panel have for their own; give it another",
            )
    for name, lag in series.lagged.items():
        if name in columns and lag.of in columns:
            yield from _lagged_problems(lag, columns[name], columns[lag.of], data)
    for path, touched, key in _touching(constraints, public_totals):
        for name in sorted(touched & series.lagged.keys() & columns.keys()):
            if key == "public_totals" or not _has_single_values(columns[name]):
                yield Problem(
                    path,
                    f"names {name}, whose values come from records of the period before; "
                    + ("leave it out" if key == "public_totals" else "give it cells of one value"),
                )
    if mechanism is not None and not mechanism.entry.makes_records:
        yield Problem(_PANEL, f"{mechanism.name} makes no records that could run on; remove it")
    if output is not None:
        yield from _output_problems(panel, series, output)


def _column_problems(
    panel: Panel, columns: Mapping[str, Column], names: Collection[str]
) -> Iterator[Problem]:
    listed: list[tuple[Path, str]] = [
        *((("columns", i), name) for i, name in enumerate(panel.columns)),
        *((("constant", i), name) for i, name in enumerate(panel.constant)),
        *((("grows", name), name) for name in panel.grows),
    ]
    for path, name in listed:
        if name not in names:
            yield Problem((*_PANEL, *path), no_such_column(name, names))
    first = columns.get(panel.columns[0])
    if first is not None and first.nulls:
        yield Problem(
            (*_PANEL, "columns", 0),
            f"is {panel.columns[0]}, which may be null; put a column without nulls first, by which "
            "it is told who was there",
        )
    for path, name in listed[len(panel.columns) :]:
        column = columns.get(name)
        if column is not None and not _has_single_values(column):
            yield Problem(
                (*_PANEL, *path),
                f"names {name}, whose cells hold several values; give it cells of one value "
                "(width: 1, or detail: values), or leave it out here",
            )
    for name in panel.grows:
        if name in columns and not _counts(columns[name]):
            yield Problem(
                (*_PANEL, "grows", name),
                "is no column of whole numbers; only those grow (constant is for what stays)",
            )


def _lagged_problems(
    lag: Lag, column: Column, of: Column, data: DataSource | None
) -> Iterator[Problem]:
    own, told = (one.model_dump(mode="json", by_alias=True) for one in (column, of))
    told = lagged(lag, told)
    if any(own[key] != told.get(key) for key in own.keys() - {"description", "detail"}):
        yield Problem(
            ("columns", lag.name),
            f"is not {lag.of} with nulls: true, whose values in an earlier period it holds; leave "
            "it out, and it is added",
        )
    if data is not None and not column.markers(data.null_markers):
        yield Problem(
            ("columns", lag.of, "null_markers"),
            f"is empty, but {lag.name} is null for who was not there; give a marker",
        )


def _touching(
    constraints: Mapping[int, Constraint], totals: Mapping[int, PublicTotal]
) -> Iterator[tuple[Path, set[str], str]]:
    for i, constraint in constraints.items():
        yield ("constraints", i, "rule"), set(constraint.parsed.columns()), "constraints"
    for i, total in totals.items():
        yield ("public_totals", i), set(total.touched()), "public_totals"


def _output_problems(panel: Panel, series: Series, output: Output) -> Iterator[Problem]:
    needed = [*panel.columns, *panel.steps, *series.lagged]
    published = needed if output.columns is None else output.columns
    for name in needed:
        if name not in published:
            yield Problem(
                ("output", "columns"), f"leaves out {name}, by which people are linked; add it"
            )
    unfit = {
        "rows": (output.rows != "same", "people of all periods stand for as many; write same"),
        "face_privacy": (output.face_privacy is not None, "it would change pasts; leave it out"),
        "replicates": (output.replicates is not None, "they are not judged; leave them out"),
    }
    for key, (is_there, why) in unfit.items():
        if is_there:
            yield Problem(("output", key), f"does not go with series.panel: {why}")


def _has_single_values(column: Column) -> bool:
    """Whether every cell holds one value."""
    if isinstance(column, DateColumn):
        return bool((np.diff(np.asarray(column.edges)) == 1).all())
    return not isinstance(column, NumericColumn) or _counts(column)


def _counts(column: Column) -> bool:
    """Whether the column holds whole numbers, each in a cell of its own."""
    whole = isinstance(column, NumericColumn) and column.integer
    return whole and bool((np.diff(column.edges) == 1).all())  # type: ignore[union-attr]
