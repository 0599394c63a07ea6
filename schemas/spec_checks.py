"""Checks between the sections of a spec.

The checks take all sections that are sound by themselves, so that a spec with one bad column is
still checked everywhere else.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hallmark.schemas.binning import Binning, two_ways
from hallmark.schemas.columns.category_columns import CategoryColumn
from hallmark.schemas.columns.columns import (
    BooleanColumn,
    Column,
    DateColumn,
    NumericColumn,
    PlacesColumn,
)
from hallmark.schemas.columns.labelled import LABELLED_FORMATS, domain_problems, name_problems
from hallmark.schemas.database import check_name, is_database
from hallmark.schemas.encoding import unwritable
from hallmark.schemas.lookups import Lookup, as_columns
from hallmark.schemas.nearest import no_such_column
from hallmark.schemas.panel_checks import panel_problems
from hallmark.schemas.public_totals import PublicTotal
from hallmark.schemas.section import Path, Problem
from hallmark.schemas.series import Series
from hallmark.schemas.spec_sections import (
    CertificateRequest,
    Constraint,
    MechanismChoice,
    Output,
    Privacy,
)
from hallmark.schemas.table_sections import (
    FORMAT_NAMES,
    DataSource,
    PublicData,
    RehearsalData,
    TableFile,
)


@dataclass(frozen=True, kw_only=True)
class SoundSections:
    """The sections that are sound by themselves; the others are None or left out.

    `unsound_columns` names the columns left out of `columns`, so that they are not called unknown;
    so does `unsound_lookups` those left out of `lookups`.
    """

    data: DataSource | None = None
    public_data: PublicData | None = None
    rehearsal: RehearsalData | None = None
    privacy: Privacy | None = None
    mechanism: MechanismChoice | None = None
    certificate: CertificateRequest | None = None
    binning: Binning | None = None
    constraints: Mapping[int, Constraint] = field(default_factory=dict)
    public_totals: Mapping[int, PublicTotal] = field(default_factory=dict)
    output: Output | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    unsound_columns: frozenset[str] = frozenset()
    lookups: Mapping[str, Lookup] = field(default_factory=dict)
    unsound_lookups: frozenset[str] = frozenset()
    series: Series | None = None

    @property
    def table_files(self) -> Iterator[tuple[str, TableFile]]:
        """The sections that locate a table, with their keys."""
        if self.data is not None:
            yield "data", self.data
        if self.public_data is not None:
            yield "public_data", self.public_data
        if self.rehearsal is not None:
            yield "rehearsal", self.rehearsal

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of all columns in the spec, sound or not."""
        return (*self.columns, *self.unsound_columns)

    @property
    def lookup_names(self) -> frozenset[str]:
        """Names of all lookups in the spec, sound or not, that are not those of columns, too."""
        return frozenset({*self.lookups, *self.unsound_lookups}) - {*self.column_names}

    @property
    def told_elsewhere(self) -> frozenset[str]:
        """Names that are not called unknown although `columns` lacks them."""
        return self.unsound_columns | self.lookup_names

    @property
    def in_files(self) -> Iterator[tuple[str, str, Column]]:
        """What files of the release may hold: section of the spec, name, and column."""
        for name, column in self.columns.items():
            yield "columns", name, column
        for name, looked_up in as_columns(self.lookups, self.columns).items():
            yield "lookups", name, looked_up


def problems_between(sections: SoundSections) -> Iterator[Problem]:
    """Contradictions between sections, each with the path at which to fix it."""
    for check in _CHECKS:
        yield from check(sections)


def _mechanism_serves_the_spec(sections: SoundSections) -> Iterator[Problem]:
    if sections.mechanism is None:
        return
    privacy, certificate = sections.privacy, sections.certificate
    refusals = sections.mechanism.entry.refusals(
        delta=None if privacy is None else privacy.delta,
        public_data=sections.public_data is not None,
        places=[n for n, column in sections.columns.items() if isinstance(column, PlacesColumn)],
        share=certificate is not None and certificate.share > 0,
        binning=sections.binning is not None,
        two_ways=two_ways(sections.columns),
    )
    for path, what in refusals:
        yield Problem(path, what)


