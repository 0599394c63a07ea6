"""The main job: from a private table and a spec to a certified, signed release."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prefect import flow
from prefect_dask import DaskTaskRunner

from hallmark.flows.cluster import THREADS, current_client
from hallmark.flows.endings import Ending, ended
from hallmark.mechanisms.contract import Certificate, Measurements
from hallmark.mechanisms.inference.transcript import Transcript
from hallmark.mechanisms.privacy.ledger.ledger import Allowance
from hallmark.schemas.documents.approvals import Waiting
from hallmark.tasks.certify import certify, read
from hallmark.tasks.continued import keep_continued
from hallmark.tasks.discretize import discretize
from hallmark.tasks.earlier import with_earlier
from hallmark.tasks.gates.gates import (
    disclosure_gate,
    plan_gate,
    refuse_changes,
)
from hallmark.tasks.gates.staged import is_staged, mark_staged, refuse_uncharged
from hallmark.tasks.generate import SyntheticFile, generate
from hallmark.tasks.generate_batches import fit, generate_batches
from hallmark.tasks.installation.disk import refuse_cramped
from hallmark.tasks.installation.operator import ordered
from hallmark.tasks.installation.places import given, out_folder
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.installation.progress import announce, relay
from hallmark.tasks.installation.signing import key_for
from hallmark.tasks.installation.stages import stages_noted
from hallmark.tasks.installation.workers import refuse_unfit
from hallmark.tasks.installation.workspace import Workspace, home, ledger_url
from hallmark.tasks.job import Job
from hallmark.tasks.ledger.budget_left import tell_budget
from hallmark.tasks.ledger.charged_twice import warn_if_charged_twice
from hallmark.tasks.output.finalise import FinalFile, finalise, staged
from hallmark.tasks.output.output_table import load_into_database, refuse_occupied
from hallmark.tasks.panel import write_people
from hallmark.tasks.planning.looks import looking
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import PreparedCertificate, PreparedRelease, Product
from hallmark.tasks.planning.private_tables import note, refuse_copies
from hallmark.tasks.privatize import measure_to_certify, privatize, select
from hallmark.tasks.publish import (
    Published,
    already_published,
    publish,
    refuse_private_folder,
    refuse_unwritable,
)
from hallmark.tasks.replicate import replicate
from hallmark.tasks.report import report
from hallmark.tasks.reserve import reserved
from hallmark.tasks.review import review
from hallmark.tasks.runs import about, run_logged
from hallmark.tasks.sources import consistent
from hallmark.tasks.validate import validate
from hallmark.tasks.withdrawals import refuse_given_up


@flow(name="release", task_runner=DaskTaskRunner(cluster_kwargs=THREADS))
def release(
    spec: str,
    out: str | None = None,
    resume: bool = False,
    folder: str | None = None,
    order: str | None = None,
) -> Ending:
    """Run the release that the file `spec` describes and publish it in a folder under `out`.

    Safe to run twice: drawn noise is read back, and a published release is left alone. If somebody
    must approve, the run ends and says what it is waiting for; run it again with `resume`.

    Args:
        spec: path of the release spec.
        out: folder in which the release folder is made; a relative path starts in the folder
            `HALLMARK_RELEASES`, which is the default.
        resume: continue a release that was started before.
        folder: where relative sources of the spec start; defaults to the spec's folder.
        order: number of the order that somebody gave at the desk.
    """
    with run_logged():
        start = given("folder", folder) if folder else None
        prepared = prepare(given("spec", spec), start).releasing()
        with ordered(order, prepared.spec.release):
            return ended(carry_out(prepared, out_folder(out), resume=resume))


def carry_out(
    prepared: Product, out: Path, *, resume: bool, allowance: Allowance | None = None
) -> Published | Waiting:
    """Take a release, or a certificate alone, through its stages up to the next closed gate.

    Must be called in a flow. Stages that may be repeated run on Dask workers; stages that draw
    noise run here, behind the log.
    """
    about(prepared.spec)
    job = Job(prepared, ledger_url(), Workspace.of(prepared.spec.release), out)
    with job.workspace.held():
        refuse_given_up(job.workspace)
        note(job.workspace, prepared.spec, prepared.folder, None)
        if (done := already_published(job)) is not None:
            load_into_database(prepared.spec, Path(done.folder))
            return done
        refuse_occupied(prepared.spec)
        refuse_unwritable(out)
        refuse_cramped(home(), out)
        refuse_private_folder(job)
        # A key that cannot sign is refused before anything is spent.
        key_for(prepared.spec, home()).probe()
        if finished := is_staged(job):
            refuse_uncharged(job)
        announce("reserve")
        with reserved(
            prepared, job.ledger, out, resume=resume, allowance=allowance, finished=finished
        ):
            tell_budget(prepared, job.ledger)
            if not finished:
                waits = plan_gate(job)
                if waits is not None:
                    return waits
                _stage(job)
                mark_staged(job)
            waits = disclosure_gate(job)
            if waits is not None:
                return waits
            announce("publish")
            published = publish(job)
            load_into_database(prepared.spec, Path(published.folder))
            return published


def _stage(job: Job) -> None:
    """Run all stages from the private table to a complete folder that is not yet published."""
    job = with_earlier(job)
    keep_continued(job)
    prepared, spec, workspace = job.prepared, job.prepared.spec, job.workspace
    cluster = spec.cluster or profile().cluster
    with stages_noted(workspace), current_client(cluster) as client:
        refuse_unfit(client, workspace, memory=prepared.memory)
        relay(client)
        with (
            looking(workspace, spec, prepared.folder, prepared.source),
            consistent(prepared.source) as source,
        ):
            announce("validate")
            table = validate.submit(spec, source, workspace).result()
            announce("discretize")
            files = discretize.submit(prepared.plan.adjacency, table.drafts, workspace).result()
            refuse_changes(job, source, table.hashes)
            note(workspace, spec, prepared.folder, table.like)
            refuse_copies(prepared.public.tables, table.like, job.release)
            warn_if_charged_twice(spec, job.ledger)
        made = (
            _release(job, prepared, files)
            if isinstance(prepared, PreparedRelease)
            else _certificate(job, prepared, files)
        )
        announce("report")
        report(
            job,
            made.measurements,
            made.transcript,
            made.records,
            made.certificate,
            table.rules,
            made.final,
        )
        review(prepared, made.certificate, files, made.records, workspace)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Made:
    """The results of the stages between the private table and the report."""

    measurements: Measurements
    transcript: Transcript
    records: SyntheticFile  # made here, or elsewhere
    certificate: Certificate
    final: FinalFile


def _release(job: Job, prepared: PreparedRelease, files: Sequence[Path]) -> _Made:
    """Records made from noisy measurements, their certificate, data files and replicate weights."""
    spec, plan, mechanism = prepared.spec, prepared.plan, prepared.mechanism
    workspace = job.workspace
    announce("select")
    selected = select(job, mechanism, files)
    announce("privatize")
    measured = privatize(job, mechanism, selected.result, files)
    measurements = measured.result
    announce("generate")
    if len(prepared.batches) > 1:
        fitted = fit.submit(prepared, measurements, workspace).result()
        records = generate_batches(spec, plan.domain, fitted, measurements, workspace)
    else:
        records = generate.submit(prepared, measurements, workspace).result()
    announce("certify")
    certificate = certify(prepared, measurements, records)
    announce("finalise")
    written = finalise(spec, records, workspace, in_batches=plan.in_batches)
    final = staged(written, workspace)
    write_people(
        spec, workspace.path, records.load().history, rows=final.rows, out=workspace.staging
    )
    transcript = selected.transcript + measured.transcript
    if spec.output.replicates is not None:
        announce("replicate")
        replicate(prepared, records, transcript, workspace)
    return _Made(
        measurements=measurements,
        transcript=transcript,
        records=records,
        certificate=certificate,
        final=final,
    )


def _certificate(job: Job, prepared: PreparedCertificate, files: Sequence[Path]) -> _Made:
    """A certificate for records made elsewhere, and no data file."""
    workspace = job.workspace
    announce("privatize")
    measured = measure_to_certify(job, prepared.certifier, files)
    measurements = measured.result
    announce("read")
    records = read(prepared, workspace)
    announce("certify")
    return _Made(
        measurements=measurements,
        transcript=measured.transcript,
        records=records,
        certificate=certify(prepared, measurements, records),
        final=staged(FinalFile(files=(), rows=prepared.file.rows, rules=()), workspace),
    )
