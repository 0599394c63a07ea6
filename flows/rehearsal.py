"""Rehearse a release from the dashboard: the same run, on records that are not private."""

from pathlib import Path

from prefect import flow, task
from prefect.artifacts import create_markdown_artifact

from tasks.prepare import Prepared, prepare
from tasks.rehearsal import Rehearsal
from tasks.rehearsal import rehearse as run
from tasks.rendering.markdown import code, plain


@flow(name="rehearsal")
def rehearsal(spec: str, data: str | None = None, folder: str | None = None) -> Rehearsal:
    """Run the release of `spec` at no budget; an approval of its plan is then bound to the result.

    Args:
        spec: path of the release spec.
        data: a public table with the same columns; made-up records where it is not given.
        folder: where relative sources of the spec start; its own folder where it is not given.
    """
    return _rehearse(prepare(Path(spec), Path(folder) if folder else None), data)


@task(name="rehearse")
def _rehearse(prepared: Prepared, data: str | None) -> Rehearsal:
    result = run(prepared, Path(data) if data else None)
    create_markdown_artifact(
        key=f"rehearsal-{result.release}",
        markdown=f"# Rehearsal of {result.release}\n\n"
        f"{result.rows:,} records, {plain(result.records)}, in {result.seconds} s.\n\n"
        f"Report: {code(result.folder)}\n",
        description="What a rehearsal showed; no private record had a part in it",
    )
    return result
