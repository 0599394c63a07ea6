"""Write what goes with the data: certificate, data dictionary, audit report, the spec as run."""

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pandas as pd
from prefect import task
from prefect.runtime import deployment, flow_run

from hallmark.mechanisms.contract import Certificate, Measurements, QueryAnswers
from hallmark.mechanisms.inference.transcript import Transcript
from hallmark.schemas.documents.audit_report import Signature
from hallmark.schemas.documents.labels import NOT_RECORDED
from hallmark.schemas.documents.manifest import (
    ANSWERS_FILE,
    CERTIFICATE_FILE,
    DICTIONARY_FILE,
    MEASUREMENTS_FILE,
    RECORD_FILE,
    SERIES_PLAN_FILE,
    SPEC_FILE,
    Software,
)
from hallmark.tasks.expectations import Rule
from hallmark.tasks.gates.gates import decided_on_plan, series_plan_shown, tables_shown
from hallmark.tasks.generate import SyntheticFile
from hallmark.tasks.installation.code import IMAGE_VARIABLE
from hallmark.tasks.installation.operator import operator
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.installation.signing import key_for
from hallmark.tasks.installation.stages import run_times
from hallmark.tasks.installation.workspace import home
from hallmark.tasks.job import Job
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.ledger.rollback import Recorded
from hallmark.tasks.output.finalise import FinalFile
from hallmark.tasks.output.measurements import published_part, write_measurements
from hallmark.tasks.record.artifacts import show_in_dashboard
from hallmark.tasks.record.attacked import kept_audit
from hallmark.tasks.record.dictionary import data_dictionary
from hallmark.tasks.record.executed import Executed
from hallmark.tasks.record.record import audit_record
from hallmark.tasks.record.record_utility import certificate_file
from hallmark.tasks.rendering import files_for_users, rendered_files

_ROOT = Path(__file__).parents[2]
_PACKAGES = ("dp-accounting", "numpy", "opendp", "pandas", "prefect", "pyarrow", "scipy")


@task(name="report")
def report(
    job: Job,
    measurements: Measurements,
    transcript: Transcript,
    synthetic: SyntheticFile,
    certificate: Certificate,
    rules: Sequence[Rule],
    final: FinalFile,
) -> None:
    """Write everything but the signature into the staging folder, from what was executed."""
    prepared, folder = job.prepared, job.workspace.staging
    book, spec = open_ledger(job.ledger), prepared.spec
    key, known = key_for(spec, home()), profile()
    published = (
        published_part(transcript, prepared.codec, spec.released_columns)
        if spec.output.measurements
        else None
    )
    record = audit_record(
        Executed(
            prepared=prepared,
            rules=rules,
            total=measurements.total,
            transcript=published,
            events=book.events(spec.release),
            account=book.account(spec.population.account),
            entries=book.entries(spec.population.account),
            losses=Recorded.of(spec.population.account).losses,
            decisions=decided_on_plan(job),  # those on this record come later
            tables_shown=tables_shown(job),
            synthetic=synthetic.load(),
            certificate=certificate,
            final=final,
            software=software(),
            signature=Signature(
                fingerprint=key.fingerprint, origin=key.origin, warning=key.warning
            ),
            profile=known,
            run=flow_run.id,
            deployment=deployment.name,
            operator=operator(),
            container=os.environ.get(IMAGE_VARIABLE),
            times=run_times(job.workspace),
            created=datetime.now(UTC).replace(microsecond=0),
            previous=job.previous,
            attacks=kept_audit(prepared.binding),
        )
    )
    certified = certificate_file(prepared, certificate)
    dictionary = data_dictionary(
        prepared, certified, rows=final.rows, attenuated=record.utility.attenuated
    )
    (folder / SPEC_FILE).write_bytes(prepared.spec_file)
    if (series := series_plan_shown(job)) is not None:
        (folder / SERIES_PLAN_FILE).write_bytes(series)
    (folder / CERTIFICATE_FILE).write_text(certified.model_dump_json(indent=2) + "\n")
    (folder / DICTIONARY_FILE).write_text(dictionary.model_dump_json(indent=2) + "\n")
    (folder / RECORD_FILE).write_bytes(record.to_json())
    if certificate.answers:
        _write_answers(certificate.answers, folder / ANSWERS_FILE)
    if spec.output.measurements:
        write_measurements(
            transcript,
            prepared.codec,
            folder / MEASUREMENTS_FILE,
            release=spec.release,
            published=spec.released_columns,
        )
    made = rendered_files(record) | files_for_users(record, dictionary)
    for name, content in made.items():
        (folder / name).write_bytes(content)
    show_in_dashboard(record, folder)


def _write_answers(answers: QueryAnswers, path: Path) -> None:
    """Write a CSV file with one row per query, in the order of the spec.

    Columns: the query; the released answer, a mean over all records; its largest distance from the
    private answer, for all rows together with the certificate's confidence; and the answer of the
    released records.
    """
    table = pd.DataFrame(
        {
            "query": answers.labels,
            "answer": answers.distribution,
            "largest_error": answers.bounds,
            "answer_of_records": answers.records,
        }
    )
    table.to_csv(path, index_label="number")


def software() -> Software:
    """The versions that computed a release, and the state of the code."""
    lock = _ROOT / "constraints.txt"
    commit = _git("rev-parse", "HEAD")
    return Software(
        hallmark=importlib.metadata.version("hallmark"),
        python=platform.python_version(),
        packages={name: importlib.metadata.version(name) for name in _PACKAGES},
        commit=commit or NOT_RECORDED,
        dirty=bool(_git("status", "--porcelain")) if commit else NOT_RECORDED,
        lock_digest=sha256(lock.read_bytes()).hexdigest() if lock.exists() else NOT_RECORDED,
    )


def _git(*arguments: str) -> str:
    """Output of a git command on the code's own checkout; empty where there is none."""
    try:
        done = subprocess.run(
            ["git", "-C", str(_ROOT), *arguments], capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
