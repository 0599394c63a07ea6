"""Releases run in this process, and what holds for every one that was published."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.manifest import RECORD_FILE, REPORT_FILE
from hallmark.tasks.gates.rehearsal import Rehearsal, last_rehearsal
from hallmark.tasks.installation.code import code_digest
from hallmark.tasks.installation.workspace import ledger_url, private_folder
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.publish import Published
from hallmark.tasks.verification import verify_release


def release(spec: Path, *, resume: bool = False) -> Published:
    """Run a release into the folder `out` beside its spec."""
    from hallmark.flows.release import release as flow

    return flow(str(spec), str(spec.parent / "out"), resume=resume)


def sound(published: Published) -> dict[str, Any]:
    """The public record of a release that verifies, and whose ledger does."""
    folder = Path(published.folder)
    verification = verify_release(folder)
    assert verification.ok, [check for check in verification.checks if not check.ok]
    Ledger(ledger_url()).verify("test-people")
    record: dict[str, Any] = json.loads((folder / RECORD_FILE).read_text())
    return record


def spent() -> tuple[Fraction, Fraction]:
    """Epsilon and delta that the example's account has spent."""
    return Ledger(ledger_url()).account("test-people").spent


def rehearsal_ends(spec: Path, home: Path) -> Path:
    """Leave what a rehearsal of a release leaves; returns the folder of its files."""
    prepared = prepare(spec)
    place = private_folder(home / "rehearsals" / prepared.spec.release)
    folder = private_folder(place / "out")
    (folder / REPORT_FILE).write_text("the report of a rehearsal")
    result = Rehearsal(
        release=prepared.spec.release,
        spec=prepared.spec.digest(),
        code=code_digest(),
        records="made up from the spec",
        rows=1,
        seconds=1,
        folder=str(folder),
        manifest="0" * 64,
    )
    (place / "rehearsal.json").write_text(result.model_dump_json())
    assert last_rehearsal(result.release, result.spec) == result
    return folder
