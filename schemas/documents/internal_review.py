"""The internal review: the synthetic data against the private data, for the workspace only.

It is a different type from the public record, with different fields, so that no renderer of public
pages accepts it.
"""

from functools import partial
from typing import Annotated, Self

from pydantic import AwareDatetime, Field, model_validator

from hallmark.schemas.documents.audit_pairs import Matrix, PairTable, Subgroups
from hallmark.schemas.documents.labels import LabelledSection, Shown, Tag

_INTERNAL = Tag.INTERNAL
_distance = partial(Shown, unit="share of the diameter")
_mean = partial(Shown, unit="mean of a record")


class ColumnReview(LabelledSection):
    """One column: its exact private distribution, the synthetic one, and the actual loss.

    Shares are of all rows; the null cell, if there is one, comes last. Losses are on the metric's
    own scale, on which the diameter is 1.

    Raises:
        ValueError: the lists do not have one entry for each cell.
    """

    column: Annotated[str, Shown("Column", form="code")]
    cells: Annotated[tuple[str, ...], Field(min_length=1), Shown("Cells")]
    is_ordered: Annotated[bool, Shown("Cells are in an order")] = True
    private: Annotated[tuple[float, ...], Shown("Private", _INTERNAL, unit="share of rows")]
    synthetic: Annotated[tuple[float, ...], Shown("Synthetic", Tag.PAID, unit="share of rows")]
    actual: Annotated[float, Field(ge=0), _distance("Actual distance", _INTERNAL)]
    certified: Annotated[float | None, _distance("Certified bound", Tag.PAID)] = None

    @model_validator(mode="after")
    def _one_entry_a_cell(self) -> Self:
        for name in ("private", "synthetic"):
            if len(getattr(self, name)) != len(self.cells):
                raise ValueError(f"{self.column}: {name} needs one entry for each cell")
        return self

    @property
    def held(self) -> bool | None:
        """Whether the actual distance is within the certified bound; None without a bound."""
        return None if self.certified is None else self.actual <= self.certified


class JointReview(LabelledSection):
    """Several columns together: lower and upper bounds on the actual loss.

    The positions of private values within their cells are unknown, so the loss is bounded from both
    sides, not computed.

    Raises:
        ValueError: the lower bound is above the upper one.
    """

    compared: Annotated[str, Shown("Compared")]
    lower: Annotated[float, Field(ge=0), _distance("Actual, at least", _INTERNAL)]
    upper: Annotated[float, Field(ge=0), _distance("Actual, at most", _INTERNAL)]
    certified: Annotated[float, _distance("Certified bound", Tag.PAID)]

    @model_validator(mode="after")
    def _ends_in_order(self) -> Self:
        if self.lower > self.upper:
            raise ValueError(f"{self.compared}: at least {self.lower}, at most {self.upper}")
        return self

    @property
    def held(self) -> bool | None:
        """Whether the actual distance is within the certified bound; None if that is unclear."""
        if self.upper <= self.certified:
            return True
        return False if self.lower > self.certified else None


class PairReview(LabelledSection):
    """Two columns together, on merged cells: both tables, and the distance between them."""

    distance: Annotated[
        float,
        Field(ge=0, le=1),
        Shown("Total variation on merged cells", _INTERNAL, unit="share of rows"),
    ]
    private: Annotated[PairTable, Shown("Private", _INTERNAL)]
    synthetic: Annotated[PairTable, Shown("Synthetic", Tag.PAID)]


class PairsReview(LabelledSection):
    """Columns together in the private and in the synthetic table."""

    association: Annotated[Matrix, Shown("Cramér's V, private", _INTERNAL)]
    association_synthetic: Annotated[Matrix, Shown("Cramér's V, synthetic", Tag.PAID)]
    correlation: Annotated[Matrix | None, Shown("Correlation, private", _INTERNAL)] = None
    correlation_synthetic: Annotated[Matrix | None, Shown("Correlation, synthetic", Tag.PAID)] = (
        None
    )
    worst: Annotated[tuple[PairReview, ...], Shown("Worst pairs", _INTERNAL)] = ()
    subgroups: Annotated[tuple[Subgroups, ...], Shown("Groups, private", _INTERNAL)] = ()
    subgroups_synthetic: Annotated[tuple[Subgroups, ...], Shown("Groups, synthetic", Tag.PAID)] = ()


