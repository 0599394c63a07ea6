"""Checks between the sections of a spec, and warnings about a sound one.

The checks take whatever sections are sound by themselves, so that a spec with one bad column still
hears about everything else.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from schemas.columns import BooleanColumn, Column, NominalColumn, OrdinalColumn
from schemas.exact import decimal
from schemas.nearest import no_such_column
from schemas.section import Path, Problem
from schemas.spec_sections import Constraint, DataSource, MechanismChoice, Output, Privacy


@dataclass(frozen=True, kw_only=True)
class SoundSections:
    """The sections that are sound by themselves; None or left out where one is not.

    `unsound_columns` names the columns left out of `columns`, so that nobody calls them unknown.
    """

    data: DataSource | None = None
    privacy: Privacy | None = None
    mechanism: MechanismChoice | None = None
    constraints: Mapping[int, Constraint] = field(default_factory=dict)
    output: Output | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    unsound_columns: frozenset[str] = frozenset()

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of all columns that the spec lists, sound or not."""
        return (*self.columns, *self.unsound_columns)


def problems_between(sections: SoundSections) -> Iterator[Problem]:
    """Contradictions between sections, each with the path at which to mend it."""
    for check in _CHECKS:
        yield from check(sections)


def warnings_about(sections: SoundSections) -> Iterator[str]:
    """What a sound spec asks for that weakens the guarantee or tells something about the data."""
    columns, data, privacy = sections.columns, sections.data, sections.privacy
    for name, column in columns.items():
        source = column.bound_source
        if source is not None and source.kind == "private_estimate":
            yield (
                f"columns.{name}: its bounds were estimated from the private data without a "
                f"charge, which voids the guarantee for this column; accepted by "
                f"{source.accepted_by}"
            )
    refusing = [name for name, column in columns.items() if column.outside == "refuse"]
    if refusing:
        yield (
            f"outside: refuse in {', '.join(refusing)}: that the run succeeds tells, unprotected, "
            "that every value lay inside the public domain; clamp or catch_all tells nothing"
        )
    full = [name for name, column in columns.items() if not column.nulls]
    if full:
        yield (
            f"nulls: false in {', '.join(full)}: that the run succeeds tells, unprotected, that "
            "no value was missing; nulls: true tells nothing"
        )
    if data is not None and privacy is not None and privacy.neighbours == "add_remove":
        yield (
            f"data.expected_rows: {data.expected_rows} is published with the spec, while "
            "add_remove protects the number of records; state a public estimate, never the exact "
            "count"
        )
    if data is not None and privacy is not None and privacy.delta * data.expected_rows >= 1:
        yield (
            f"privacy.delta is {decimal(privacy.delta)}, but should lie well below one in "
            f"{data.expected_rows} (data.expected_rows): a mechanism that publishes a random "
            "record in full would satisfy it"
        )


def _delta_suits_mechanism(sections: SoundSections) -> Iterator[Problem]:
    if sections.privacy is None or sections.mechanism is None:
        return
    name, delta = sections.mechanism.name, sections.privacy.delta
    if name == "privpgd" and delta == 0:
        yield Problem(
            ("privacy", "delta"),
            "is 0, but privpgd adds Gaussian noise, which needs delta above 0; give a delta well "
            "below 1 / data.expected_rows, or choose mechanism pmm",
        )
    if name == "pmm" and delta != 0:
        yield Problem(
            ("privacy", "delta"),
            f"is {decimal(delta)}, but pmm gives pure differential privacy and spends no delta; "
            "remove delta, or choose mechanism privpgd",
        )


def _person_is_never_released(sections: SoundSections) -> Iterator[Problem]:
    if sections.privacy is None or sections.privacy.person is None:
        return
    person = sections.privacy.person
    if person in sections.column_names:
        yield Problem(
            ("columns", person),
            "identifies a person (privacy.unit.person), so it is never released; "
            "remove it from columns",
        )
    if sections.data is not None and person in sections.data.ignore:
        yield Problem(
            ("data", "ignore", sections.data.ignore.index(person)),
            f"{person} identifies a person (privacy.unit.person), so it has to be read; "
            "remove it from data.ignore",
        )


def _ignored_columns_are_not_listed(sections: SoundSections) -> Iterator[Problem]:
    if sections.data is None:
        return
    for i, name in enumerate(sections.data.ignore):
        if name in sections.column_names:
            yield Problem(
                ("data", "ignore", i),
                f"{name} is listed under columns too; keep it in one of the two",
            )
    yield from _repetitions(("data", "ignore"), sections.data.ignore)


def _file_is_readable_as_stated(sections: SoundSections) -> Iterator[Problem]:
    data = sections.data
    if data is None:
        return
    if data.file_format == "parquet" and "delimiter" in data.model_fields_set:
        yield Problem(("data", "delimiter"), "is for CSV files only; remove it for Parquet")
    last = data.source.rstrip("/").rpartition("/")[2]
    if data.file_format is None and "." in last.strip(".") and "*" not in last:
        yield Problem(
            ("data", "format"),
            f"is missing, and {last!r} does not tell it; say format: csv or format: parquet",
        )


def _null_markers_are_no_categories(sections: SoundSections) -> Iterator[Problem]:
    if sections.data is None:
        return
    for name, column in sections.columns.items():
        match column:
            case NominalColumn() | OrdinalColumn():
                key, texts = "categories", tuple(column.categories)
            case BooleanColumn():
                key, texts = "values", tuple(column.values)
            case _:
                continue
        for marker in sections.data.null_markers:
            if marker in texts:
                yield Problem(
                    ("columns", name, key),
                    f"lists {marker!r}, which is also one of data.null_markers; remove it here "
                    "and say nulls: true, or remove the marker",
                )


def _output_columns_are_known(sections: SoundSections) -> Iterator[Problem]:
    if sections.output is None:
        return
    chosen = sections.output.columns or ()
    for i, name in enumerate(chosen):
        if name not in sections.column_names:
            yield Problem(("output", "columns", i), no_such_column(name, sections.column_names))
    yield from _repetitions(("output", "columns"), chosen)
    yield from _repetitions(("output", "formats"), sections.output.formats)


def _rules_suit_the_columns(sections: SoundSections) -> Iterator[Problem]:
    output = sections.output
    for i, constraint in sections.constraints.items():
        rule, path = constraint.parsed, ("constraints", i, "rule")
        if sections.unsound_columns.isdisjoint(rule.columns()):
            for what in rule.problems(sections.columns):
                yield Problem(path, what)
        if output is not None and output.columns is not None:
            for name in rule.columns():
                if name in sections.columns and name not in output.columns:
                    yield Problem(
                        path,
                        f"speaks of {name}, which output.columns leaves out, so it cannot be "
                        "checked on the published file; publish the column, or drop the rule",
                    )


_CHECKS: tuple[Callable[[SoundSections], Iterator[Problem]], ...] = (
    _delta_suits_mechanism,
    _person_is_never_released,
    _ignored_columns_are_not_listed,
    _file_is_readable_as_stated,
    _null_markers_are_no_categories,
    _output_columns_are_known,
    _rules_suit_the_columns,
)


def _repetitions(path: Path, values: tuple[str, ...]) -> Iterator[Problem]:
    for value, times in Counter(values).items():
        if times > 1:
            yield Problem(path, f"lists {value} more than once; keep one of each")
