"""Translate between the columns of a release spec and the public domain of a mechanism.

Each column has a codec: it reads text into values, says which texts it cannot read and which values
are outside the public domain, maps values to cell codes and draws values from cells. The same code
serves private data, final files and validation, so they cannot disagree on where a cell ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Mask
from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.geometry.finite_metrics import check_metric
from hallmark.mechanisms.geometry.finite_metrics import pairwise as distances_between
from hallmark.schemas.columns.columns import (
    BooleanColumn,
    Column,
    DateColumn,
    NominalColumn,
    NumericColumn,
    OrdinalColumn,
    PlacesColumn,
)
from hallmark.schemas.columns.interval_columns import EPOCH

Text: TypeAlias = pd.Series
Values: TypeAlias = pd.Series


class Codec(Protocol):
    """Reads, codes and writes one column."""

    @property
    def name(self) -> str: ...

    @property
    def column(self) -> Column: ...

    @property
    def attribute(self) -> Attribute: ...

    def read(self, text: Text) -> tuple[Values, Mask]:
        """Values (null if the text is null or unreadable), and a mask of unreadable texts."""
        ...

    def outside(self, values: Values) -> Mask:
        """A mask of values outside the public domain; nulls are not outside."""
        ...

    def encode(self, values: Values) -> NDArray[np.int32]:
        """Cell codes; values outside the domain are handled by the column's stated rule."""
        ...

    def decode(self, codes: NDArray[np.int32], rng: np.random.Generator) -> Values:
        """One value from every cell, null for the null cell."""
        ...


@dataclass(frozen=True, eq=False)
class NumericCodec:
    """Numbers on a public interval cut into cells [e_0, e_1), ..., [e_{k-1}, e_k]."""

    name: str
    column: NumericColumn

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        return np.asarray(self.column.edges, dtype=np.float64)

    @cached_property
    def attribute(self) -> Attribute:
        column = self.column
        # An integer cell [a, b) holds a..b-1, so its last value, not its edge, bounds it.
        highest = self.edges[1:] - (1 if column.integer else 0)
        return _interval_attribute(
            self.name, Kind.NUMERIC, self.edges[:-1], highest, column.nulls, column.unit or ""
        )

    @cached_property
    def _steps(self) -> NDArray[np.int64]:
        """Edges as numbers of steps; the last edge, which is itself a value, has one more."""
        assert self.column.step is not None, "only of columns with a step"
        steps = [int(edge / self.column.step) for edge in self.column.exact_edges]
        return np.array([*steps[:-1], steps[-1] + 1], dtype=np.int64)

    def read(self, text: Text) -> tuple[Values, Mask]:
        values = self._sound(pd.to_numeric(text, errors="coerce").astype("float64"))
        return values, (text.notna() & values.isna()).to_numpy(dtype=bool)

    def read_numbers(self, numbers: NDArray[np.float64]) -> tuple[Values, Mask]:
        """As `read`, of numbers that are no text, NaN for a null."""
        values = self._sound(pd.Series(numbers))
        return values, (~np.isnan(numbers) & values.isna()).to_numpy(dtype=bool)

    def _sound(self, values: Values) -> Values:
        """The values, null where one is none of the column's."""
        finite = np.isfinite(values)
        if self.column.integer:
            finite &= values == np.floor(values)
        return values.where(finite)

    def outside(self, values: Values) -> Mask:
        numbers = _numbers(values)
        low, high = float(self.column.minimum), float(self.column.maximum)
        return (numbers < low) | (numbers > high)  # false for a null, which is NaN here

    def encode(self, values: Values) -> NDArray[np.int32]:
        return _encode_interval(self.edges, _numbers(values), self.attribute)

    def decode(self, codes: NDArray[np.int32], rng: np.random.Generator) -> Values:
        known = codes < self.attribute.levels
        low, high = self.edges[:-1], self.edges[1:]
        cell = np.where(known, codes, 0)
        if self.column.step is not None:
            steps = rng.integers(self._steps[:-1][cell], self._steps[1:][cell])
            return pd.Series(multiples(steps, self.column.step)).mask(~known)
        if self.column.integer:
            drawn = rng.integers(low[cell].astype(np.int64), high[cell].astype(np.int64))
            return pd.Series(drawn, dtype="Int64").mask(~known)
        value = low[cell] + rng.random(len(codes)) * (high - low)[cell]
        # A thousandth of the narrowest cell: plausible for a measurement, without false precision.
        # Rounding down keeps a value in its cell, which excludes its upper edge.
        unit = 10.0 ** max(0, 3 - int(np.floor(np.log10((high - low).min()))))
        return pd.Series(np.maximum(np.floor(value * unit) / unit, low[cell])).mask(~known)


