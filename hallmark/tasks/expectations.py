"""The rules that a spec sets for its private table, as expectations of Great Expectations.

They are checked on the values that the codecs read, so that validation and coding agree. Counts of
failing rows are all that is read of the results.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from hallmark.mechanisms.arrays import Mask
from hallmark.schemas.columns.columns import DateColumn, NumericColumn
from hallmark.schemas.exact import decimal
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.spec.coding import Codec, TableCodec, is_multiple


class ValidationFailed(SafeError):
    """The private table breaks its spec; the message names columns and rules, no counts."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule that rows are checked against. Public."""

    column: str
    rule: str  # in words, with the public bound
    mend: str  # what the steward can do if it fails
    refuses: bool = True  # if not, rows that break it count elsewhere, as the spec says


_READABLE = "{} can be read"
_STEPPED = "{} is a multiple"


def rule_of_truncation(person: str, records: int) -> Rule:
    """The rule about records beyond a person's maximum; no release fails because of it."""
    return Rule(
        column=person,
        rule=f"are among the {records} kept of their person; else left out",
        mend="raise privacy.unit.max_records if they are too many; noise grows with it",
        refuses=False,
    )


@dataclass(frozen=True, kw_only=True)
class Check:
    """A rule, the expectation that checks it, and a function for the rows that break it.

    There is no such function for rules that only missing values can break.
    """

    rule: Rule
    expectation: Any
    broken: Callable[[pd.DataFrame], Mask] | None = None


def suite_of(codec: TableCodec, person: str | None) -> list[Check]:
    """The checks of all columns, and of the person that a record belongs to."""
    import great_expectations.expectations as gxe  # seconds to import: only where it is needed

    suite: list[Check] = []
    for one in codec.codecs:
        name, column = one.name, one.column
        if isinstance(column, NumericColumn | DateColumn):
            rule = Rule(column=name, rule=f"{_form(column)} or null", mend=_mend(column))
            suite.append(_flagged(gxe, rule, _READABLE.format(name)))
        if not column.nulls:
            suite.append(
                Check(
                    rule=Rule(
                        column=name, rule="have a value (nulls: false)", mend="set nulls: true"
                    ),
                    expectation=gxe.ExpectColumnValuesToNotBeNull(column=name),
                )
            )
        suite.append(_domain_check(gxe, one))
        if isinstance(column, NumericColumn) and column.step is not None:
            step = decimal(column.step)
            rule = Rule(
                column=name,
                rule=f"are multiples of {step}; else count in the cell they lie in",
                mend="give the column a finer step",
                refuses=False,
            )
            suite.append(_flagged(gxe, rule, _STEPPED.format(name)))
    if person is not None:
        suite.append(
            Check(
                rule=Rule(
                    column=person,
                    rule="name a person",
                    mend="records without a person cannot be protected as a person's; drop them "
                    "first",
                ),
                expectation=gxe.ExpectColumnValuesToNotBeNull(column=person),
            )
        )
    return suite


def _flagged(gxe: Any, rule: Rule, flag: str) -> Check:
    """A rule that holds where a column of the checked frame says so."""
    return Check(
        rule=rule,
        expectation=gxe.ExpectColumnValuesToBeInSet(column=flag, value_set=[True]),
        broken=lambda frame: ~frame[flag].to_numpy(dtype=bool),
    )


def _domain_check(gxe: Any, codec: Codec) -> Check:
    """The check that values lie in the public domain; others refuse, or count elsewhere."""
    column = codec.column
    if isinstance(column, NumericColumn | DateColumn):
        holds = f"lie between {' and '.join(column.ends)}"
        mend = "widen the public interval if a public source allows it"
        instead, elsewhere = "clamp", "at the bounds"
        typed: Callable[[Any], Any] = float if isinstance(column, NumericColumn) else pd.Timestamp
        expectation = gxe.ExpectColumnValuesToBeBetween(
            column=codec.name, min_value=typed(column.minimum), max_value=typed(column.maximum)
        )
    else:
        holds = f"are one of the {len(column.codes)} categories"
        mend = "add the category if it is public"
        instead, elsewhere = "catch_all", "as other"
        expectation = gxe.ExpectColumnValuesToBeInSet(
            column=codec.name, value_set=list(column.codes)
        )
    if column.outside == "refuse":
        rule = Rule(column=codec.name, rule=holds, mend=f"{mend}, or set outside: {instead}")
    else:
        holds += f"; else count {elsewhere}"
        rule = Rule(column=codec.name, rule=holds, mend=mend, refuses=False)
    return Check(
        rule=rule,
        expectation=expectation,
        broken=lambda frame: codec.outside(frame[codec.name]),
    )


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


def checked_frame(codecs: Sequence[Codec], text: pd.DataFrame, person: str | None) -> pd.DataFrame:
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
    if person is not None:
        columns[person] = text[person].astype(object).where(text[person].notna(), None)
    return pd.DataFrame(columns)


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
