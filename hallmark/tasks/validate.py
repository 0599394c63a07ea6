"""Check a private table against its spec with Great Expectations, part by part, counts only.

The suite is built from the spec. It runs on the values that the codecs read, so that validation
and coding agree. Results are reduced, on the worker, to (rule, column, rows, failing rows): no
value and no row number leaves it. Even those counts are exact statistics of private data, so they
stay in the workspace; public is only which rules would have refused, and that they held. Values
that break rules are for the steward: a page in the workspace shows them (`tasks.offending`). Values
that the spec clamps or catches are also counted here: if there are many, the steward should
reconsider the bounds. So are records beyond a person's maximum, if a whole table is checked at
once; in a run they are counted after all records are coded.
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

from hallmark.mechanisms.arrays import Mask
from hallmark.schemas.columns.columns import Column, DateColumn, NumericColumn
from hallmark.schemas.documents.internal_validation import BrokenRule
from hallmark.schemas.exact import decimal
from hallmark.schemas.visible import visible
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.guard import guarded
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.offending import Frequent, Offending, merged, pieces, write_page, write_piece
from hallmark.tasks.sources import Part, batches, parts
from hallmark.tasks.spec.coding import Codec, TableCodec, is_multiple
from hallmark.tasks.spec.prepare import Prepared
from hallmark.tasks.spec.truncation import LeftOut


class ValidationFailed(SafeError):
    """The private table breaks its spec; the message names columns and rules, no counts."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule that rows are checked against. Public."""

    column: str
    rule: str  # in words, with the public bound
    mend: str  # what the steward can do if it fails
    refuses: bool = True  # if not, rows that break it count elsewhere, as the spec says


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The number of rows that break a rule. Internal: an exact count of private rows."""

    rule: Rule
    rows: int
    failing: int


@task(name="validate")
def validate(prepared: Prepared, workspace: Workspace) -> list[Rule]:
    """The rules that would have refused the table; returns only if all hold for every row.

    Raises:
        SourceError: the source cannot be read.
        ValidationFailed: a rule is broken; counts of failing rows are in the workspace.
    """
    check = guarded("validate", workspace.path, validate_part)
    workspace.offending.unlink(missing_ok=True)
    with pieces(workspace) as folder, worker_client() as client:
        futures = [
            client.submit(
                check,
                part,
                columns=prepared.spec.columns,
                person=prepared.person,
                offending=folder / f"{index}.json",
                pure=False,
            )
            for index, part in enumerate(
                guarded("validate", workspace.path, parts)(prepared.source)
            )
        ]
        findings = merge(client.gather(futures))
        seen = merged(folder)
    write_findings(findings, workspace.findings)
    write_page(broken_rules(findings, seen), prepared.spec, workspace)
    refuse_failures(findings, workspace.offending)
    return [finding.rule for finding in findings if finding.rule.refuses]


_READABLE = "{} can be read"
_STEPPED = "{} is a multiple"


def check_table(prepared: Prepared) -> list[Finding]:
    """Internal findings for a whole table, made in this process and written like `validate`'s."""
    workspace = Workspace.of(prepared.spec.release)
    check = guarded("validate", workspace.path, validate_part)
    bound = prepared.plan.adjacency.records
    beyond = LeftOut(bound)
    workspace.offending.unlink(missing_ok=True)
    with prepared.at_one_moment() as fixed, pieces(workspace) as folder:
        found = guarded("validate", workspace.path, parts)(fixed.source)
        findings = merge(
            check(
                part,
                prepared.spec.columns,
                prepared.person,
                beyond.see,
                offending=folder / f"{index}.json",
            )
            for index, part in enumerate(found)
        )
        seen = merged(folder)
    if prepared.person is not None:
        rows = max((finding.rows for finding in findings), default=0)
        rule = rule_of_truncation(prepared.person, bound)
        findings.append(Finding(rule=rule, rows=rows, failing=beyond.count))
    write_findings(findings, workspace.findings)
    write_page(broken_rules(findings, seen), prepared.spec, workspace)
    return findings


def rule_of_truncation(person: str, records: int) -> Rule:
    """The rule about records beyond a person's maximum; no release fails because of it."""
    return Rule(
        column=person,
        rule=f"are among the {records} kept of their person; else left out",
        mend="raise privacy.unit.max_records if they are too many; noise grows with it",
        refuses=False,
    )