@dataclass(frozen=True, eq=False)
class DateCodec:
    """Dates in a public interval, cut into cells of whole days."""

    name: str
    column: DateColumn

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """Edges in days since 1970-01-01; the last is the day after the interval."""
        return np.asarray(self.column.edges, dtype=np.float64)

    @cached_property
    def attribute(self) -> Attribute:
        return _interval_attribute(
            self.name, Kind.DATE, self.edges[:-1], self.edges[1:] - 1, self.column.nulls, "days"
        )

    def read(self, text: Text) -> tuple[Values, Mask]:
        values = pd.to_datetime(text, format=self.column.format, errors="coerce")
        # Parquet holds days, not texts; they arrive here as 2020-12-31 whatever the format.
        values = values.fillna(pd.to_datetime(text, format="%Y-%m-%d", errors="coerce"))
        return values, (text.notna() & values.isna()).to_numpy(dtype=bool)

    def outside(self, values: Values) -> Mask:
        low, high = pd.Timestamp(self.column.minimum), pd.Timestamp(self.column.maximum)
        return ((values < low) | (values > high)).to_numpy(dtype=bool)

    def encode(self, values: Values) -> NDArray[np.int32]:
        days = (values - pd.Timestamp(EPOCH)) / pd.Timedelta(days=1)
        return _encode_interval(self.edges, days.to_numpy(dtype=np.float64), self.attribute)

    def decode(self, codes: NDArray[np.int32], rng: np.random.Generator) -> Values:
        known = codes < self.attribute.levels
        cell = np.where(known, codes, 0)
        edges = self.edges.astype(np.int64)
        days = rng.integers(edges[:-1][cell], edges[1:][cell])
        dates = pd.Series(pd.Timestamp(EPOCH) + pd.to_timedelta(days, unit="D"))
        return dates.mask(~known)


@dataclass(frozen=True, eq=False)
class CategoryCodec:
    """Categories from a public list: ordinal, nominal and boolean columns."""

    name: str
    column: OrdinalColumn | NominalColumn | BooleanColumn | PlacesColumn

    @cached_property
    def attribute(self) -> Attribute:
        levels = len(self.codes)
        if isinstance(self.column, PlacesColumn):
            return _places_attribute(self.name, self.column)
        ordered = isinstance(self.column, OrdinalColumn)
        return Attribute(
            name=self.name,
            kind=Kind.ORDINAL if ordered else Kind.NOMINAL,
            positions=np.linspace(0, 1, levels) if levels > 1 else np.array([0.5]),
            widths=np.zeros(levels),
            has_null=self.column.nulls,
            scale=float(max(levels - 1, 1)) if ordered else 1.0,
            unit="categories" if ordered else "",
        )

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """The codes of the categories as in a release, in the order of their cells."""
        return tuple(self.column.codes)

    @property
    def _fallback(self) -> int:
        """Code of the catch-all category; -1 if there is none."""
        match self.column.other:
            case None:
                return -1
            case bool(truth):
                return int(truth)
            case str(category):
                return self.codes.index(category)

    def read(self, text: Text) -> tuple[Values, Mask]:
        if isinstance(self.column, BooleanColumn):
            spelled = {key: self.codes[truth] for key, truth in self.column.values.items()}
            # Cast back: a column of only nulls would otherwise have its own type.
            coded = text.map(lambda key: spelled.get(key, key), na_action="ignore")
            text = coded.astype(text.dtype)
        return text, np.zeros(
            len(text), dtype=bool
        )  # any text can be read; it may be outside the domain

    def outside(self, values: Values) -> Mask:
        return (values.notna() & ~values.isin(self.codes)).to_numpy(dtype=bool)

    def encode(self, values: Values) -> NDArray[np.int32]:
        codes = pd.Index(self.codes, dtype=object).get_indexer(pd.Index(values.astype(object)))
        codes = np.where((codes < 0) & values.notna().to_numpy(), self._fallback, codes)
        return _with_null_cell(codes, values.isna().to_numpy(), self.attribute)

    def decode(self, codes: NDArray[np.int32], rng: np.random.Generator) -> Values:
        texts = pd.Series([*self.codes, None], dtype="str")
        return texts.iloc[codes].reset_index(drop=True)