def _lookups_suit_the_columns(sections: SoundSections) -> Iterator[Problem]:
    released = sections.output.columns if sections.output is not None else None
    for name, lookup in sections.lookups.items():
        path, of = ("lookups", name), lookup.of
        if name in sections.column_names:
            yield Problem(
                path, "is also listed under columns, where it is measured; keep one of the two"
            )
        if of in sections.lookup_names:
            yield Problem(
                (*path, "of"), f"is {of}, which is looked up itself; name a measured column"
            )
        elif of not in sections.column_names:
            yield Problem((*path, "of"), no_such_column(of, sections.column_names))
        elif of in sections.columns:
            for key, what in lookup.problems(sections.columns[of]):
                yield Problem((*path, key), what)
        if released is not None and name in released and of not in released:
            yield Problem(
                (*path, "of"),
                f"is {of}, which output.columns leaves out, so the values cannot be checked on the "
                f"published file; publish {of}, or leave {name} out, too",
            )


def _lookups_are_not_measured(sections: SoundSections) -> Iterator[Problem]:
    """Sections that speak of what is measured, and name a column that is not."""
    named: dict[Path, Iterable[str]] = {}
    for i, constraint in sections.constraints.items():
        named["constraints", i, "rule"] = constraint.parsed.columns()
    for i, total in sections.public_totals.items():
        named["public_totals", i] = total.touched()
    if sections.binning is not None:
        named["binning", "columns"] = sections.binning.columns
    if sections.mechanism is not None:
        for i, entry in enumerate(sections.mechanism.queries):
            named["mechanism", "queries", i] = entry.touched()
        for key, value in sections.mechanism.parameters.items():
            named["mechanism", key] = _listed(value)
    for path, names in named.items():
        for name in sections.lookup_names.intersection(names):
            lookup = sections.lookups.get(name)
            mend = f"name {lookup.of} instead" if lookup else "name the measured column instead"
            yield Problem(path, f"names {name}, which is looked up and not measured; {mend}")


def _listed(value: Any) -> Iterator[str]:
    """All texts in lists of a mechanism's parameter, among them the names of columns."""
    for part in value.values() if isinstance(value, Mapping) else ():
        yield from _listed(part)
    for part in value if isinstance(value, list) else ():
        yield from [part] if isinstance(part, str) else _listed(part)


def _certificate_keys_belong_to_a_share(sections: SoundSections) -> Iterator[Problem]:
    certificate, mechanism = sections.certificate, sections.mechanism
    if certificate is None or certificate.share > 0:
        return
    if mechanism is not None and not mechanism.entry.makes_records:
        return
    for key, value in (("marginals", certificate.marginals), ("cells", certificate.cells)):
        if value is not None:
            yield Problem(
                ("certificate", key),
                "says what certificate.share is spent on, but the share is 0; give a share such "
                "as 0.1, or remove this key",
            )


def _certificate_alone_publishes_no_records(sections: SoundSections) -> Iterator[Problem]:
    if sections.mechanism is None or sections.mechanism.entry.makes_records:
        return
    useless = {
        "lookups": sections.lookups,
        "constraints": sections.constraints,
        "public_totals": sections.public_totals,
        "output": sections.output is not None and sections.output.model_fields_set,
    }
    for key, there in useless.items():
        if there:
            yield Problem(
                (key,),
                "is about published records, but certify publishes none; remove the section",
            )


def _bins_suit_the_columns(sections: SoundSections) -> Iterator[Problem]:
    binning = sections.binning
    if binning is None:
        return
    for path, what in binning.problems(sections.columns, sections.told_elsewhere):
        yield Problem(("binning", *path), what)


def _panel_suits_the_rest(sections: SoundSections) -> Iterator[Problem]:
    if sections.series is not None:
        yield from panel_problems(
            sections.series,
            sections.columns,
            sections.column_names,
            constraints=sections.constraints,
            public_totals=sections.public_totals,
            data=sections.data,
            mechanism=sections.mechanism,
            output=sections.output,
        )


