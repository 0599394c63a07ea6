"""What a release publishes is no function of the private bytes, but for the noisy answers.

Two tables differ in one record in every column, also in the one that is dropped unread, yet every
record stays in its cells: so all counts that are ever asked are equal, and with the same noise all
answers are. What differs in the public files all the same is then told of the private bytes
outside the noise, or a time, or drawn anew for each release; the latter are listed here, by name.
"""

import base64
import json
import os
import re
import shutil
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b, md5, sha1, sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from ruamel.yaml import YAML

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.privacy import curator, noise
from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.schemas.documents.decisions import Decision
from hallmark.schemas.documents.manifest import RECORD_FILE, SIGNATURE_FILE
from hallmark.tasks.gates.approvals import decide
from hallmark.tasks.gates.decision_keys import sign
from hallmark.tasks.gates.gate_history import History
from hallmark.tasks.gates.waiting import asked_now, waiting_of
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.rendering import rendered_files
from hallmark.tasks.sources import source_digest
from hallmark.tasks.verification import verify_release
from tests import example

ROWS = 300
ADA = Ed25519PrivateKey.generate()

TIMES = r"\.(created|started|finished|opened|decided|passed|seconds|time)$"
DRAWN = [  # what differs between two releases of the very same table
    rf"audit-report\.json.*{TIMES}",
    r"audit-report\.json\.provenance\.run$",
    r"audit-report\.json\.account\.entries\.\d+\.digest$",  # covers a nonce
    rf"approvals\.json.*{TIMES}",
    r"approvals\.json\.said\.\d+\.(nonce|previous|signature|decision\.previous|counted\.\d+)$",
    r"approvals\.json\.said\.\d+\.(decision\.)?seen\.data$",  # the seal (test_table_seal)
    r"manifest\.json\.created$",
    r"manifest\.json\.ledger\.hash$",  # covers a nonce
    r"manifest\.json\.files\.(approvals\.json|audit-report\.(json|html))\.(sha256|bytes)$",
    r"manifest\.json\.files\.for-people\.html\.sha256$",  # tells the minute it was created
]