def codec_of(name: str, column: Column) -> Codec:
    """The codec of one column of a spec."""
    match column:
        case NumericColumn():
            return NumericCodec(name, column)
        case DateColumn():
            return DateCodec(name, column)
        case OrdinalColumn() | NominalColumn() | BooleanColumn() | PlacesColumn():
            return CategoryCodec(name, column)


@dataclass(frozen=True, eq=False)
class TableCodec:
    """All columns of a spec, in its order, which is the order of the domain."""

    codecs: tuple[Codec, ...]

    @classmethod
    def of(cls, columns: Mapping[str, Column]) -> "TableCodec":
        return cls(tuple(codec_of(name, column) for name, column in columns.items()))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(codec.name for codec in self.codecs)

    def named(self, name: str) -> Codec:
        """The codec of a column."""
        return self.codecs[self.names.index(name)]

    @cached_property
    def domain(self) -> Domain:
        """The domain of the columns, without the edit rules that `tasks.planning.domains` adds."""
        return Domain(tuple(codec.attribute for codec in self.codecs))

    def encode(self, text: pd.DataFrame) -> NDArray[np.int32]:
        """Codes of shape (n, d) from a frame of text.

        Raises:
            ValueError: a value has no place in the domain (the validation was skipped, or the
                source changed after it); the message names the column, never the value.
        """
        columns = []
        for codec in self.codecs:
            values, unreadable = codec.read(text[codec.name])
            codes = codec.encode(values)
            refused = unreadable | (codes < 0) | (codes >= codec.attribute.cells)
            if codec.column.outside == "refuse":
                refused |= codec.outside(values)
            if refused.any():
                raise ValueError(
                    f"columns.{codec.name}: the data contain values that the spec refuses; "
                    "validate the data again, since they may have changed"
                )
            columns.append(codes)
        return np.column_stack(columns)

    def decode(self, codes: NDArray[np.int32], rng: np.random.Generator) -> pd.DataFrame:
        """A frame in original units, categories and nulls."""
        return pd.DataFrame(
            {
                codec.name: codec.decode(codes[:, index], rng)
                for index, codec in enumerate(self.codecs)
            }
        )


def cell_labels(codec: Codec) -> tuple[str, ...]:
    """Labels of all cells of a column, for people; the null cell comes last."""
    column = codec.column
    if isinstance(column, NumericColumn):
        last = 1 if column.integer else 0
        # Ten digits: with the six of a plain `g`, cells of large sums would look the same.
        labels = [
            f"{low:.10g}"
            if column.integer and high - low == 1
            else f"{low:.10g} to {high - last:.10g}"
            for low, high in pairwise(column.edges)
        ]
    elif isinstance(column, DateColumn):
        days = np.asarray(column.edges).astype("datetime64[D]")
        labels = [f"{a} to {b - 1}" for a, b in pairwise(days)]
    else:
        labels = [label or code for code, label in zip(column.codes, column.labels, strict=True)]
    return (*labels, "null") if column.nulls else tuple(labels)


