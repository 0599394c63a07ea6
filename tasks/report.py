"""Write what goes with the data: certificate, data dictionary, audit report, the spec as run."""

import importlib.metadata
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from prefect import task

from mechanisms.contract import Certificate, Measurements
from mechanisms.privacy.ledger import Ledger
from schemas.audit_report import Signature
from schemas.certificate import CertificateFile
from schemas.labels import NOT_RECORDED
from schemas.manifest import (
    ANSWERS_FILE,
    CERTIFICATE_FILE,
    DICTIONARY_FILE,
    RECORD_FILE,
    REPORT_FILE,
    SPEC_FILE,
    Software,
)
from tasks.answers import write_answers
from tasks.dictionary import data_dictionary
from tasks.finalise import FinalFile
from tasks.generate import SyntheticFile
from tasks.prepare import Prepared
from tasks.record import Executed, audit_record
from tasks.rendering import render_audit_report
from tasks.signing import signing_key
from tasks.validate import Rule
from tasks.workspace import Workspace, home

_ROOT = Path(__file__).parents[1]
_PACKAGES = ("dp-accounting", "numpy", "opendp", "pandas", "prefect", "pyarrow", "scipy")


@task(name="report")
def report(
    prepared: Prepared,
    measurements: Measurements,
    synthetic: SyntheticFile,
    certificate: Certificate,
    rules: Sequence[Rule],
    final: FinalFile,
    ledger: str,
    workspace: Workspace,
) -> None:
    """Write everything but the signature into the staging folder, from what was executed."""
    book, spec, folder = Ledger(ledger), prepared.spec, workspace.staging
    key = signing_key(home())
    record = audit_record(
        Executed(
            prepared=prepared,
            rules=rules,
            total=measurements.total,
            events=book.events(spec.release),
            account=book.account(spec.population.account),
            entries=book.entries(spec.population.account),
            synthetic=synthetic.load(),
            certificate=certificate,
            final=final,
            software=software(),
            signature=Signature(
                fingerprint=key.fingerprint, origin=key.origin, warning=key.warning
            ),
            created=datetime.now(UTC).replace(microsecond=0),
        )
    )
    certified = CertificateFile.model_validate(certificate)
    dictionary = data_dictionary(prepared, certified, rows=final.rows)
    (folder / SPEC_FILE).write_bytes(prepared.path.read_bytes())
    (folder / CERTIFICATE_FILE).write_text(certified.model_dump_json(indent=2) + "\n")
    (folder / DICTIONARY_FILE).write_text(dictionary.model_dump_json(indent=2) + "\n")
    (folder / RECORD_FILE).write_bytes(record.to_json())
    if certificate.answers:
        write_answers(certificate.answers, folder / ANSWERS_FILE)
    (folder / REPORT_FILE).write_text(render_audit_report(record), encoding="utf-8")


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
