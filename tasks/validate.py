"""Check a private table against its spec with Great Expectations, part by part, counts only.

The suite is built from the spec. It runs on the values that the codecs read, so that validation
and coding agree. Results are reduced, on the worker, to (rule, column, rows, failing rows): no
value and no row number leaves it. Even those counts are exact statistics of private data, so they
go to the workspace alone; what is public is which rules would have refused, and that they held.
Values that count elsewhere, since the spec has them clamped or caught, are counted here too: where
they are many, a steward has bounds to mend. So are the records beyond those that are kept of their
person, where a whole table is checked at once; in a run they are counted when all are coded.
"""

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from distributed import worker_client
from prefect import task

from schemas.columns import Column, DateColumn, NumericColumn
from schemas.exact import decimal
from schemas.visible import visible
from tasks.coding import Codec, TableCodec, is_multiple
from tasks.errors import SafeError
from tasks.guard import guarded
from tasks.prepare import Prepared
from tasks.sources import Part, batches, parts
from tasks.truncation import LeftOut
from tasks.workspace import Workspace


class ValidationFailed(SafeError):
    """The private table breaks its spec; the message names columns and rules, no counts."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule that rows are checked against. Public."""

    column: str
    rule: str  # in words, with the public bound
    mend: str  # what the steward can do where it fails
    refuses: bool = True  # or else rows that break it count elsewhere, as the spec says


@dataclass(frozen=True, kw_only=True)
class Finding:
    """How many rows broke a rule. Internal: an exact count of private rows."""

    rule: Rule
    rows: int
    failing: int


@task(name="validate")
def validate(prepared: Prepared, workspace: Workspace) -> list[Rule]:
    """The rules that would have refused; returns only if all of them held for every row.

    Raises:
        SourceError: the source cannot be read.
        ValidationFailed: such a rule is broken; counts of failing rows are in the workspace.
    """
    check = guarded("validate", workspace.path, validate_part)
    with worker_client() as client:
        futures = client.map(
            check,
            guarded("validate", workspace.path, parts)(prepared.source),
            columns=prepared.spec.columns,
            person=prepared.person,
            pure=False,
        )
        findings = merge(client.gather(futures))
    write_findings(findings, workspace.findings)
    refuse_failures(findings, workspace.findings)
    return [finding.rule for finding in findings if finding.rule.refuses]


_READABLE = "{} can be read"
_STEPPED = "{} is a multiple"


def check_table(prepared: Prepared) -> list[Finding]:
    """Internal findings of a whole table, in this process; also written as `validate` does."""
    workspace = Workspace.of(prepared.spec.release)
    check = guarded("validate", workspace.path, validate_part)
    bound = prepared.plan.adjacency.records
    beyond = LeftOut(bound)
    with prepared.at_one_moment() as fixed:
        pieces = guarded("validate", workspace.path, parts)(fixed.source)
        findings = merge(
            check(part, prepared.spec.columns, prepared.person, beyond.see) for part in pieces
        )
    if prepared.person is not None:
        rows = max((finding.rows for finding in findings), default=0)
        rule = rule_of_truncation(prepared.person, bound)
        findings.append(Finding(rule=rule, rows=rows, failing=beyond.count))
    write_findings(findings, workspace.findings)
    return findings


def rule_of_truncation(person: str, records: int) -> Rule:
    """The records that are kept of every person; no release fails for the others."""
    return Rule(
        column=person,
        rule=f"are among the {records} that are kept of their person; else left out",
        mend="raise privacy.unit.max_records where they are too many; noise grows with it",
        refuses=False,
    )


def validate_part(
    part: Part,
    columns: Mapping[str, Column],
    person: str | None,
    see: Callable[[pd.Series], None] = lambda persons: None,
) -> list[Finding]:
    """Findings for one part of the source, one a rule; reads it batch by batch.

    Args:
        see: called with the persons of every batch.
    """
    codec = TableCodec.of(columns)
    suite = _suite(codec, person)
    count_failing = _validator([expectation for _, expectation in suite])
    tallies = [[0, 0] for _ in suite]
    for text in batches(part):
        if person is not None:
            see(text[person])
        frame = _checked_frame(codec.codecs, text, person)
        for tally, failing in zip(tallies, count_failing(frame), strict=True):
            tally[0] += len(frame)
            tally[1] += failing
    return [
        Finding(rule=rule, rows=rows, failing=failing)
        for (rule, _), (rows, failing) in zip(suite, tallies, strict=True)
    ]