def validate_part(
    part: Part,
    columns: Mapping[str, Column],
    person: str | None,
    see: Callable[[pd.Series], None] = lambda persons: None,
    *,
    offending: Path | None = None,
) -> list[Finding]:
    """Findings for one part of the source, one per rule; reads it batch by batch.

    Args:
        see: called with the persons of every batch.
        offending: the file in the restricted workspace for values that break rules, if wanted.
    """
    codec = TableCodec.of(columns)
    suite = _suite(codec, person)
    count_failing = _validator([check.expectation for check in suite])
    tallies = [[0, 0] for _ in suite]
    seen: Offending = defaultdict(Frequent)
    for text in batches(part):
        if person is not None:
            see(text[person])
        frame = _checked_frame(codec.codecs, text, person)
        for check, tally, failing in zip(suite, tallies, count_failing(frame), strict=True):
            tally[0] += len(frame)
            tally[1] += failing
            if failing and check.broken is not None and offending is not None:
                seen[_name(check.rule)].see(text[check.rule.column][check.broken(frame)])
    if offending is not None:
        write_piece(seen, offending)
    return [
        Finding(rule=check.rule, rows=rows, failing=failing)
        for check, (rows, failing) in zip(suite, tallies, strict=True)
    ]


def _name(rule: Rule) -> str:
    return f"{rule.column}: {rule.rule}"


def merge(findings: Iterable[Sequence[Finding]]) -> list[Finding]:
    """Findings for a whole table from the findings for its parts."""
    totals: dict[Rule, list[int]] = defaultdict(lambda: [0, 0])
    for finding in (finding for part in findings for finding in part):
        totals[finding.rule][0] += finding.rows
        totals[finding.rule][1] += finding.failing
    return [
        Finding(rule=rule, rows=rows, failing=failing) for rule, (rows, failing) in totals.items()
    ]


def write_findings(findings: Sequence[Finding], path: Path) -> None:
    """Write the internal findings, including counts, to the restricted workspace."""
    path.touch(mode=0o600)
    path.write_text(json.dumps([asdict(finding) for finding in findings], indent=1))


def broken_rules(findings: Sequence[Finding], seen: Offending) -> list[BrokenRule]:
    """The broken rules, with values that break them."""
    return [
        BrokenRule(
            **asdict(finding.rule),
            rows=finding.rows,
            failing=finding.failing,
            values=values.top(),
            exact=values.exact,
        )
        for finding in findings
        if finding.failing
        for values in [seen.get(_name(finding.rule), Frequent())]
    ]


def refuse_failures(findings: Sequence[Finding], page: Path) -> None:
    """Stop here unless every rule that refuses held for every row.

    Raises:
        ValidationFailed: names each broken rule and its fix; counts and values are only in `page`.
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
            + f"\nThe values that break them, with counts (confidential, do not publish): {page}"
        )


@dataclass(frozen=True, kw_only=True)
class _Check:
    """A rule, the expectation that checks it, and a function for the rows that break it.

    There is no such function for rules that only missing values can break.
    """

    rule: Rule
    expectation: Any
    broken: Callable[[pd.DataFrame], Mask] | None = None


def _suite(codec: TableCodec, person: str | None) -> list[_Check]:
    import great_expectations.expectations as gxe  # seconds to import: only where it is needed

    suite: list[_Check] = []
    for one in codec.codecs:
        name, column = one.name, one.column
        if isinstance(column, NumericColumn | DateColumn):
            rule = Rule(column=name, rule=f"{_form(column)} or null", mend=_mend(column))
            suite.append(_flagged(gxe, rule, _READABLE.format(name)))
        if not column.nulls:
            suite.append(
                _Check(
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
            _Check(
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


def _flagged(gxe: Any, rule: Rule, flag: str) -> _Check:
    """A rule that holds where a column of the checked frame says so."""
    return _Check(
        rule=rule,
        expectation=gxe.ExpectColumnValuesToBeInSet(column=flag, value_set=[True]),
        broken=lambda frame: ~frame[flag].to_numpy(dtype=bool),
    )


def _domain_check(gxe: Any, codec: Codec) -> _Check:
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
    return _Check(
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
