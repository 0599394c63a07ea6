"""Releases run in this process, and what holds for every one that was published."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.manifest import RECORD_FILE
from hallmark.tasks.installation.workspace import ledger_url
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