def _person_is_never_released(sections: SoundSections) -> Iterator[Problem]:
    if sections.privacy is None or sections.privacy.person is None:
        return
    person = sections.privacy.person
    for section, names in (("columns", sections.column_names), ("lookups", sections.lookup_names)):
        if person in names:
            yield Problem(
                (section, person),
                "identifies a person (privacy.unit.person), so it is never released; "
                f"remove it from {section}",
            )
    if sections.data is not None and person in sections.data.ignore:
        yield Problem(
            ("data", "ignore", sections.data.ignore.index(person)),
            f"{person} identifies a person (privacy.unit.person), so it must be read; "
            "remove it from data.ignore",
        )


def _ignored_columns_are_not_listed(sections: SoundSections) -> Iterator[Problem]:
    if sections.data is None:
        return
    for i, name in enumerate(sections.data.ignore):
        if name in sections.column_names:
            yield Problem(
                ("data", "ignore", i),
                f"{name} is also listed under columns; keep only one of the two",
            )
    yield from _repetitions(("data", "ignore"), sections.data.ignore)


def _files_are_readable_as_stated(sections: SoundSections) -> Iterator[Problem]:
    for key, table in sections.table_files:
        if is_database(table.source):
            continue
        for option in ("delimiter", "encoding"):
            if not _may_be_csv(table) and option in table.model_fields_set:
                yield Problem(
                    (key, option), f"is for CSV files only; remove it for {_kind_of(table)}"
                )
        if table.sheet is not None and table.file_format != "xlsx":
            yield Problem((key, "sheet"), "is for Excel workbooks only; remove it")
        last = table.source.rstrip("/").rpartition("/")[2]
        if table.file_format is None and "." in last.strip(".") and "*" not in last:
            yield Problem(
                (key, "format"),
                f"is missing, and {last!r} does not show it; write format: csv or format: parquet",
            )


def _marks_are_of_a_csv_file(sections: SoundSections) -> Iterator[Problem]:
    """Number marks given for a source that holds numbers as such, as all but CSV do."""
    if sections.data is not None and not _may_be_csv(sections.data):
        given = [key for key in ("decimal_mark", "thousands") if getattr(sections.data, key)]
        for key in given if not sections.data.in_database else ():
            yield Problem(
                ("data", key),
                f"is for CSV files, but data.source is {_kind_of(sections.data)}, which holds the "
                "numbers themselves; remove it",
            )
        if given:
            return
    tables = list(sections.table_files)
    if not tables or any(_may_be_csv(table) for _, table in tables):
        return
    kind = _kind_of(tables[0][1])
    for name, column in sections.columns.items():
        for key in ("decimal_mark", "thousands"):
            if getattr(column, key, None) is not None:
                yield Problem(
                    ("columns", name, key),
                    f"is for CSV files, but {tables[0][0]}.source is {kind}, which holds the "
                    "numbers themselves; remove it",
                )


def _may_be_csv(table: TableFile) -> bool:
    return table.file_format in (None, "csv") and not is_database(table.source)


def _kind_of(table: TableFile) -> str:
    """What a table that is no CSV file is in, in words."""
    if is_database(table.source) or table.file_format is None:
        return "a database"
    return FORMAT_NAMES[table.file_format]


def _texts_can_be_written(sections: SoundSections) -> Iterator[Problem]:
    """Texts that a file's encoding lacks: they could neither be found in it nor be released."""
    for key, table in sections.table_files:
        if table.encoding is None:
            continue
        for section, name, column in sections.in_files:
            for where, listed in _texts(column).items():
                for text in unwritable(listed, table.characters)[:1]:
                    yield Problem(
                        (section, name, where if section == "columns" else "values"),
                        f"lists {text!r}, which cannot be written in {key}.encoding, "
                        f"{table.encoding}; change one of the two",
                    )
            if unwritable([name, *(column.null_markers or ())], table.characters):
                yield Problem(
                    (section, name),
                    f"has a name or null marker that cannot be written in {key}.encoding, "
                    f"{table.encoding}; change one of the two",
                )
        for marker in unwritable(table.null_markers, table.characters)[:1]:
            yield Problem(
                (key, "null_markers"),
                f"lists {marker!r}, which cannot be written in {table.encoding}; change one of "
                "the two",
            )


def _texts(column: Column) -> dict[str, tuple[str, ...]]:
    match column:
        case CategoryColumn():
            recoded = column.recode.old_codes if column.recode is not None else ()
            return {"categories": column.codes, "recode": tuple(recoded)}
        case BooleanColumn():
            return {"values": tuple(column.values)}
    return {}


