"""Columns as the dictionary of a page shows them: facts in words, and what was released of each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from hallmark.schemas.documents.audit_report import ProtectedColumn
from hallmark.schemas.documents.audit_utility import Marginal, Utility
from hallmark.schemas.documents.certificate import CertifiedBound
from hallmark.schemas.documents.data_dictionary import DictionaryColumn
from hallmark.tasks.questions.answers import Answer, Answers
from hallmark.tasks.rendering.plots import in_its_unit, marginal_plot
from hallmark.tasks.rendering.wording import number, percent
from hallmark.tasks.site.tables import Tables
from hallmark.tasks.verification.documents import Documents


@dataclass(frozen=True, kw_only=True)
class ShownColumn:
    """One column.

    Attributes:
        facts: what is stated of it, each with its name.
        categories: code and label of each.
        plot: its released distribution; None where none was released.
        band: what the band in the plot is, where it is not the intervals of the answers.
        answers: how many records are in each of its cells, with intervals; None if the noisy
            tables do not tell.
        shares: of the synthetic records in each cell, where there are no answers.
        words: by which it is found, in lower case.
    """

    name: str
    description: str
    kind: str
    facts: tuple[tuple[str, str], ...]
    categories: tuple[tuple[str, str], ...]
    plot: Markup | None
    band: str
    answers: Answers | None
    shares: tuple[tuple[str, str], ...]
    words: str


def shown_columns(told: Documents, tables: Tables) -> list[ShownColumn]:
    """All columns of the released file, in its order."""
    record = told.record
    protected = {column.name: column for column in record.protected.columns}
    marginals = {marginal.column: marginal for marginal in record.utility.marginals}
    return [
        _shown(
            column,
            protected.get(column.name),
            marginals.get(column.name),
            told.certificate.for_column(column.name),
            tables.answers.get((column.name,)),
            record.utility,
        )
        for column in told.dictionary.columns
    ]


def _shown(
    column: DictionaryColumn,
    protected: ProtectedColumn | None,
    marginal: Marginal | None,
    bound: CertifiedBound | None,
    answers: Answers | None,
    utility: Utility,
) -> ShownColumn:
    categories = tuple((one.value, one.label) for one in column.categories)
    plot, band = None, ""
    if marginal is not None:
        told = () if answers is None else answers.answers
        if [one.group for one in told] == [(cell,) for cell in marginal.cells]:
            marginal = _with_intervals(marginal, told, utility.rows)
        elif marginal.measured:
            band = utility.band
        plot = marginal_plot(marginal)
    shares = [] if marginal is None else zip(marginal.cells, marginal.synthetic, strict=True)
    texts = [column.name, column.description, column.unit, column.type, *sum(categories, ())]
    return ShownColumn(
        name=column.name,
        description=column.description,
        kind=column.type,
        facts=tuple(_facts(column, protected, bound)),
        categories=categories,
        plot=plot,
        band=band,
        answers=answers,
        shares=tuple((cell, percent(share)) for cell, share in shares),
        words=" ".join(" ".join(texts).lower().split()),
    )


def _with_intervals(marginal: Marginal, answers: Sequence[Answer], rows: int) -> Marginal:
    """The distribution of the records beside estimates from all noisy tables, with intervals."""
    # One end may be cut off where no count can be, so the other tells how wide it is.
    wide = [max((one.high or 0) - one.estimate, one.estimate - (one.low or 0)) for one in answers]
    return marginal.model_copy(
        update={
            "measured": tuple(one.estimate / rows for one in answers),
            "half_width": tuple(half / rows for half in wide),
        }
    )


def _facts(
    column: DictionaryColumn, told: ProtectedColumn | None, bound: CertifiedBound | None
) -> Iterator[tuple[str, str]]:
    if told is not None:
        yield "Values", told.domain
    elif column.interval is not None:
        yield "Values", f"{column.interval.low} to {column.interval.high}"
    if column.recoded_by:
        yield "Recoded", f"by {column.recoded_by}, before anything was counted"
    marker = "empty" if column.null_marker == "" else column.null_marker
    yield "Missing values", f"{marker} in CSV" if column.nullable else "none"
    if column.looked_up_from:
        yield (
            "Looked up",
            f"from {column.looked_up_from}, by a public table; it was not measured, and is as "
            f"exact as {column.looked_up_from} is",
        )
    if column.grid is not None:
        yield "Counted in", _grid(column)
    if column.outside:
        yield "Values outside", column.outside
    if source := column.bound_source or (told.bound_source if told is not None else ""):
        yield "Source of the bounds", source
    if bound is not None:
        yield "Certified error", _error(bound)


def _error(bound: CertifiedBound) -> str:
    if bound.vacuous:
        return f"nothing is certified: the bound would hold for any data ({bound.metric})"
    most = (
        in_its_unit(bound) if bound.unit else f"{percent(bound.value, up=True)} of {bound.share_of}"
    )
    return f"at most {most} ({bound.metric})"


def _grid(column: DictionaryColumn) -> str:
    grid = column.grid
    assert grid is not None, "it was asked for"
    cells = f"{grid.cells:,} cell{'s' if grid.cells != 1 else ''}"
    if grid.width is None:
        return cells
    unit = f" {column.unit}" if column.unit and column.type != "date" else ""
    if column.type == "date":
        unit = " days"
    return f"{cells}, the widest of {number(grid.width)}{unit}"
