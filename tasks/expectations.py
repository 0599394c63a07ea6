"""The rules that a spec sets for its private table, as they are counted and as expectations.

Rules are checked on the values that the codecs read, so that validation and coding agree. Every
rule is counted twice, by two hands: `Check.broken` tells which of a column's different cells break
it, in the one pass over the table (`tasks.reading`); and it is an expectation of Great
Expectations, which has the last word on the first records of the table (`second_opinion`).
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hallmark.mechanisms.arrays import Mask
from hallmark.schemas.columns.category_columns import CategoryColumn
from hallmark.schemas.columns.columns import DateColumn, NumericColumn
from hallmark.schemas.exact import decimal
from hallmark.schemas.lookups import Lookup
from hallmark.tasks.installation.errors import PrivateFact
from hallmark.tasks.planning.coding import Codec, is_multiple
from hallmark.tasks.planning.looked_up import disagreeing, numbered


class ValidationFailed(PrivateFact):
    """The private table breaks its spec; the message names columns and rules, no counts."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule that rows are checked against. Public."""

    column: str
    rule: str  # in words, with the public bound
    mend: str  # what the steward can do if it fails
    refuses: bool = True  # if not, rows that break it count elsewhere, as the spec says
    section: str = "columns"  # of the spec, where the column stands


_READABLE = "{} can be read"
_STEPPED = "{} is a multiple"
_LOOKED_UP = "{} is as looked up"


def rule_of_truncation(person: str, records: int) -> Rule:
    """The rule about records beyond a person's maximum; no release fails because of it."""
    return Rule(
        column=person,
        rule=f"are among the {records} kept of their person; else left out",
        mend="raise privacy.unit.max_records if they are too many; noise grows with it",
        refuses=False,
    )


def rule_of_lookup(name: str, lookup: Lookup) -> Rule:
    """The rule that a table's own values of a lookup, if it has any, are those of the spec."""
    return Rule(
        column=name,
        rule=f"have the value that is looked up from {lookup.of}, or none",
        mend=f"correct the values there, or list {name} under data.ignore",
        section="lookups",
    )


@dataclass(frozen=True, eq=False)
class ReadColumn:
    """What the codec of a column reads in cells.

    Attributes:
        values: null where there is none, or where it cannot be read.
        unreadable: where it cannot.
    """

    values: pd.Series
    unreadable: Mask

    @property
    def nulls(self) -> Mask:
        """Where there is no value; of an unreadable one that is told, and not that it is null."""
        return np.asarray(self.values.isna().to_numpy(dtype=bool) & ~self.unreadable)


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """An expectation of Great Expectations: its name there, and its arguments. Public."""

    name: str
    arguments: Mapping[str, Any]

    def built(self) -> Any:
        """The expectation itself."""
        import great_expectations.expectations as gxe  # seconds to import: only where needed

        return getattr(gxe, self.name)(**self.arguments)


@dataclass(frozen=True, kw_only=True)
class Check:
    """A rule, and how it is checked.

    Attributes:
        broken: which cells of a column break it.
        expectation: the same, on the column of `checked_frame`.
        shows: whether what breaks it can be shown: a null has no text.
    """

    rule: Rule
    broken: Callable[[ReadColumn], Mask]
    expectation: Expectation
    shows: bool = True


def checks_of(codec: Codec) -> list[Check]:
    """The checks of a column."""
    name, column = codec.name, codec.column
    found: list[Check] = []
    if isinstance(column, NumericColumn | DateColumn):
        rule = Rule(column=name, rule=f"{_form(column)} or null", mend=_mend(column))
        readable = _flagged(_READABLE.format(name))
        found.append(Check(rule=rule, broken=lambda read: read.unreadable, expectation=readable))
    if not column.nulls:
        rule = Rule(column=name, rule="have a value (nulls: false)", mend="set nulls: true")
        found.append(_present(rule))
    found.append(_domain_check(codec))
    if isinstance(column, NumericColumn) and column.step is not None:
        step = column.step
        rule = Rule(
            column=name,
            rule=f"are multiples of {decimal(step)}; else count in the cell they lie in",
            mend="give the column a finer step",
            refuses=False,
        )
        found.append(
            Check(
                rule=rule,
                broken=lambda read: ~is_multiple(read.values, step),
                expectation=_flagged(_STEPPED.format(name)),
            )
        )
    return found


def check_of_person(person: str) -> Check:
    """The check that every record belongs to somebody."""
    return _present(
        Rule(
            column=person,
            rule="name a person",
            mend="records without a person cannot be protected as a person's; drop them first",
        )
    )


def _present(rule: Rule) -> Check:
    """A rule that no cell of its column is null."""
    expectation = Expectation(
        name="ExpectColumnValuesToNotBeNull", arguments={"column": rule.column}
    )
    return Check(rule=rule, broken=lambda read: read.nulls, expectation=expectation, shows=False)


def _flagged(flag: str) -> Expectation:
    """That a column of the checked frame says yes."""
    return Expectation(
        name="ExpectColumnValuesToBeInSet", arguments={"column": flag, "value_set": [True]}
    )


