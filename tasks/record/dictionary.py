"""The data dictionary of a release, for data users, made from the spec and the certificate."""

from itertools import repeat

from hallmark.schemas.columns.columns import DateColumn, NumericColumn
from hallmark.schemas.columns.labelled import LABELLED_FORMATS, category_numbers
from hallmark.schemas.documents.certificate import CertificateFile
from hallmark.schemas.documents.data_dictionary import (
    Category,
    CellGrid,
    ColumnError,
    ColumnType,
    DataDictionary,
    DictionaryColumn,
    DictionaryReplicates,
    Interval,
)
from hallmark.schemas.documents.manifest import REPLICATES_FILES
from hallmark.schemas.lookups import Lookup
from hallmark.tasks.panel import people_files
from hallmark.tasks.planning.coding import Codec, codec_of
from hallmark.tasks.planning.prepared import Prepared

_OUTSIDE = {
    "refuse": "there are none: the release would have been refused",
    "clamp": "moved to the nearer bound before anything was measured: the lowest value stands for "
    "all below it too, the highest for all above",
    "catch_all": "counted as the catch-all category",
}


def data_dictionary(
    prepared: Prepared,
    certificate: CertificateFile,
    *,
    rows: int,
    attenuated: tuple[str, ...] = (),
) -> DataDictionary:
    """The dictionary of the published columns, in order.

    Args:
        attenuated: pairs whose dependence is weaker in the records than the noise explains.
    """
    return DataDictionary(
        release_id=prepared.spec.release,
        rows=rows,
        files=()
        if prepared.given is not None
        else tuple(prepared.spec.data_files[form] for form in prepared.spec.output.formats),
        csv_delimiter=prepared.spec.data.delimiter,
        csv_encoding=prepared.spec.data.characters,
        replicates=_replicates(prepared),
        people=people_files(prepared.spec),
        attenuated=attenuated,
        columns=tuple(
            _column(
                codec_of(name, column),
                certificate,
                prepared.spec.null_marker(name),
                recoded_by=prepared.spec.recoded_by(name),
                lookup=prepared.spec.lookups.get(name),
                numbered=not set(LABELLED_FORMATS).isdisjoint(prepared.spec.output.formats),
            )
            for name, column in prepared.spec.published.items()
        ),
    )


def _replicates(prepared: Prepared) -> DictionaryReplicates | None:
    asked = prepared.spec.output.replicates
    if asked is None:
        return None
    return DictionaryReplicates.of(
        asked.number, tuple(REPLICATES_FILES[form] for form in asked.formats)
    )


def _column(
    codec: Codec,
    certificate: CertificateFile,
    marker: str,
    *,
    recoded_by: str,
    lookup: Lookup | None,
    numbered: bool,
) -> DictionaryColumn:
    column, attribute = codec.column, codec.attribute
    source = column.bound_source
    interval, width = None, None
    categories: tuple[Category, ...] = ()
    kind: ColumnType = "real" if isinstance(column, NumericColumn) else column.type
    if isinstance(column, NumericColumn):
        if column.integer:
            kind, interval = "integer", Interval(low=int(column.minimum), high=int(column.maximum))
        else:
            interval = Interval(low=float(column.minimum), high=float(column.maximum))
    elif isinstance(column, DateColumn):
        interval = Interval(low=column.minimum, high=column.maximum)
    else:
        numbers = category_numbers(column.codes) if numbered else repeat(None, len(column.codes))
        categories = tuple(
            Category(value=code, label=label, number=number)
            for code, label, number in zip(column.codes, column.labels, numbers, strict=True)
        )
    if isinstance(column, NumericColumn | DateColumn):
        width = float((column.edges[1:] - column.edges[:-1]).max())
    bound = certificate.for_column(codec.name)
    return DictionaryColumn(
        name=codec.name,
        description=column.description,
        type=kind,
        unit=attribute.unit,
        interval=interval,
        categories=categories,
        nullable=column.nulls,
        null_marker=marker if column.nulls else "",
        outside=_OUTSIDE[column.outside] if lookup is None else "",
        bound_source=f"{source.kind}: {source.reference}" if source else "",
        recoded_by=recoded_by,
        looked_up_from="" if lookup is None else lookup.of,
        grid=None
        if lookup is not None
        else CellGrid(
            cells=attribute.levels,
            width=width,
            description="width of the widest cell"
            if width is not None
            else "one cell per category",
        ),
        decimals=column.decimals if isinstance(column, NumericColumn) else None,
        decimal_mark=column.marks.decimal if isinstance(column, NumericColumn) else ".",
        date_format=column.format if isinstance(column, DateColumn) else "%Y-%m-%d",
        error=ColumnError.of(bound, confidence=certificate.confidence) if bound else None,
    )
