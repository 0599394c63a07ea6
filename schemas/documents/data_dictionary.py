"""`data-dictionary.json`: what a data user needs to read the data and to account for its error."""

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from hallmark.schemas.documents.certificate import CertifiedBound
from hallmark.schemas.section import Section

ColumnType = Literal["integer", "real", "date", "ordinal", "nominal", "places", "boolean"]


class Interval(Section):
    """A public closed interval: numbers for numeric columns, ISO dates for date columns.

    Raises:
        ValueError: the ends are of different types, or in the wrong order.
    """

    low: int | float | date
    high: int | float | date

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if isinstance(self.low, date) != isinstance(self.high, date):
            raise ValueError("interval: give two numbers or two dates, not one of each")
        if self.low > self.high:  # type: ignore[operator]  # both dates or both numbers, see above
            raise ValueError(f"interval: low {self.low} is above high {self.high}")
        return self


class Category(Section):
    """One category: its value in the data file, and its label for people.

    Files for Stata and SPSS contain `number` instead of `value`.
    """

    value: str
    label: str = ""
    number: int | None = None


class CellGrid(Section):
    """The public grid on which a column was measured and generated."""

    cells: Annotated[int, Field(ge=1)]  # with values; a null cell is not counted
    width: float | None = None  # of one cell, in the column's unit; None for categories
    description: str = ""


class ColumnError(Section):
    """The certificate's bound on a column, in the column's own unit, which `unit` names.

    With the stated confidence, jointly over all columns, the loss between the synthetic and the
    private distribution of the column is at most `bound`. For a Wasserstein distance of order 1
    (and no nulls), the mean differs by at most that, and so does the average of any function that
    changes by at most one per unit of the column.
    """

    bound: Annotated[float, Field(ge=0)]
    unit: str
    metric: str
    confidence: Annotated[float, Field(gt=0, lt=1)]
    vacuous: bool = False

    @classmethod
    def of(cls, bound: CertifiedBound, *, confidence: float) -> Self:
        """A certificate's bound, in the column's unit."""
        return cls(
            bound=bound.in_unit,
            unit=bound.unit or f"share of {bound.share_of}",
            metric=bound.metric,
            confidence=confidence,
            vacuous=bound.vacuous,
        )


class DictionaryColumn(Section):
    """One column of the data files.

    Raises:
        ValueError: the domain does not suit the type, a category is listed twice, the null marker
            is also a category, or a column is neither measured on a grid nor looked up.
    """

    name: Annotated[str, Field(min_length=1)]
    description: str
    type: ColumnType
    unit: str = ""
    interval: Interval | None = None
    date_format: str = "%Y-%m-%d"  # of dates in CSV
    decimals: Annotated[int, Field(ge=0)] | None = None  # of every number in CSV; None if they vary
    decimal_mark: Annotated[str, Field(min_length=1, max_length=1)] = "."  # of numbers in CSV
    categories: tuple[Category, ...] = ()
    nullable: bool = False
    null_marker: str = ""  # in CSV; Parquet holds a null instead
    outside: str = ""  # what happened to private values outside the domain
    bound_source: str = ""  # where the interval or the categories come from
    recoded_by: str = ""  # the public rule that made its codes of the private table's, if any
    looked_up_from: str = ""  # the column that it is a public function of; empty if measured
    grid: CellGrid | None = None  # None if it is looked up
    error: ColumnError | None = None

    @model_validator(mode="after")
    def _domain_suits(self) -> Self:
        if self.type in ("integer", "real", "date"):
            if self.interval is None or self.categories:
                raise ValueError(f"{self.name}: a column of type {self.type} has an interval only")
            if isinstance(self.interval.low, date) != (self.type == "date"):
                raise ValueError(f"{self.name}: the interval does not suit type {self.type}")
        elif not self.categories or self.interval is not None:
            raise ValueError(f"{self.name}: a column of type {self.type} has categories only")
        if (self.grid is None) != bool(self.looked_up_from):
            raise ValueError(f"{self.name}: a column has a grid, unless it is looked up")
        values = [category.value for category in self.categories]
        if len(set(values)) < len(values):
            raise ValueError(f"{self.name}: a category is listed twice")
        if self.nullable and self.null_marker in values:
            raise ValueError(
                f"{self.name}: {self.null_marker!r} is both the null marker and a category"
            )
        return self


WEIGHT_COLUMN, NOISE_PREFIX, SAMPLING_PREFIX = "weight", "replicate_", "sampled_"


class DictionaryReplicates(Section):
    """Replicate weights: files with one row a record, in the order of the data files.

    For a statistic computed with `weight` and with each of the replicates of a set, the variance is
    `scale` times the sum of the squared differences; an interval uses Student's t with
    `degrees_of_freedom`.
    """

    files: tuple[str, ...]
    number: Annotated[int, Field(ge=1)]  # of replicates in each set
    weight: str = WEIGHT_COLUMN  # private records that a released one stands for
    noise: str = NOISE_PREFIX  # names of the first set begin so, and end in 1, 2, ...
    sampling: str = SAMPLING_PREFIX  # of the second set
    scale: Annotated[float, Field(gt=0)]
    degrees_of_freedom: Annotated[int, Field(ge=1)]
    estimator: str = (
        "variance = scale * sum over r of (theta_r - theta)^2, with theta from `weight` and "
        "theta_r from replicate r; the same as balanced repeated replication without Fay's factor"
    )
    meaning: str = (
        "The first set tells how far the statistic is from the same statistic of the private "
        "table; the second how far it is from that of the population which the private records "
        "were drawn from at random. Both are estimates, not bounds."
    )
    law: str = (
        "Replicate r: the mechanism run again on the released records, with fresh simulated noise "
        "of the same law, calibrated to the error that the noisy tables show, as nonnegative "
        "weights of the released records. Generators are NumPy's default, seeded with "
        "SeedSequence([bytes of the release id, 0, bytes of 'rerun r' or 'sampling r'])."
    )

    @classmethod
    def of(cls, number: int, files: tuple[str, ...]) -> Self:
        """So many replicates in each set."""
        return cls(files=files, number=number, scale=1 / number, degrees_of_freedom=number)


class DataDictionary(Section):
    """The columns of the data files, in order, and the number of rows.

    Raises:
        ValueError: a column name appears twice.
    """

    format: Literal["hallmark-data-dictionary/1"] = "hallmark-data-dictionary/1"
    release_id: str
    rows: Annotated[int, Field(ge=0)]
    files: tuple[str, ...] = (
        "data.csv",
        "data.parquet",
    )  # with the rows; empty if another party made them
    csv_delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    csv_encoding: str = "utf-8"
    weights: str = "Every row has the same weight."
    how_to_use_errors: str = (
        "For a numeric column without nulls, add `error.bound` to the half-width of your interval "
        "for a mean: with the stated confidence, for all columns together, the mean of the "
        "synthetic column differs from the mean of the private column (as counted, after the rule "
        "in `outside`) by at most that. The bound is in `error.unit`: the column's own unit or, if "
        "the curator names none, 'units of the column', the numbers in which its values are "
        "written. For a nominal column it bounds the share of records by which any set of "
        "categories can be too large or too small. It does not include sampling error."
    )
    replicates: DictionaryReplicates | None = None  # if the spec asks for some
    people: tuple[str, ...] = ()  # files that say which records of periods are one person's
    attenuated: tuple[str, ...] = ()  # pairs with weaker dependence here than was measured
    columns: Annotated[tuple[DictionaryColumn, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [column.name for column in self.columns]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"columns: {', '.join(repeated)} appear more than once")
        return self