def merge(findings: Iterable[Sequence[Finding]]) -> list[Finding]:
    """Findings of a whole table from those of its parts."""
    totals: dict[Rule, list[int]] = defaultdict(lambda: [0, 0])
    for finding in (finding for part in findings for finding in part):
        totals[finding.rule][0] += finding.rows
        totals[finding.rule][1] += finding.failing
    return [
        Finding(rule=rule, rows=rows, failing=failing) for rule, (rows, failing) in totals.items()
    ]


def write_findings(findings: Sequence[Finding], path: Path) -> None:
    """Write the internal findings, counts included, into the restricted workspace."""
    path.touch(mode=0o600)
    path.write_text(json.dumps([asdict(finding) for finding in findings], indent=1))


def refuse_failures(findings: Sequence[Finding], path: Path) -> None:
    """Stop here unless every rule that refuses held for every row.

    Raises:
        ValidationFailed: names each broken one and its mend; counts are only in `path`.
    """
    if not any(finding.rows for finding in findings):
        raise ValidationFailed("data.source: the table has no rows; nothing can be released")
    broken = [f.rule for f in findings if f.failing and f.rule.refuses]
    if broken:
        lines = [
            visible(f"  columns.{rule.column}: not all rows {rule.rule}; {rule.mend}")
            for rule in broken
        ]
        raise ValidationFailed(
            f"the data break {len(broken)} rule(s) of the spec:\n"
            + "\n".join(lines)
            + f"\nHow many rows break each (internal, do not publish): {path}"
        )


def _suite(codec: TableCodec, person: str | None) -> list[tuple[Rule, Any]]:
    """Each rule with the expectation that checks it."""
    import great_expectations.expectations as gxe  # seconds to import: only where it is needed

    suite: list[tuple[Rule, Any]] = []
    for one in codec.codecs:
        name, column = one.name, one.column
        if isinstance(column, NumericColumn | DateColumn):
            form = _form(column)
            suite.append(
                (
                    Rule(
                        column=name,
                        rule=f"{form} or null",
                        mend="mend the data, or list the text under data.null_markers",
                    ),
                    gxe.ExpectColumnValuesToBeInSet(
                        column=_READABLE.format(name), value_set=[True]
                    ),
                )
            )
        if not column.nulls:
            suite.append(
                (
                    Rule(column=name, rule="are given (nulls: false)", mend="or set nulls: true"),
                    gxe.ExpectColumnValuesToNotBeNull(column=name),
                )
            )
        suite.append(_domain_rule(gxe, one))
        if isinstance(column, NumericColumn) and column.step is not None:
            step = decimal(column.step)
            suite.append(
                (
                    Rule(
                        column=name,
                        rule=f"are multiples of {step}; else count in the cell that they lie in",
                        mend="give the column a finer step",
                        refuses=False,
                    ),
                    gxe.ExpectColumnValuesToBeInSet(column=_STEPPED.format(name), value_set=[True]),
                )
            )
    if person is not None:
        suite.append(
            (
                Rule(
                    column=person,
                    rule="name a person",
                    mend="records without one cannot be protected as a person's; drop them first",
                ),
                gxe.ExpectColumnValuesToNotBeNull(column=person),
            )
        )
    return suite


def _domain_rule(gxe: Any, codec: Codec) -> tuple[Rule, Any]:
    """Values lie in the public domain; the spec says whether others refuse, or count elsewhere."""
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
    return rule, expectation


def _form(column: NumericColumn | DateColumn) -> str:
    if isinstance(column, DateColumn):
        return f"are dates written as {column.format}"
    return "are whole numbers" if column.integer else "are numbers"


def _checked_frame(codecs: Sequence[Codec], text: pd.DataFrame, person: str | None) -> pd.DataFrame:
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


def _validator(expectations: Sequence[Any]) -> Callable[[pd.DataFrame], list[int]]:
    """Counts the rows of a frame that fail each expectation."""
    import great_expectations as gx

    # This logger sets its own level when it is imported, and tells of every temporary folder.
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
    """Failing rows by expectation and column; nothing else of the result is looked at."""
    failing = {}
    for result in outcome.results:
        config = result.expectation_config
        key = (config.type, config.kwargs["column"])
        # An expectation that raised has no count, whatever shape its exception is told in.
        if "unexpected_count" not in result.result:
            raise ValidationFailed(
                f"columns.{key[1].removesuffix(_READABLE.format(''))}: {key[0]} could not be "
                "evaluated, so nothing is released; this is a mistake of Hallmark, please report it"
            )
        failing[key] = int(result.result["unexpected_count"])
    return failing
