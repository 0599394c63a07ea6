"""Which faults of the decisions in a release folder are found."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from schemas.approvals import ApprovalsFile, Decision, SignedDecision
from schemas.manifest import APPROVALS_FILE, FileEntry, Manifest
from schemas.release_spec import ReleaseSpec
from tasks.approvals import sign
from tasks.verification.approvals import approval_faults
from tests import example

FILES = {"data.csv": "a" * 64, "audit-report.json": "b" * 64}
ASKED = {"plan": ["methodologist"], "disclosure": ["reviewer"]}


def spec(**approvals: list[str]) -> ReleaseSpec:
    return ReleaseSpec.model_validate(example.spec(Path("table.csv"), approvals=approvals))


def signed(gate: str, role: str, person: str, **changes: Any) -> SignedDecision:
    seen = {"spec": spec(**ASKED).digest(), **(FILES if gate == "disclosure" else {})}
    content = {
        "release": "test-release",
        "gate": gate,
        "role": role,
        "person": person,
        "decision": "approve",
        "reason": "for the test",
        "decided": datetime.now(UTC),
        "seen": seen,
    }
    return sign(Decision.model_validate(content | changes), Ed25519PrivateKey.generate())


def faults(folder: Path, *decisions: SignedDecision, listed: bool = True) -> str:
    files = {name: FileEntry(sha256=digest, bytes=1) for name, digest in FILES.items()}
    if listed:
        files[APPROVALS_FILE] = FileEntry(sha256="c" * 64, bytes=1)
        content = ApprovalsFile(release="test-release", decisions=decisions)
        (folder / APPROVALS_FILE).write_text(content.model_dump_json())
    asked = spec(**ASKED)
    manifest = Manifest.model_construct(
        release_id="test-release", spec_digest=asked.digest(), files=files
    )
    return "; ".join(approval_faults(folder, manifest, asked))


PLAN = ("plan", "methodologist", "Ada")
DISCLOSURE = ("disclosure", "reviewer", "Bo")


def test_complete_decisions_have_no_fault(tmp_path: Path):
    assert faults(tmp_path, signed(*PLAN), signed(*DISCLOSURE)) == ""


def test_where_nobody_must_approve_nothing_is_asked(tmp_path: Path):
    manifest = Manifest.model_construct(release_id="test-release", spec_digest="", files={})
    assert list(approval_faults(tmp_path, manifest, spec())) == []


def test_an_override_stands_in_for_what_is_missing(tmp_path: Path):
    override = signed("disclosure", "override", "Ola", decision="override")
    assert faults(tmp_path, signed(*PLAN), override) == ""


@pytest.mark.parametrize(
    ("decisions", "fault"),
    [
        ((signed(*PLAN),), "at the gate disclosure, reviewer did not approve"),
        ((signed(*DISCLOSURE),), "at the gate plan, methodologist did not approve"),
        (
            (signed(*PLAN), signed(*DISCLOSURE, seen={**FILES, "spec": "d" * 64})),
            "is about another release",
        ),
        (
            (
                signed(*PLAN),
                signed(
                    *DISCLOSURE,
                    seen={**FILES, "data.csv": "e" * 64, "spec": spec(**ASKED).digest()},
                ),
            ),
            "is about another data.csv",
        ),
        (
            (signed(*PLAN), signed(*DISCLOSURE, release="other")),
            "Bo at the gate disclosure is about another release",
        ),
        (
            (signed(*PLAN), signed(*DISCLOSURE), signed("disclosure", "reviewer", "Bo")),
            "at the gate disclosure, somebody decided twice",
        ),
        (
            (signed(*PLAN), signed(*DISCLOSURE), signed(*DISCLOSURE[:2], "Cy", decision="reject")),
            "somebody rejected it",
        ),
        (
            (signed(*PLAN), signed(*DISCLOSURE).model_copy(update={"signature": "AAAA"})),
            "is not signed with the key beside it",
        ),
    ],
)
def test_each_fault_is_named(decisions: tuple[SignedDecision, ...], fault: str, tmp_path: Path):
    assert fault in faults(tmp_path, *decisions)


def test_a_missing_or_broken_file_is_a_fault(tmp_path: Path):
    assert "approvals.json is missing" in faults(tmp_path, listed=False)
    faults(tmp_path, signed(*PLAN))
    (tmp_path / APPROVALS_FILE).write_text("{}")
    manifest = Manifest.model_construct(
        release_id="test-release",
        spec_digest="",
        files={APPROVALS_FILE: FileEntry(sha256="c" * 64, bytes=2)},
    )
    assert "no list of decisions" in "".join(approval_faults(tmp_path, manifest, spec(**ASKED)))
