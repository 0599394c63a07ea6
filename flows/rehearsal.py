"""Rehearse a release from the dashboard: the same run, on records that are not private."""

from prefect import flow, task
from prefect.artifacts import create_markdown_artifact

from hallmark.tasks.gates.rehearsal import Rehearsal
from hallmark.tasks.gates.rehearsal import rehearse as run
from hallmark.tasks.installation.places import given
from hallmark.tasks.installation.priority import run_yields
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.rendering.markdown import code, plain


@flow(name="rehearsal")
def rehearsal(spec: str, folder: str | None = None) -> Rehearsal:
    """Run the release of `spec` at no cost; an approval of its plan is then bound to the result.

    It runs on made-up records, or on the table that the spec declares public or made up. The
    person who starts it cannot name another table.

    Args:
        spec: path of the release spec.
        folder: where relative sources of the spec start; defaults to the spec's folder.
    """
    run_yields()
    start = given("folder", folder) if folder else None
    return _rehearse(prepare(given("spec", spec), start))


@task(name="rehearse")
def _rehearse(prepared: Prepared) -> Rehearsal:
    result = run(prepared)
    create_markdown_artifact(
        key=f"rehearsal-{result.release}",
        markdown=f"# Rehearsal of {result.release}\n\n"
        f"{result.rows:,} records, {plain(result.records)}, in {result.seconds} s.\n\n"
        f"Report: {code(result.folder)}\n",
        description="The result of a rehearsal, which used no private record",
    )
    return result
