"""Check a private table against its spec on a worker, as often as wanted, without releasing it."""

from prefect import flow, task

from hallmark.tasks.check import check
from hallmark.tasks.installation.operator import ordered
from hallmark.tasks.installation.places import given
from hallmark.tasks.installation.priority import run_yields
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import Prepared


@flow(name="validation")
def validation(spec: str, folder: str | None = None, order: str | None = None) -> None:
    """Check the table that the spec names; what is found is in the restricted workspace alone.

    The run ends alike whether the table keeps to the spec or not: how a run ended is seen by people
    who may not know that.

    Args:
        spec: path of the release spec.
        folder: where relative sources of the spec start; defaults to the spec's folder.
        order: number of the order that somebody gave at the desk.
    """
    run_yields()
    prepared = prepare(given("spec", spec), given("folder", folder) if folder else None)
    with ordered(order, prepared.spec.release, "check"):
        _check(prepared)


@task(name="check")
def _check(prepared: Prepared) -> None:
    check(prepared)