def _names_fit_the_database(sections: SoundSections) -> Iterator[Problem]:
    if sections.output is None or sections.output.table is None:
        return
    for name in sections.output.columns or (name for _, name, _ in sections.in_files):
        try:
            check_name(name)
        except ValueError as error:
            yield Problem(("output", "table"), f"would have the column {name}, but {error}")


def _null_markers_are_no_values(sections: SoundSections) -> Iterator[Problem]:
    for section, table in sections.table_files:
        for name, column in sections.columns.items():
            of = "its null_markers"
            if column.null_markers is None:
                of = f"{section}.null_markers"
            for marker in column.markers(table.null_markers):
                clash = _clash(column, marker)
                if clash is not None:
                    key, what = clash
                    yield Problem(
                        ("columns", name, key),
                        f"{what}, which is also one of {of}, so every such value would count as "
                        "missing; leave it out here and write nulls: true, or remove the marker",
                    )
        for name, lookup in sections.lookups.items():
            for marker in filter(lookup.holds, table.null_markers):
                yield Problem(
                    ("lookups", name, "values"),
                    f"have {marker!r}, which is also one of {section}.null_markers, so it would "
                    "count as missing; remove the marker there, and give columns their own",
                )


def _clash(column: Column, marker: str) -> tuple[str, str] | None:
    """The column's key that makes a null marker a valid value, and words for how; else None."""
    match column:
        case CategoryColumn() if column.recode is not None and marker in column.recode.old_codes:
            return "recode", f"has the code {marker!r}"
        case CategoryColumn() if marker in column.categories:
            return "categories", f"lists {marker!r}"
        case BooleanColumn() if marker in column.values:
            return "values", f"lists {marker!r}"
        case NumericColumn() | DateColumn() if column.holds(marker):
            return "minimum", f"and maximum enclose {marker!r}"
    return None


def _output_columns_are_known(sections: SoundSections) -> Iterator[Problem]:
    if sections.output is None:
        return
    chosen = sections.output.columns or ()
    for i, name in enumerate(chosen):
        known = (*sections.column_names, *sections.lookup_names)
        if name not in known:
            yield Problem(("output", "columns", i), no_such_column(name, known))
    yield from _repetitions(("output", "columns"), chosen)
    yield from _repetitions(("output", "formats"), sections.output.formats)


def _labelled_files_can_be_written(sections: SoundSections) -> Iterator[Problem]:
    """Names and values that a CSV file can hold, but a labelled file cannot."""
    formats = sections.output.formats if sections.output else ()
    labelled = [form for form in formats if form in LABELLED_FORMATS]
    if sections.output is None or not labelled:
        return
    if len(labelled) == len(formats):
        yield Problem(
            ("output", "formats"),
            "has neither csv nor parquet, but the scripts that load the release need one; add csv",
        )
    held = {name: (section, column) for section, name, column in sections.in_files}
    chosen = [name for name in sections.output.columns or held if name in held]
    sound = {name: held[name][1] for name in chosen}
    for name, why in (*name_problems(chosen), *domain_problems(sound)):
        yield Problem(
            (held[name][0], name),
            f"cannot be written as {' or '.join(labelled)}: {why}; leave {' and '.join(labelled)} "
            "out of output.formats, or the column out of output.columns",
        )


def _rules_suit_the_columns(sections: SoundSections) -> Iterator[Problem]:
    output = sections.output
    for i, constraint in sections.constraints.items():
        rule, path = constraint.parsed, ("constraints", i, "rule")
        if sections.told_elsewhere.isdisjoint(rule.columns()):
            for what in rule.problems(sections.columns):
                yield Problem(path, what)
        if output is not None and output.columns is not None:
            for name in rule.columns():
                if name in sections.columns and name not in output.columns:
                    yield Problem(
                        path,
                        f"mentions {name}, which output.columns leaves out, so it cannot be "
                        "checked on the published file; publish the column, or drop the rule",
                    )


def _queries_suit_the_columns(sections: SoundSections) -> Iterator[Problem]:
    for i, entry in enumerate(sections.mechanism.queries if sections.mechanism else ()):
        if sections.told_elsewhere.isdisjoint(entry.touched()):
            for path, what in entry.problems(sections.columns):
                yield Problem(("mechanism", "queries", i, *path), what)