def group_labels(codec: Codec, of: NDArray[np.int64]) -> tuple[str, ...]:
    """Labels of groups of cells, for people: of neighbours in order from where to where, of others
    the first two and how many there are besides.

    Args:
        of: group of every cell, from 0 on.
    """
    labels, found = cell_labels(codec), []
    for group in range(int(of.max()) + 1):
        first, *rest = [labels[cell] for cell in np.flatnonzero(of == group)]
        if rest and codec.attribute.kind.ordered:
            first = f"{first.split(' to ')[0]} to {rest[-1].split(' to ')[-1]}"
        elif rest:
            several = f", {rest[0]} and {len(rest) - 1} more"
            first += several if rest[1:] else f" or {rest[0]}"
        found.append(first)
    return tuple(found)


def multiples(steps: NDArray[Any], step: Fraction) -> NDArray[np.float64]:
    """The floats nearest to multiples of a step, which print without extra digits."""
    numerator = steps.astype(np.float64) * step.numerator  # exact, as is the denominator
    return np.asarray(numerator / step.denominator)


def is_multiple(values: Values, step: Fraction) -> Mask:
    """A mask of numbers that are null, or the float nearest to a multiple of the step."""
    numbers = _numbers(values)
    steps = np.rint(numbers * step.denominator / step.numerator)
    return np.isnan(numbers) | (multiples(steps, step) == numbers)


def _numbers(values: Values) -> NDArray[np.float64]:
    return values.to_numpy(dtype=np.float64, na_value=np.nan)


def _interval_attribute(
    name: str,
    kind: Kind,
    lowest: NDArray[np.float64],
    highest: NDArray[np.float64],
    has_null: bool,
    unit: str,
) -> Attribute:
    """Attribute for an interval whose cell i holds values from lowest[i] to highest[i]."""
    start, scale = lowest[0], highest[-1] - lowest[0]
    scale = scale if scale > 0 else 1.0  # one value only: any scale serves
    return Attribute(
        name=name,
        kind=kind,
        positions=((lowest + highest) / 2 - start) / scale,
        widths=(highest - lowest) / scale,
        has_null=has_null,
        scale=float(scale),
        unit=unit,
    )


def _places_attribute(name: str, column: PlacesColumn) -> Attribute:
    """Attribute for a finite metric space, with distances divided by the largest.

    Raises:
        ValueError: the distances are not a metric; the message names column and categories.
    """
    if column.coordinates is not None:
        places = [[float(x) for x in column.coordinates[code]] for code in column.codes]
        distances, unit = distances_between(np.array(places), metric="haversine"), "km"
    else:
        assert column.distances is not None, "a sound column of places has the one or the other"
        distances = np.array([[float(x) for x in row] for row in column.distances])
        unit = column.unit or ""
    if len(distances) > 1:
        try:
            check_metric(distances, names=column.codes)
        except ValueError as error:
            raise ValueError(f"columns.{name}.{error}") from error
    diameter = float(distances.max())
    diameter = diameter if diameter > 0 else 1.0  # one place only: any scale serves
    levels = len(distances)
    return Attribute(
        name=name,
        kind=Kind.METRIC,
        positions=np.linspace(0, 1, levels) if levels > 1 else np.array([0.5]),
        widths=np.zeros(levels),
        has_null=column.nulls,
        scale=diameter,
        unit=unit,
        distances=distances / diameter,
    )


def _encode_interval(
    edges: NDArray[np.float64], values: NDArray[np.float64], attribute: Attribute
) -> NDArray[np.int32]:
    nulls = np.isnan(values)
    codes = np.searchsorted(edges, values, side="right") - 1
    # Values outside are clamped to the outermost cells, unless they were refused before.
    return _with_null_cell(np.clip(codes, 0, attribute.levels - 1), nulls, attribute)


def _with_null_cell(
    codes: NDArray[np.int64], nulls: Mask, attribute: Attribute
) -> NDArray[np.int32]:
    # Without a null cell, code `levels` is out of range and `TableCodec.encode` refuses it.
    return np.where(nulls, attribute.levels, codes).astype(np.int32)