class QueryReview(LabelledSection):
    """One query: its private answer, its released answer, and the certified error.

    Answers are means over all records.
    """

    query: Annotated[str, Shown("Query", form="code")]
    private: Annotated[float, _mean("Private answer", _INTERNAL)]
    released: Annotated[float, _mean("Released answer", Tag.PAID)]
    records: Annotated[
        float, Shown("Answer of the synthetic records", Tag.PAID, unit="mean of a row")
    ]
    certified: Annotated[float, Field(ge=0), _mean("Certified error", Tag.PAID)]

    @property
    def actual(self) -> float:
        """The error of the released answer."""
        return abs(self.released - self.private)

    @property
    def held(self) -> bool:
        """Whether the error is within the certified error."""
        return self.actual <= self.certified


class WorkloadReview(LabelledSection):
    """The queries that a release answered: a summary of all, and the worst one by one."""

    queries: Annotated[int, Field(ge=1), Shown("Queries answered", unit="queries")]
    outside: Annotated[
        int, Field(ge=0), Shown("Answers outside their bounds", _INTERNAL, unit="queries")
    ]
    largest: Annotated[float, Field(ge=0), _mean("Largest error", _INTERNAL)]
    largest_of_records: Annotated[
        float,
        Field(ge=0),
        _mean("Largest error of the synthetic records", _INTERNAL),
    ]
    worst: Annotated[tuple[QueryReview, ...], Field(min_length=1), Shown("Worst", _INTERNAL)]


class Comparison(LabelledSection):
    """One measure of how far the synthetic table is from the private one; 0 is best."""

    metric: Annotated[str, Shown("Metric")]
    value: Annotated[float | None, Field(ge=0), Shown("Value", _INTERNAL)]
    """none if the tables leave it undefined"""
    unit: Annotated[str, Shown("Unit")]
    meaning: Annotated[str, Field(min_length=1), Shown("Meaning")]


class Finding(LabelledSection):
    """The result of the validation of the private table for one rule."""

    column: Annotated[str, Shown("Column", form="code")]
    rule: Annotated[str, Shown("Rule")]
    failing_rows: Annotated[int, Field(ge=0), Shown("Rows that break the rule", _INTERNAL)]


class InternalReview(LabelledSection):
    """All comparisons with the private data; as confidential as the private data."""

    release_id: Annotated[str, Field(min_length=1), Shown("Release", form="code")]
    title: Annotated[str, Shown("Title")]
    created: Annotated[AwareDatetime, Shown("Created")]
    private_rows: Annotated[int, Field(ge=0), Shown("Private records compared", _INTERNAL)]
    left_out: Annotated[
        int, Field(ge=0), Shown("Records dropped beyond a person's maximum", _INTERNAL)
    ] = 0
    """neither measured nor compared here; the certificate is not about them either"""
    synthetic_rows: Annotated[int, Field(ge=0), Shown("Synthetic rows")]
    metric: Annotated[str, Shown("Distance")]
    confidence: Annotated[float, Field(gt=0, lt=1), Shown("Joint confidence", form="percent")]
    columns: Annotated[tuple[ColumnReview, ...], Field(min_length=1), Shown("Columns", _INTERNAL)]
    joint: Annotated[tuple[JointReview, ...], Shown("Columns together", _INTERNAL)] = ()
    pairs: Annotated[PairsReview | None, Shown("Columns together", _INTERNAL)] = None
    workload: Annotated[WorkloadReview | None, Shown("Answers of queries", _INTERNAL)] = None
    metrics: Annotated[tuple[Comparison, ...], Shown("Utility metrics", _INTERNAL)] = ()
    sampled: Annotated[
        int | None, Field(ge=0), Shown("Private records in the sample", _INTERNAL)
    ] = None
    """that metrics, correlations and means of groups compare; None: all were compared"""
    findings: Annotated[tuple[Finding, ...], Shown("Findings of the validation", _INTERNAL)] = ()
