"""The main job: from a private table and a spec to a certified, signed release."""

from pathlib import Path

from prefect import flow
from prefect_dask import DaskTaskRunner

from flows.cluster import THREADS, current_client
from tasks.certify import certify
from tasks.discretize import discretize
from tasks.finalise import finalise
from tasks.generate import generate
from tasks.prepare import prepare
from tasks.privatize import privatize, select
from tasks.progress import announce, relay
from tasks.publish import Published, already_published, publish
from tasks.report import report
from tasks.reserve import reserved
from tasks.review import review
from tasks.signing import signing_key
from tasks.validate import validate
from tasks.workspace import Workspace, home, ledger_url


@flow(name="release", task_runner=DaskTaskRunner(cluster_kwargs=THREADS))
def release(spec: str, out: str = "releases", resume: bool = False) -> Published:
    """Run the release that the file `spec` describes and publish it in a folder under `out`.

    Safe to run twice: what was drawn is read back, and what was published is left alone. Stages
    that may be repeated run on Dask workers; those that draw noise run here, behind the log.
    """
    prepared = prepare(Path(spec))
    workspace, ledger = Workspace.of(prepared.spec.release), ledger_url()
    with workspace.held():
        if (done := already_published(prepared, Path(out), ledger)) is not None:
            return done
        signing_key(home())  # a key that cannot sign is refused before anything is spent
        announce("reserve")
        with reserved(prepared, ledger, resume=resume), current_client() as client:
            relay(client)
            announce("validate")
            rules = validate.submit(prepared, workspace).result()
            announce("discretize")
            files = discretize.submit(prepared, workspace).result()
            announce("select")
            selection = select(prepared, files, ledger, workspace)
            announce("privatize")
            measurements = privatize(prepared, selection, files, ledger, workspace)
            announce("generate")
            synthetic = generate.submit(prepared, measurements, workspace).result()
            announce("certify")
            certificate = certify(prepared, measurements, synthetic)
            announce("finalise")
            final = finalise.submit(prepared, synthetic, workspace).result()
            announce("report")
            report(prepared, measurements, synthetic, certificate, rules, final, ledger, workspace)
            review(prepared, certificate, files, synthetic, workspace)
            announce("publish")
            return publish(prepared, certificate, ledger, workspace, Path(out))
