"""Certify records made elsewhere: the stages of a release, except those that make data."""

from prefect import flow
from prefect_dask import DaskTaskRunner

from hallmark.flows.cluster import THREADS
from hallmark.flows.endings import Ending, ended
from hallmark.flows.release import carry_out
from hallmark.tasks.installation.operator import ordered
from hallmark.tasks.installation.places import given, out_folder
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.runs import run_logged


@flow(name="certify", task_runner=DaskTaskRunner(cluster_kwargs=THREADS))
def certify(
    spec: str,
    file: str,
    out: str | None = None,
    resume: bool = False,
    folder: str | None = None,
    order: str | None = None,
) -> Ending:
    """Certify the records in `file` against the private table of `spec`, and publish the bounds.

    The file must be public: its name, SHA-256, number of rows and distributions are published.
    Safe to run twice: drawn noise is read back, and a published certificate is left alone. The
    gates of a release apply.

    Args:
        spec: path of a spec with mechanism certify.
        file: path of the records, such as the data file of a release.
        out: folder in which the certificate's folder is made; a relative path starts in the folder
            `HALLMARK_RELEASES`, which is the default.
        resume: continue a certificate of the same file that was started before.
        folder: where relative sources of the spec start; defaults to the spec's folder.
        order: number of the order that somebody gave at the desk.
    """
    with run_logged():
        start = given("folder", folder) if folder else None
        prepared = prepare(given("spec", spec), start).certifying(given("file", file))
        where = out_folder(out, otherwise="certificates")
        with ordered(order, prepared.spec.release):
            return ended(carry_out(prepared, where, resume=resume))