def _totals_suit_the_columns(sections: SoundSections) -> Iterator[Problem]:
    markers = sections.data.null_markers if sections.data is not None else ()
    released = sections.output.columns if sections.output is not None else None
    for i, total in sections.public_totals.items():
        touched = total.touched()
        if sections.told_elsewhere.isdisjoint(touched):
            for path, what in total.problems(sections.columns, markers):
                yield Problem(("public_totals", i, *path), what)
        for name in touched:
            if released is not None and name in sections.columns and name not in released:
                yield Problem(
                    ("public_totals", i),
                    f"counts {name}, which output.columns leaves out, so it cannot be checked on "
                    "the published file; publish the column, or drop the total",
                )


def _totals_agree_on_the_number_of_records(sections: SoundSections) -> Iterator[Problem]:
    tables = {i: total for i, total in sections.public_totals.items() if total.is_table}
    rows = sections.output.rows if sections.output is not None else "same"
    records, source = (None, "") if rows == "same" else (rows, "output.rows asks for")
    for i, total in tables.items():
        if records is None:
            records, source = total.records, f"public_totals[{i}] counts"
            if not records:
                yield Problem(("public_totals", i, "counts"), "counts no records at all")
        elif total.records != records:
            mend = (
                "set output.rows to that number, or leave it out"
                if source.startswith("output")
                else "correct the total that is about other records"
            )
            yield Problem(
                ("public_totals", i, "counts"),
                f"adds up to {total.records} records, but {source} {records}; {mend}",
            )
    for i, total in sections.public_totals.items():
        if total.is_table:
            continue
        if records is None:
            yield Problem(
                ("public_totals", i, "count"),
                "counts some of the records, but nothing says how many there are in all; add a "
                "complete table, or set output.rows",
            )
        elif total.fulfilling > records:
            yield Problem(
                ("public_totals", i, "count"),
                f"is {total.fulfilling}, but {source} {records} records in all; correct one "
                "of the two",
            )


def _face_privacy_suits_the_columns(sections: SoundSections) -> Iterator[Problem]:
    asked = None if sections.output is None else sections.output.face_privacy
    if asked is None:
        return
    path = ("output", "face_privacy")
    for i, name in enumerate(asked.columns):
        column = sections.columns.get(name)
        if column is None and name not in sections.unsound_columns:
            yield Problem((*path, "columns", i), no_such_column(name, sections.columns))
        elif column is not None and not _has_a_cell_for_each_value(column):
            yield Problem(
                (*path, "columns", i),
                f"{name} has values within its cells, which would stay unique; name columns of "
                "categories, of truths, or of whole numbers with a cell for each",
            )
    yield from _repetitions((*path, "columns"), asked.columns)
    if sections.public_totals:
        yield Problem(path, "moves records, so that public_totals would not hold; drop one of them")


def _has_a_cell_for_each_value(column: Column) -> bool:
    if isinstance(column, NumericColumn):
        return column.integer and all(high - low == 1 for low, high in pairwise(column.edges))
    return not isinstance(column, DateColumn)


_CHECKS: tuple[Callable[[SoundSections], Iterator[Problem]], ...] = (
    _mechanism_serves_the_spec,
    _lookups_suit_the_columns,
    _lookups_are_not_measured,
    _certificate_keys_belong_to_a_share,
    _certificate_alone_publishes_no_records,
    _bins_suit_the_columns,
    _panel_suits_the_rest,
    _person_is_never_released,
    _ignored_columns_are_not_listed,
    _files_are_readable_as_stated,
    _marks_are_of_a_csv_file,
    _texts_can_be_written,
    _names_fit_the_database,
    _null_markers_are_no_values,
    _output_columns_are_known,
    _labelled_files_can_be_written,
    _face_privacy_suits_the_columns,
    _rules_suit_the_columns,
    _queries_suit_the_columns,
    _totals_suit_the_columns,
    _totals_agree_on_the_number_of_records,
)


def _repetitions(path: Path, values: tuple[str, ...]) -> Iterator[Problem]:
    for value, times in Counter(values).items():
        if times > 1:
            yield Problem(path, f"lists {value} more than once; keep one of each")
