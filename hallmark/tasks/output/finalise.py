"""Write the synthetic records for data users, read them back, and check them.

Dask may run this again while an earlier execution, given up for dead, is still writing. So each
attempt has its own folder, and the flow's process moves the result of one attempt into place.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from prefect import task

from hallmark.schemas.columns.columns import Column, DateColumn, NumericColumn
from hallmark.schemas.visible import visible
from hallmark.tasks.generate import SyntheticFile
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import Workspace, private_folder
from hallmark.tasks.output.labelled_files import write_labelled
from hallmark.tasks.output.released import broken_totals, released_source, released_values
from hallmark.tasks.output.writing import write_csv
from hallmark.tasks.reading import read_part
from hallmark.tasks.sources import parts
from hallmark.tasks.spec.prepare import Prepared, PreparedCertificate
from hallmark.tasks.spec.rule_tables import rule_cells
from hallmark.tasks.spec.rule_values import decode
from hallmark.tasks.validate import merge


class FinalCheckFailed(SafeError):
    """The written file breaks the schema, an edit rule or a total, so it is not published."""


@dataclass(frozen=True, kw_only=True)
class RuleResult:
    """The number of released records that break an edit rule. Public, since they are synthetic."""

    rule: str
    source: str
    violations: int
    blocks: bool


@dataclass(frozen=True, kw_only=True)
class FinalFile:
    """The data files of a release, as read back."""

    files: tuple[Path, ...]
    rows: int
    rules: tuple[RuleResult, ...]
    totals: tuple[str, ...] = ()  # public totals that hold exactly, by title


@task(name="finalise")
def finalise(prepared: Prepared, synthetic: SyntheticFile, workspace: Workspace) -> FinalFile:
    """Write the data files to the attempt's own folder and check what was written.

    Raises:
        FinalCheckFailed: the files break the schema, a total, or a rule that blocks.
    """
    folder = private_folder(_attempts(workspace) / uuid4().hex)
    codec = prepared.codec
    cells = rule_cells(prepared.spec, codec)
    codes, rng = synthetic.load().codes, prepared.rng("decode")
    frame = decode(codec, codes, prepared.spec.rules, cells, rng)
    released = frame[list(prepared.spec.released_columns)]
    files = []
    for form in prepared.spec.output.formats:
        path = folder / prepared.spec.data_files[form]
        if form == "csv":
            write_csv(released, prepared.spec, path)
        elif form == "parquet":
            _write_parquet(released, prepared, path)
        else:
            write_labelled(released, prepared.spec, path)
        files.append(path)
    for path in files:
        _check_schema(prepared, path)
    rules = _check_rules(prepared, files[0], frame)
    for path in files:
        _check_totals(prepared, path)
    return FinalFile(
        files=tuple(files),
        rows=len(released),
        rules=rules,
        totals=tuple(total.title for total in prepared.spec.public_totals),
    )


def nothing_to_write(prepared: PreparedCertificate) -> FinalFile:
    """All that a certificate publishes about its records: their number, and no data file."""
    return FinalFile(files=(), rows=prepared.file.rows, rules=())


def staged(final: FinalFile, workspace: Workspace) -> FinalFile:
    """The data files, moved to the staging folder without leftovers of earlier attempts."""
    shutil.rmtree(workspace.staging)
    moved = tuple(file.rename(workspace.staging / file.name) for file in final.files)
    # A worker that was given up for dead may still write there; its files are removed next time.
    shutil.rmtree(_attempts(workspace), ignore_errors=True)
    return replace(final, files=moved)


def _attempts(workspace: Workspace) -> Path:
    return workspace.path / "finalised"


def _write_parquet(frame: pd.DataFrame, prepared: Prepared, path: Path) -> None:
    """Write whole numbers, real numbers, days and texts as such, so that readers know their types.

    The schema tells pandas which whole numbers may be null; the default schema of pandas would turn
    them into real numbers.
    """
    schema = pa.schema(
        [(name, _arrow_type(column)) for name, column in _columns(prepared, frame).items()]
    )
    pq.write_table(pa.Table.from_pandas(frame, schema=schema, preserve_index=False), path)


def _arrow_type(column: Column) -> pa.DataType:
    if isinstance(column, NumericColumn):
        return pa.int64() if column.integer else pa.float64()
    return pa.date32() if isinstance(column, DateColumn) else pa.string()


def _columns(prepared: Prepared, frame: pd.DataFrame) -> Mapping[str, Column]:
    return {name: prepared.spec.columns[name] for name in frame.columns}


def _check_schema(prepared: Prepared, path: Path) -> None:
    source = released_source(prepared.spec, path)
    # A released value must be in the public domain, even if private values need not be.
    strict = {
        name: prepared.spec.columns[name].model_copy(update={"outside": "refuse"})
        for name in source.columns
    }
    findings = merge(read_part(part, strict, None).findings for part in parts(source))
    broken = [f"{f.rule.column}: not all {f.rule.rule}" for f in findings if f.failing]
    if broken:
        raise FinalCheckFailed(f"{path.name} breaks its own schema: {'; '.join(broken)}")


def _check_rules(prepared: Prepared, path: Path, frame: pd.DataFrame) -> tuple[RuleResult, ...]:
    """Results of edit rules on the released records; rules with unreleased columns are checked on
    the records before those columns were dropped."""
    released = released_values(prepared.spec, path)
    table = pd.DataFrame(
        {name: released[name] if name in released else frame[name] for name in prepared.codec.names}
    )
    results = tuple(
        RuleResult(
            rule=constraint.rule,
            source=constraint.source,
            violations=int(rule.violations(table).sum()),
            blocks=constraint.if_broken == "block",
        )
        for constraint, rule in zip(prepared.spec.constraints, prepared.spec.rules, strict=True)
    )
    blocking = [result for result in results if result.violations and result.blocks]
    if blocking:
        lines = [
            visible(f"  {r.rule}: broken by {r.violations} of {len(table)} records")
            for r in blocking
        ]
        raise FinalCheckFailed(
            "the synthetic records break edit rules that block the publication:\n"
            + "\n".join(lines)
            + "\nNo budget is lost: set if_broken: report for them, and run again with --resume"
        )
    return results


def _check_totals(prepared: Prepared, path: Path) -> None:
    broken = broken_totals(prepared.spec, path)
    if broken:
        raise FinalCheckFailed(
            f"{path.name} does not have the public totals:\n"
            + "\n".join(visible(f"  {fault}") for fault in broken)
            + "\nNo budget is lost, but this should not happen; please report it"
        )
