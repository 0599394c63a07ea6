"""Check a private table against its spec, part by part, counts only.

Results are reduced, on the worker, to (rule, column, rows, failing rows): no
value and no row number leaves it. Even those counts are exact statistics of private data, so they
stay in the workspace; public is only which rules would have refused, and that they held. Values
that break rules are for the steward: a page in the workspace shows them (`tasks.offending`). Values
that the spec clamps or catches are also counted here: if there are many, the steward should
reconsider the bounds. So are records beyond a person's maximum, if a whole table is checked at
once; in a run they are counted after all records are coded.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd
from distributed import worker_client
from prefect import task

from hallmark.schemas.columns.columns import Column
from hallmark.schemas.documents.internal_validation import BrokenRule
from hallmark.schemas.visible import visible
from hallmark.tasks.expectations import (
    Rule,
    ValidationFailed,
    checked_frame,
    failures_of,
    rule_of_truncation,
    suite_of,
)
from hallmark.tasks.installation.guard import guarded
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.offending import Frequent, Offending, merged, pieces, write_page, write_piece
from hallmark.tasks.sources import Part, batches, parts
from hallmark.tasks.spec.coding import TableCodec
from hallmark.tasks.spec.prepare import Prepared
from hallmark.tasks.spec.truncation import LeftOut


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
    suite = suite_of(codec, person)
    count_failing = failures_of([check.expectation for check in suite])
    tallies = [[0, 0] for _ in suite]
    seen: Offending = defaultdict(Frequent)
    for text in batches(part):
        if person is not None:
            see(text[person])
        frame = checked_frame(codec.codecs, text, person)
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
