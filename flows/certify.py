"""Certify records that were made elsewhere: the stages of a release, but for those of its data."""

from prefect import flow
from prefect_dask import DaskTaskRunner

from flows.cluster import THREADS
from flows.endings import Ending, ended
from flows.release import carry_out
from tasks.places import given, out_folder
from tasks.prepare import prepare_certificate
from tasks.runs import run_logged


@flow(name="certify", task_runner=DaskTaskRunner(cluster_kwargs=THREADS))
def certify(
    spec: str,
    file: str,
    out: str | None = None,
    resume: bool = False,
    folder: str | None = None,
) -> Ending:
    """Certify the records in `file` against the private table of `spec`, and publish the bounds.

    The file is taken as public: its name, SHA-256, number of rows and distributions are published.
    Safe to run twice: what was drawn is read back, and what was published is left alone. Gates are
    those of a release.

    Args:
        spec: path of a spec with mechanism certify.
        file: path of the records, such as the data file of a release.
        out: folder in which the certificate's folder is made; a relative one starts in the folder
            of `HALLMARK_RELEASES`, which it is where none is given.
        resume: go on with a certificate that was started before, of the same file.
        folder: where relative sources of the spec start; its own folder where it is not given.
    """
    with run_logged():
        start = given("folder", folder) if folder else None
        prepared = prepare_certificate(given("spec", spec), given("file", file), start)
        where = out_folder(out, otherwise="certificates")
        return ended(carry_out(prepared, where, resume=resume))
