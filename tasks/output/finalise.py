"""Write the synthetic records for data users, read them back, and check them.

Workers do so batch by batch, each in files of its own, with values drawn for the batch alone; the
process of the flow joins these files. Dask may write a batch again while an earlier execution,
given up for dead, is still writing. So each attempt has its own folder, and the flow's process
moves the result of one attempt into place.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client
from prefect import task

from hallmark.mechanisms.batches import batch_sizes
from hallmark.mechanisms.compute import Compute
from hallmark.schemas.columns.columns import Column, DateColumn, NumericColumn
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.visible import visible
from hallmark.tasks.generate import SyntheticFile
from hallmark.tasks.installation.compute import DaskCompute
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.progress import reporter
from hallmark.tasks.installation.workspace import Workspace, private_folder
from hallmark.tasks.output.labelled_files import write_labelled
from hallmark.tasks.output.released import broken_totals, released_source, released_values
from hallmark.tasks.output.writing import join_csv, write_csv
from hallmark.tasks.panel import with_values_before
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.looked_up import filled_in
from hallmark.tasks.planning.prepared import stage_rng
from hallmark.tasks.planning.rule_tables import rules_on
from hallmark.tasks.planning.rule_values import decode
from hallmark.tasks.reading import read_part
from hallmark.tasks.sources import parts
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
def finalise(
    spec: ReleaseSpec, synthetic: SyntheticFile, workspace: Workspace, *, in_batches: bool
) -> FinalFile:
    """As `written`, on the workers."""
    compute = DaskCompute(Client.current(), None, reporter("finalise"))
    return written(spec, synthetic, workspace, compute, in_batches=in_batches)


def written(
    spec: ReleaseSpec,
    synthetic: SyntheticFile,
    workspace: Workspace,
    compute: Compute,
    *,
    in_batches: bool,
) -> FinalFile:
    """Write the data files to the attempt's own folder and check what was written.

    Args:
        in_batches: whether values may be drawn batch by batch.
    Raises:
        FinalCheckFailed: the files break the schema, a total, or a rule that blocks.
    """
    folder = private_folder(_attempts(workspace) / uuid4().hex)
    rows, columns = synthetic.load().codes.shape
    sizes = batch_sizes(rows, columns) if in_batches else [rows]
    ends = np.cumsum([0, *sizes]).tolist()
    batches = list(
        compute.map(
            partial(_write_batch, spec, synthetic, folder),
            [(number, *span) for number, span in enumerate(pairwise(ends))],
            doing="writing batches of records, and reading them back",
        )
    )
    rules = _over_all(spec, [batch.broken for batch in batches], rows)
    files = tuple(
        _joined(
            spec,
            folder / spec.data_files[form],
            [batch.files[form] for batch in batches],
        )
        for form in spec.output.formats
    )
    for path in files:
        _check_totals(spec, path)
    return FinalFile(
        files=files,
        rows=rows,
        rules=rules,
        totals=tuple(total.title for total in spec.public_totals),
    )


@dataclass(frozen=True)
class _Written:
    """The files of a batch by format, and by rule the number of its records that break it."""

    files: Mapping[str, Path]
    broken: tuple[int, ...]


def _write_batch(
    spec: ReleaseSpec, synthetic: SyntheticFile, folder: Path, batch: tuple[int, int, int]
) -> _Written:
    """Write the records from `start` to `stop`, read the files back, and check them."""
    number, start, stop = batch
    attempt = private_folder(folder / f"{number:06d}-{uuid4().hex}")
    codec = TableCodec.of(spec.columns)
    codes = np.array(synthetic.load().codes[start:stop], dtype=np.int32, order="C")
    rng = stage_rng(spec.release, f"decode {number}" if number else "decode")
    frame = decode(codec, codes, spec.rules, rules_on(spec.rules, codec), rng)
    frame = with_values_before(frame, spec, synthetic.path.parent, start)
    released = filled_in(spec, frame)
    files: dict[str, Path] = {}
    for form in spec.output.formats:
        files[form] = path = attempt / spec.data_files[form]
        if form == "csv":
            write_csv(released, spec, path)
        elif form == "parquet":
            _write_parquet(released, spec, path)
        else:
            write_labelled(released, spec, path)
        _check_schema(spec, path)
    first = files[spec.output.formats[0]]
    return _Written(files, _broken_rules(spec, first, frame))


def _joined(spec: ReleaseSpec, path: Path, batches: Sequence[Path]) -> Path:
    """One file of all batches, whose own are gone."""
    if len(batches) == 1:
        return batches[0].rename(path)
    if path.suffix == ".csv":
        join_csv(batches, spec, path)
    elif path.suffix == ".parquet":
        with pq.ParquetWriter(path, pq.read_schema(batches[0])) as writer:
            for batch in batches:
                writer.write_table(pq.read_table(batch))
    else:  # their formats know no parts
        values = [released_values(spec, batch) for batch in batches]
        write_labelled(pd.concat(values, ignore_index=True), spec, path)
        _check_schema(spec, path)
    for batch in batches:
        batch.unlink()
    return path


def staged(final: FinalFile, workspace: Workspace) -> FinalFile:
    """The data files, moved to the staging folder without leftovers of earlier attempts."""
    shutil.rmtree(workspace.staging)
    moved = tuple(file.rename(workspace.staging / file.name) for file in final.files)
    # A worker that was given up for dead may still write there; its files are removed next time.
    shutil.rmtree(_attempts(workspace), ignore_errors=True)
    return replace(final, files=moved)


def _attempts(workspace: Workspace) -> Path:
    return workspace.path / "finalised"


def _write_parquet(frame: pd.DataFrame, spec: ReleaseSpec, path: Path) -> None:
    """Write whole numbers, real numbers, days and texts as such, so that readers know their types.

    The schema tells pandas which whole numbers may be null; the default schema of pandas would turn
    them into real numbers.
    """
    schema = pa.schema(
        [(name, _arrow_type(column)) for name, column in _columns(spec, frame).items()]
    )
    pq.write_table(pa.Table.from_pandas(frame, schema=schema, preserve_index=False), path)


def _arrow_type(column: Column) -> pa.DataType:
    if isinstance(column, NumericColumn):
        return pa.int64() if column.integer else pa.float64()
    return pa.date32() if isinstance(column, DateColumn) else pa.string()


def _columns(spec: ReleaseSpec, frame: pd.DataFrame) -> Mapping[str, Column]:
    return {name: spec.published[name] for name in frame.columns}


def _check_schema(spec: ReleaseSpec, path: Path) -> None:
    source = released_source(spec, path)
    # A released value must be in the public domain, even if private values need not be.
    strict = {
        name: column.model_copy(update={"outside": "refuse"})
        for name, column in spec.published.items()
    }
    lookups = spec.published_lookups
    findings = merge(
        read_part(part, strict, None, lookups=lookups).findings for part in parts(source)
    )
    broken = [f"{f.rule.column}: not all {f.rule.rule}" for f in findings if f.failing]
    if broken:
        raise FinalCheckFailed(f"{path.name} breaks its own schema: {'; '.join(broken)}")


def _broken_rules(spec: ReleaseSpec, path: Path, frame: pd.DataFrame) -> tuple[int, ...]:
    """How many of the released records break each edit rule; rules with unreleased columns are
    checked on the records before those columns were dropped."""
    if not spec.rules:
        return ()
    released = released_values(spec, path)
    table = pd.DataFrame(
        {name: released[name] if name in released else frame[name] for name in spec.columns}
    )
    return tuple(int(rule.violations(table).sum()) for rule in spec.rules)


def _over_all(
    spec: ReleaseSpec, broken: Sequence[tuple[int, ...]], rows: int
) -> tuple[RuleResult, ...]:
    """The rules' results over all batches.

    Raises:
        FinalCheckFailed: a rule that blocks the publication is broken.
    """
    results = tuple(
        RuleResult(
            rule=constraint.rule,
            source=constraint.source,
            violations=sum(counts),
            blocks=constraint.if_broken == "block",
        )
        for constraint, counts in zip(spec.constraints, zip(*broken, strict=True), strict=True)
    )
    blocking = [result for result in results if result.violations and result.blocks]
    if blocking:
        lines = [
            visible(f"  {r.rule}: broken by {r.violations} of {rows} records") for r in blocking
        ]
        raise FinalCheckFailed(
            "the synthetic records break edit rules that block the publication:\n"
            + "\n".join(lines)
            + "\nNo budget is lost: set if_broken: report for them, and run again with --resume"
        )
    return results


def _check_totals(spec: ReleaseSpec, path: Path) -> None:
    broken = broken_totals(spec, path)
    if broken:
        raise FinalCheckFailed(
            f"{path.name} does not have the public totals:\n"
            + "\n".join(visible(f"  {fault}") for fault in broken)
            + "\nNo budget is lost, but this should not happen; please report it"
        )