@pytest.fixture(scope="module")
def both(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """The folders of two releases of tables that differ in one record, with the same noise."""
    base = tmp_path_factory.mktemp("public")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALLMARK_HOME", str(base / "home"))
        patch.delenv("HALLMARK_LEDGER", raising=False)
        patch.setattr(noise, "_draw", lambda _, exact: exact + same_noise(exact))
        patch.setattr(curator, "choose", lambda scores, **_: int(np.argmax(scores)))
        spec = example.write(
            base / "data", ROWS, mechanism={"name": "mst"}, approvals={"plan": ["methodologist"]}
        )
        yield [released(base, spec, name) for name in ("one", "other")]


def same_noise(exact: Counts) -> Counts:
    return np.random.default_rng(exact.size).integers(-3, 4, exact.shape)


def released(base: Path, spec: Path, name: str) -> Path:
    """Release the table in an installation that keeps its secrets, and nothing else."""
    from hallmark.flows.release import release

    home, table = base / "home", spec.parent / "table.csv"
    for made in home.iterdir() if home.exists() else ():
        if made.suffix not in (".key", ".pem"):
            shutil.rmtree(made) if made.is_dir() else made.unlink()
    if name == "other":
        change_one_record(table)
    example.open_account()
    public = base64.b64encode(ADA.public_key().public_bytes_raw()).decode()
    with (home / "profile.yaml").open("w") as handle:
        ada = {"name": "Ada", "roles": ["methodologist"], "key": public}
        YAML().dump({"approvers": [ada]}, handle)
    release(str(spec), str(base / "out"))
    waits, book = waiting_of("test-release"), open_ledger(ledger_url())
    said = {
        **asked_now(waits, History.in_ledger(book, "test-release")),
        "role": "methodologist",
        "person": "Ada",
        "decision": "approve",
        "reason": "for the test",
        "decided": datetime.now(UTC).replace(microsecond=0),
    }
    decide(book, sign(Decision.model_validate(said), ADA), waits, profile().approvers)
    published = Path(release(str(spec), str(base / "out"), resume=True).folder)
    shutil.copy(table, base / f"{name}.csv")
    (base / f"{name}.keyed").write_text(source_digest(prepare(spec).source))
    return published.rename(base / name)


def change_one_record(table: Path) -> None:
    """Exchange the first record with an income for one in the same cells; the length stays."""
    lines = table.read_text().splitlines()
    row = next(i for i, line in enumerate(lines) if re.match(r"[2-8][0-7],\d\d\.[0-8],", line))
    age, income, region, employed, since, person = lines[row].split(",")
    year = since[:4]
    lines[row] = ",".join(
        [
            f"{int(age) + 1}" if age[-1] < "9" else f"{int(age) - 1}",
            f"{float(income) + 0.1:.1f}",
            region,
            employed,
            f"{year}-07-{'02' if since.endswith('01') else '01'}" if since[5:7] == "07" else since,
            f"{person[:-1]}{(int(person[-1]) + 1) % 10}",
        ]
    )
    before = table.stat()
    table.write_text("\n".join(lines) + "\n")
    assert table.stat().st_size == before.st_size
    os.utime(table, (before.st_atime - 86_400, before.st_mtime - 86_400))


def leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in inner:
            yield from leaves(item, f"{path}.{key}")
    else:
        yield path, value


def unexplained(one: Path, other: Path) -> list[str]:
    """What differs between two release folders, but for what is drawn anew for each release."""
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in other.iterdir())
    # What is rendered holds what the record does: `verify` renders it again.
    rendered = rendered_files(AuditRecord.model_validate_json((one / RECORD_FILE).read_bytes()))
    different = []
    for name in names:
        contents = [(folder / name).read_bytes() for folder in (one, other)]
        if name.endswith(".json"):
            first, second = (dict(leaves(json.loads(content), name)) for content in contents)
            different += [
                path for path in {**first, **second} if first.get(path) != second.get(path)
            ]
        elif name != SIGNATURE_FILE and name not in rendered and contents[0] != contents[1]:
            different.append(name)
    return [path for path in different if not any(re.search(known, path) for known in DRAWN)]


def test_only_times_and_numbers_drawn_anew_differ(both: list[Path]):
    assert unexplained(*both) == []
    assert all(verify_release(folder).ok for folder in both)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("data-dictionary.json", '"rows": 300', '"rows": 301'),
        ("data.csv", ",01,", ",02,"),
        ("audit-report.json", '"dataset": "A', '"dataset": "B'),
    ],
)
def test_a_difference_of_any_other_kind_is_seen(
    name: str, old: str, new: str, both: list[Path], tmp_path: Path
):
    one, other = both
    copy = shutil.copytree(other, tmp_path / "copy")
    content = (copy / name).read_text()
    assert old in content
    (copy / name).write_text(content.replace(old, new, 1))
    assert len(unexplained(one, copy)) == 1


def test_no_digest_size_or_time_of_the_table_is_published(both: list[Path]):
    for folder in both:
        table = folder.parent / f"{folder.name}.csv"
        content = table.read_bytes()
        told = {hashed(content).hexdigest() for hashed in (sha256, sha1, md5, blake2b)}
        told |= {f"{zlib.crc32(content):08x}", (folder.parent / f"{folder.name}.keyed").read_text()}
        sizes = {len(content), int(table.stat().st_mtime), table.stat().st_mtime_ns}
        for path in folder.iterdir():
            text = path.read_bytes().decode("utf-8", errors="replace")
            assert not [digest for digest in told if digest in text], path.name
            if path.suffix == ".json":
                values = {value for _, value in leaves(json.loads(text), path.name)}
                assert not values & sizes, path.name
