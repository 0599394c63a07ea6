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
import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial, reduce
from pathlib import Path
from uuid import uuid4

from distributed import worker_client
from prefect import task

from hallmark.schemas.documents.internal_validation import BrokenRule
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.visible import visible
from hallmark.tasks.code_files import Drafts
from hallmark.tasks.expectations import Rule, ValidationFailed, rule_of_truncation
from hallmark.tasks.installation.guard import guarded
from hallmark.tasks.installation.workspace import Workspace, private_folder
from hallmark.tasks.offending import Frequent, Offending, merged, pieces, write_page
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.likeness import Likeness, RecordSums, likeness_of_records
from hallmark.tasks.planning.truncation import LeftOut
from hallmark.tasks.reading import Finding, PartRead, compare, named, read_part
from hallmark.tasks.sources import Source, consistent, file_hash, file_paths, parts


@dataclass(frozen=True)
class TableRead:
    """A private table that was read and holds to its rules.

    Attributes:
        rules: those that would have refused it.
        drafts: files of all its records, coded, in the order of the table.
        hashes: of its files, by path; none of a database.
        like: what copies of it are known by.
    """

    rules: list[Rule]
    drafts: tuple[Path, ...]
    # Not shown: what a copy is known by tells who has one that he has it.
    hashes: Mapping[str, str] = field(repr=False)
    like: Likeness = field(repr=False)


@task(name="validate")
def validate(spec: ReleaseSpec, source: Source, workspace: Workspace) -> TableRead:
    """The table, checked and coded in one pass; returns only if all rules hold for every row.

    Raises:
        SourceError: the source cannot be read.
        ValidationFailed: a rule is broken; counts of failing rows are in the workspace.
    """
    columns, person = spec.columns, spec.privacy.person
    folder = private_folder(workspace.codes / uuid4().hex)
    found = guarded("validate", workspace.path, parts)(source)
    guard = partial(guarded, "validate", workspace.path)
    workspace.offending.unlink(missing_ok=True)
    with pieces(workspace) as offending, worker_client() as client:
        opinion = client.submit(guard(compare), found[0], columns, person, spec.lookups, pure=False)
        reading = [
            client.submit(
                guard(read_part),
                part,
                columns,
                person,
                lookups=spec.lookups,
                offending=offending / f"{index}.json",
                drafts=Drafts(folder, index),
                pure=False,
            )
            for index, part in enumerate(found)
        ]
        read: list[PartRead] = client.gather(reading)
        client.gather(opinion)
        seen = merged(offending)
        findings = merge(part.findings for part in read)
        write_findings(findings, workspace.findings)
        write_page(broken_rules(findings, seen), spec, workspace)
        try:
            refuse_failures(findings, workspace.offending)
        except ValidationFailed:
            shutil.rmtree(folder, ignore_errors=True)  # codes of a table that is not released
            raise
        # Last, so that a file that changed while it was read is seen to have changed.
        paths = file_paths(source)
        hashes = client.gather(client.map(partial(guard(file_hash), source), paths, pure=False))
    sums = reduce(RecordSums.plus, (part.sums for part in read))
    return TableRead(
        rules=[finding.rule for finding in findings if finding.rule.refuses],
        drafts=tuple(file for part in read for file in part.files),
        hashes=dict(zip(paths, hashes, strict=True)),
        like=likeness_of_records(TableCodec.of(columns), sums, hashes),
    )


def check_table(spec: ReleaseSpec, source: Source) -> list[Finding]:
    """Internal findings for a whole table, made in this process and written like `validate`'s."""
    workspace, person = Workspace.of(spec.release), spec.privacy.person
    check = guarded("validate", workspace.path, read_part)
    beyond = LeftOut(spec.privacy.max_records)
    workspace.offending.unlink(missing_ok=True)
    with consistent(source) as fixed, pieces(workspace) as folder:
        found = guarded("validate", workspace.path, parts)(fixed)
        findings = merge(
            check(
                part,
                spec.columns,
                person,
                lookups=spec.lookups,
                see=beyond.see,
                offending=folder / f"{index}.json",
            ).findings
            for index, part in enumerate(found)
        )
        seen = merged(folder)
    if person is not None:
        rows = max((finding.rows for finding in findings), default=0)
        rule = rule_of_truncation(person, spec.privacy.max_records)
        findings.append(Finding(rule=rule, rows=rows, failing=beyond.count))
    write_findings(findings, workspace.findings)
    write_page(broken_rules(findings, seen), spec, workspace)
    return findings


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
            **{key: said for key, said in asdict(finding.rule).items() if key != "section"},
            rows=finding.rows,
            failing=finding.failing,
            values=values.top(),
            exact=values.exact,
        )
        for finding in findings
        if finding.failing
        for values in [seen.get(named(finding.rule), Frequent())]
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
            visible(f"  {rule.section}.{rule.column}: not all rows {rule.rule}; {rule.mend}")
            for rule in broken
        ]
        raise ValidationFailed(
            f"the data break {len(broken)} rule(s) of the spec:\n"
            + "\n".join(lines)
            + f"\nThe values that break them, with counts (confidential, do not publish): {page}"
        )
