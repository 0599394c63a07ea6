"""Read a released data file as its users would, and count in it what public totals say of it.

It needs the spec alone, so that anybody can check a release folder with it.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from hallmark.schemas.columns.category_columns import (
    BooleanColumn,
    CategoryColumn,
    OrdinalColumn,
)
from hallmark.schemas.columns.columns import Column, NumericColumn
from hallmark.schemas.columns.labelled import category_numbers
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.table_sections import format_by_name
from hallmark.tasks.planning.coding import codec_of
from hallmark.tasks.sources import Source, batches, parts, written_as_released


def released_source(spec: ReleaseSpec, path: Path) -> Source:
    """The released file as a source of the published columns."""
    names = tuple(spec.published)
    source = written_as_released(spec, names, location=str(path))
    # Of several markers a release writes the first.
    markers = tuple((name, (spec.null_marker(name),)) for name in names)
    return replace(
        source,
        format=format_by_name(path.name),
        own_markers=markers,
        numbers=tuple(_numbers(spec)),
        others_ignored=False,
    )


def _numbers(spec: ReleaseSpec) -> Iterator[tuple[str, tuple[tuple[int, str], ...]]]:
    """The categories by their number in a labelled file."""
    for name, column in spec.published.items():
        if isinstance(column, CategoryColumn | BooleanColumn):
            numbers = category_numbers(column.codes)
            yield name, tuple(zip(numbers, column.codes, strict=True))


def released_values(spec: ReleaseSpec, path: Path) -> pd.DataFrame:
    """The published columns in original units."""
    source = released_source(spec, path)
    text = pd.concat([batch for part in parts(source) for batch in batches(part)], axis=0)
    text = text.reset_index(drop=True)
    return pd.DataFrame(
        {
            name: codec_of(name, column).read(text[name])[0]
            for name, column in spec.published.items()
        }
    )


def typed_values(spec: ReleaseSpec, path: Path) -> pd.DataFrame:
    """The published columns as a release's `load.py` gives them: whole numbers as Int64, booleans
    as boolean, categories as categoricals of their codes."""
    values = released_values(spec, path)
    return values.assign(
        **{name: _typed(values[name], column) for name, column in spec.published.items()}
    )


def _typed(values: "pd.Series[Any]", column: Column) -> "pd.Series[Any]":
    match column:
        case NumericColumn():
            return values.astype("Int64" if column.integer else "float64")
        case BooleanColumn():
            no, yes = column.codes
            return values.map({no: False, yes: True}).astype("boolean")
        case CategoryColumn():
            ordered = isinstance(column, OrdinalColumn)
            return pd.Series(pd.Categorical(values, categories=column.codes, ordered=ordered))
    return values


def broken_totals(spec: ReleaseSpec, path: Path) -> list[str]:
    """Where the released file does not have a public total, a phrase each; empty where it has all.

    It counts values, not cells, so a mistake in the cells of a total would show.
    """
    if not spec.public_totals:
        return []
    values = released_values(spec, path)
    return [
        f"public_totals[{i}]: {fault}"
        for i, total in enumerate(spec.public_totals)
        for fault in total.broken(values, spec.columns, spec.data.null_markers)
    ]