def _domain_check(codec: Codec) -> Check:
    """The check that values lie in the public domain; others refuse, or count elsewhere."""
    column = codec.column
    if isinstance(column, NumericColumn | DateColumn):
        holds = f"lie between {' and '.join(column.ends)}"
        mend = "widen the public interval if a public source allows it"
        instead, elsewhere = "clamp", "at the bounds"
        typed: Callable[[Any], Any] = float if isinstance(column, NumericColumn) else pd.Timestamp
        ends = {"min_value": typed(column.minimum), "max_value": typed(column.maximum)}
        expectation = Expectation(
            name="ExpectColumnValuesToBeBetween", arguments={"column": codec.name, **ends}
        )
    else:
        holds = f"are one of the {len(column.codes)} categories"
        mend = "add the category if it is public"
        if isinstance(column, CategoryColumn) and column.recode is not None:
            holds = f"become one of the {len(column.codes)} categories by the column's recode"
            mend = "correct the codes, or let recode and the list of categories cover them"
        instead, elsewhere = "catch_all", "as other"
        expectation = Expectation(
            name="ExpectColumnValuesToBeInSet",
            arguments={"column": codec.name, "value_set": list(column.codes)},
        )
    if column.outside == "refuse":
        rule = Rule(column=codec.name, rule=holds, mend=f"{mend}, or set outside: {instead}")
    else:
        holds += f"; else count {elsewhere}"
        rule = Rule(column=codec.name, rule=holds, mend=mend, refuses=False)
    return Check(rule=rule, broken=lambda read: codec.outside(read.values), expectation=expectation)


def _mend(column: NumericColumn | DateColumn) -> str:
    """What to do about unreadable texts."""
    if isinstance(column, DateColumn):
        return "correct the data or the column's format, or list the text under its null_markers"
    return (
        "correct the data, state their format by decimal_mark and thousands, or list the text "
        "under null_markers"
    )


def _form(column: NumericColumn | DateColumn) -> str:
    if isinstance(column, DateColumn):
        return f"are dates written as {column.format}"
    return "are whole numbers" if column.integer else "are numbers"


def checked_frame(
    codecs: Sequence[Codec],
    text: pd.DataFrame,
    person: str | None,
    lookups: Mapping[str, Lookup] | None = None,
) -> pd.DataFrame:
    """The columns that the checks are about, from texts as they were read."""
    columns: dict[str, Any] = {}
    for codec in codecs:
        values, unreadable = codec.read(text[codec.name])
        # Object columns: the expectations know neither Arrow's nor pandas' own string type.
        columns[_READABLE.format(codec.name)] = ~unreadable
        if isinstance(codec.column, NumericColumn):
            # An unreadable text is reported as such, not as a null too.
            columns[codec.name] = values.where(~unreadable, float(codec.column.minimum))
            if codec.column.step is not None:
                columns[_STEPPED.format(codec.name)] = is_multiple(values, codec.column.step)
        elif isinstance(codec.column, DateColumn):
            columns[codec.name] = values.where(~unreadable, pd.Timestamp(codec.column.minimum))
        else:
            columns[codec.name] = values.astype(object).where(values.notna(), None)
    measured = {codec.name: codec.column for codec in codecs}
    for name, lookup in (lookups or {}).items():
        columns[_LOOKED_UP.format(name)] = (
            ~disagreeing(*numbered(lookup, measured[lookup.of], text[lookup.of], text[name]))
            if name in text
            else np.ones(len(text), dtype=bool)
        )
    if person is not None:
        columns[person] = text[person].astype(object).where(text[person].notna(), None)
    return pd.DataFrame(columns)


def second_opinion(
    codecs: Sequence[Codec],
    text: pd.DataFrame,
    person: str | None,
    lookups: Mapping[str, Lookup] | None = None,
) -> Mapping[Rule, int]:
    """How many of some rows break each rule, by Great Expectations."""
    checks = [check for codec in codecs for check in checks_of(codec)]
    checks += [] if person is None else [check_of_person(person)]
    expected = [(check.rule, check.expectation) for check in checks]
    for name, lookup in (lookups or {}).items():
        expected.append((rule_of_lookup(name, lookup), _flagged(_LOOKED_UP.format(name))))
    count_failing = failures_of([expectation.built() for _, expectation in expected])
    counts = count_failing(checked_frame(codecs, text, person, lookups))
    return {rule: failing for (rule, _), failing in zip(expected, counts, strict=True)}


def failures_of(expectations: Sequence[Any]) -> Callable[[pd.DataFrame], list[int]]:
    """A function that counts the rows of a frame that fail each expectation."""
    import great_expectations as gx

    # This logger sets its own level when it is imported, and logs every temporary folder.
    logging.getLogger("great_expectations.data_context.types.base").setLevel(logging.WARNING)
    # It logs what an expectation failed on, which may be a row.
    logging.getLogger("great_expectations.validator").setLevel(logging.CRITICAL)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    batch = (
        context.data_sources.add_pandas("private")
        .add_dataframe_asset("part")
        .add_batch_definition_whole_dataframe("rows")
    )
    suite = context.suites.add(gx.ExpectationSuite(name="spec", expectations=list(expectations)))
    definition = context.validation_definitions.add(
        gx.ValidationDefinition(name="spec", data=batch, suite=suite)
    )

    def count_failing(frame: pd.DataFrame) -> list[int]:
        outcome = definition.run(
            batch_parameters={"dataframe": frame},
            result_format={"result_format": "BASIC", "partial_unexpected_count": 0},
        )
        failing = _unexpected(outcome)
        return [failing[(e.expectation_type, e.column)] for e in expectations]

    return count_failing


def _unexpected(outcome: Any) -> dict[tuple[str, str], int]:
    """Failing rows by expectation and column; nothing else in the result is read."""
    failing = {}
    for result in outcome.results:
        config = result.expectation_config
        key = (config.type, config.kwargs["column"])
        # An expectation that raised has no count, whatever form its exception has.
        if "unexpected_count" not in result.result:
            raise ValidationFailed(
                f"columns.{key[1].removesuffix(_READABLE.format(''))}: {key[0]} could not be "
                "evaluated, so nothing is released; this is a bug in Hallmark, please report it"
            )
        failing[key] = int(result.result["unexpected_count"])
    return failing
