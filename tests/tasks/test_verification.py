"""Verification: a sound release passes, and every way of tampering with one is told."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hallmark.schemas.documents.audit_report import FIRST_FORMAT, AuditRecord
from hallmark.schemas.documents.data_dictionary import DataDictionary
from hallmark.schemas.documents.ledger_anchor import LedgerHead
from hallmark.schemas.documents.manifest import Claims
from hallmark.tasks.installation.signing import SigningKey, sign_manifest
from hallmark.tasks.rendering import files_for_users, rendered_files
from hallmark.tasks.sources import csv_files, parquet_files
from hallmark.tasks.verification import verify_release
from hallmark.tasks.verification.conformity import nonconformities
from tests.tasks.released import Released

Signing = Callable[..., dict[str, str]]


@pytest.fixture
def failed_when_signed(unsigned: Path, claims: Claims, key: SigningKey) -> Signing:
    """Signs the folder, with claims that may be changed; gives the checks that fail."""

    def signing(**changes: Any) -> dict[str, str]:
        sign_manifest(unsigned, claims.model_copy(update=changes), key)
        return _failed(unsigned)

    return signing


@pytest.fixture
def release(unsigned: Path, claims: Claims, key: SigningKey) -> Path:
    sign_manifest(unsigned, claims, key)
    return unsigned


def _failed(folder: Path, public_key: Path | None = None) -> dict[str, str]:
    checks = verify_release(folder, public_key).checks
    return {check.name: check.detail for check in checks if not check.ok}


def _edit_json(file: Path, edit: Callable[[Any], object]) -> None:
    content = json.loads(file.read_bytes())
    edit(content)
    file.write_text(json.dumps(content))


def test_a_sound_release_passes_every_check(release: Path) -> None:
    verification = verify_release(release)
    assert verification.ok, _failed(release)
    assert [check.name for check in verification.checks] == [
        "manifest",
        "signature",
        "files",
        "documents",
        "claims",
        "privacy events",
        "data.csv",
        "data.parquet",
        "records",
        "report",
    ]
    assert verification.to_json()["ok"] is True


@pytest.mark.parametrize("form", ["data.csv", "data.parquet"])
def test_one_data_format_is_enough(form: str, unsigned: Path, failed_when_signed: Signing) -> None:
    (unsigned / form).unlink()
    assert failed_when_signed() == {}


def test_without_a_key_the_signer_is_not_vouched_for(release: Path) -> None:
    (signature,) = (c for c in verify_release(release).checks if c.name == "signature")
    assert "to be sure who signed" in signature.detail


def test_the_agencys_key_vouches_for_the_signer(release: Path, tmp_path: Path) -> None:
    shutil.copy(release / "signer.pub", tmp_path / "agency.pub")
    (signature,) = (
        c for c in verify_release(release, tmp_path / "agency.pub").checks if c.name == "signature"
    )
    assert signature.ok
    assert signature.detail.startswith("by the given key")


def test_a_release_signed_by_somebody_else_fails(
    release: Path, claims: Claims, tmp_path: Path
) -> None:
    shutil.copy(release / "signer.pub", tmp_path / "agency.pub")
    sign_manifest(release, claims, SigningKey(Ed25519PrivateKey.generate(), "file"))
    said = _failed(release, tmp_path / "agency.pub")["signature"]
    assert "somebody else signed, or" in said
    assert f"{tmp_path / 'agency.pub'} is not the agency's" in said
    assert "signature" not in _failed(release)  # which is why the key is given


def test_another_key_put_into_the_folder_fails(release: Path) -> None:
    other = Ed25519PrivateKey.generate().public_key()
    pem = other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (release / "signer.pub").write_bytes(pem)
    assert "not of this manifest" in _failed(release)["signature"]


def test_another_key_in_the_folder_fails_beside_the_agencys(release: Path, tmp_path: Path) -> None:
    shutil.move(release / "signer.pub", tmp_path / "agency.pub")
    test_another_key_put_into_the_folder_fails(release)
    assert "signature" in _failed(release, tmp_path / "agency.pub")


@pytest.mark.parametrize(
    ("content", "told"),
    [("bm90IGEgc2lnbmF0dXJl", "not of this manifest"), ("a", "is not base64"), ("", "not of this")],
)
def test_a_broken_signature_fails(content: str, told: str, release: Path) -> None:
    (release / "manifest.sig").write_text(content)
    assert told in _failed(release)["signature"]


def test_a_key_that_is_none_fails(release: Path, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("no key")
    assert "not a public key" in _failed(release, tmp_path / "key")["signature"]
    assert "missing" in _failed(release, tmp_path / "absent")["signature"]


def test_a_changed_manifest_fails(release: Path) -> None:
    file = release / "manifest.json"
    file.write_bytes(file.read_bytes().replace(b'"epsilon": "1"', b'"epsilon": "1/2"'))
    assert {"signature", "claims"} <= set(_failed(release))


def test_a_manifest_with_a_repeated_key_fails(release: Path) -> None:
    file = release / "manifest.json"
    file.write_bytes(file.read_bytes().replace(b"{", b'{"title": "first",', 1))
    assert "not in canonical form" in _failed(release)["manifest"]


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b"[1, 2"])
def test_a_manifest_that_is_none_fails_without_an_exception(content: bytes, release: Path) -> None:
    (release / "manifest.json").write_bytes(content)
    assert list(_failed(release)) == ["manifest"]


FILES = (
    "data.csv",
    "data.parquet",
    "release-spec.yaml",
    "certificate.json",
    "audit-report.html",
    "audit-report.json",
    "data-dictionary.json",
    "for-people.html",
    "registry.json",
)
RENDERED = (
    "audit-report.html", "for-people.html", "registry.json", "README.md", "load.py", "load.R",
    "load.do",
)  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_changed_by_one_byte_fails(name: str, release: Path) -> None:
    file = release / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert f"{name} was changed after signing" in _failed(release)["files"]


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_fails(name: str, release: Path) -> None:
    (release / name).unlink()
    assert f"{name} is missing" in _failed(release)["files"]


@pytest.mark.parametrize(
    "name", [n for n in FILES if n.split(".")[0] not in ("data", "for-people", "registry")]
)
def test_a_release_signed_without_a_required_file_fails(
    name: str, unsigned: Path, failed_when_signed: Signing
) -> None:
    (unsigned / name).unlink()
    assert f"the manifest lists no {name}" in failed_when_signed()["files"]


def test_a_release_signed_without_data_fails(unsigned: Path, failed_when_signed: Signing) -> None:
    (unsigned / "data.csv").unlink()
    (unsigned / "data.parquet").unlink()
    assert "no data file" in failed_when_signed()["files"]


def test_an_unexpected_file_fails(release: Path) -> None:
    (release / "notes.txt").write_text("hello")
    (release / "more").mkdir()
    told = _failed(release)["files"]
    assert "notes.txt is not in the manifest" in told
    assert "more is not in the manifest" in told


def test_a_file_replaced_by_a_link_fails(release: Path, tmp_path: Path) -> None:
    shutil.move(release / "data.csv", tmp_path / "data.csv")
    (release / "data.csv").symlink_to(tmp_path / "data.csv")
    assert "data.csv is not a plain file" in _failed(release)["files"]


# From here on the tampering is done before signing: all hashes are right, the content is not.

Spoil = Callable[[Path, AuditRecord], object]


def edited(name: str, edit: Callable[[Any], object]) -> Spoil:
    return lambda folder, _record: _edit_json(folder / name, edit)


def recorded(section: str, change: Callable[[AuditRecord], dict[str, Any]]) -> Spoil:
    """A record with values of a section changed, and all that is rendered from it."""

    def spoil(folder: Path, record: AuditRecord) -> None:
        part = getattr(record, section).model_copy(update=change(record))
        _with_record(folder, record.model_copy(update={section: part}))

    return spoil


def _with_record(folder: Path, record: AuditRecord) -> None:
    (folder / "audit-report.json").write_bytes(record.to_json())
    dictionary = DataDictionary.model_validate_json((folder / "data-dictionary.json").read_bytes())
    for name, content in (rendered_files(record) | files_for_users(record, dictionary)).items():
        (folder / name).write_bytes(content)


def half_the_noise(record: AuditRecord) -> dict[str, Any]:
    return {"events": ({**record.mechanism.events[0], "sigma2": "3500"},)}


def half_the_charge(record: AuditRecord) -> dict[str, Any]:
    charged = record.account.this_release
    return {"this_release": charged.model_copy(update={"epsilon": charged.epsilon / 2})}


def older(spec: Any) -> None:
    """The spec with another domain of a column."""
    spec["columns"]["AGEP"]["maximum"] = 98
    spec["columns"]["AGEP"]["edges"][-1] = 98


TAMPERED: dict[str, tuple[Spoil, str, str]] = {
    "a certificate other than the report's": (
        edited("certificate.json", lambda c: c.update(confidence=0.99)),
        "claims",
        "disagree on the certificate; the documents disagree on the certificate's summary",
    ),
    "a spec other than the one that ran": (
        edited("release-spec.yaml", older), "claims", "domain of AGEP is not that of the spec",
    ),
    "a spec with another digest": (
        edited("release-spec.yaml", older), "claims", "the digest of the spec",
    ),
    "a spec that is refused": (
        edited("release-spec.yaml", lambda spec: spec["privacy"].pop("epsilon")),
        "documents", "release-spec.yaml is refused",
    ),
    "attenuated pairs other than the report's": (
        edited("data-dictionary.json", lambda d: d.update(attenuated=["AGEP x MSP"])),
        "claims", "attenuated pairs are not those of the report",
    ),
    "a measured column that is called looked up": (
        edited(
            "data-dictionary.json",
            lambda d: d["columns"][0].update(looked_up_from="MSP", grid=None),
        ),
        "claims", "does not say as the spec does whether AGEP is looked up",
    ),
    "a column that is neither measured nor looked up": (
        edited("data-dictionary.json", lambda d: d["columns"][0].update(grid=None)),
        "documents", "AGEP: a column has a grid, unless it is looked up",
    ),
    "an error that is not the certificate's bound": (
        edited("data-dictionary.json", lambda d: d["columns"][0]["error"].update(bound=0.001)),
        "claims", "error of AGEP is not the certificate's bound",
    ),
    "events that cost more than is claimed": (
        recorded("mechanism", half_the_noise), "privacy events", "cost more than epsilon 1",
    ),
    "events that fit the claim one by one": (
        recorded("mechanism", lambda record: {"events": 2 * record.mechanism.events}),
        "privacy events", "cost more than epsilon 1",
    ),
    "attacks that are said to reach less than the events allow": (
        recorded("guarantee", lambda _: {"curve": ((0.0, 0.001),)}),
        "privacy events", "they allow more at epsilon 0 than delta 0.001",
    ),
    "an event that is not known": (
        recorded("mechanism", lambda _: {"events": ({"event": "magic"},)}),
        "privacy events", "unknown privacy event",
    ),
    "an account charged too little": (
        recorded("account", half_the_charge), "claims", "charged less than is claimed",
    ),
    "a formal statement about all tables": (
        recorded("guarantee", lambda _: {"formal": "any two tables"}),
        "claims", "formal statement is not that of the claim",
    ),
    "data that are not what their suffix says": (
        lambda folder, _: (folder / "data.parquet").write_bytes(b"PAR2"),
        "data.parquet", "cannot be read as parquet",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spoil", "check", "told"), TAMPERED.values(), ids=TAMPERED)
def test_documents_that_contradict_each_other_fail(
    spoil: Spoil, check: str, told: str, unsigned: Path, record: AuditRecord,
    failed_when_signed: Signing,
) -> None:  # fmt: skip
    spoil(unsigned, record)
    assert told in failed_when_signed()[check]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"epsilon": "1/2"}, "epsilon"),
        ({"delta": "0"}, "delta"),
        ({"neighbours": "add_remove"}, "the neighbouring relation"),
        ({"unit": "person", "records_per_unit": 3}, "records of a unit"),
    ],
)
def test_a_manifest_that_promises_what_the_spec_does_not_fails(
    change: dict[str, Any], told: str, claims: Claims, failed_when_signed: Signing
) -> None:
    privacy = type(claims.privacy).model_validate({**claims.privacy.model_dump(), **change})
    detail = failed_when_signed(privacy=privacy)["claims"]
    assert f"disagree on {told}" in detail
    assert "disagree on the privacy claim" in detail


def test_a_manifest_with_the_ledgers_head_of_another_account_fails(
    failed_when_signed: Signing,
) -> None:
    head = LedgerHead(account="others", entries=3, hash="ab" * 32)
    assert "disagree on the account" in failed_when_signed(ledger=head)["claims"]


@pytest.mark.parametrize("name", RENDERED)
def test_a_page_that_is_not_rendered_from_its_record_fails(
    name: str, unsigned: Path, failed_when_signed: Signing
) -> None:
    page = unsigned / name
    page.write_bytes(page.read_bytes() + b" ")
    assert f"{name} is not what this version renders" in failed_when_signed()["report"]


@pytest.mark.parametrize("name", [n for n in RENDERED if n != "audit-report.html"])
def test_a_release_of_today_needs_all_that_is_rendered_from_its_record(
    name: str, unsigned: Path, failed_when_signed: Signing
) -> None:
    (unsigned / name).unlink()
    assert f"the manifest lists no {name}" in failed_when_signed()["report"]


def test_a_release_of_the_first_format_is_still_accepted(
    unsigned: Path, record: AuditRecord, failed_when_signed: Signing
) -> None:
    for name in RENDERED:
        (unsigned / name).unlink()
    first = record.model_copy(update={"format": FIRST_FORMAT})
    (unsigned / "audit-report.json").write_bytes(first.to_json())
    (unsigned / "audit-report.html").write_text("as an earlier version rendered it")
    assert failed_when_signed() == {}
    (told,) = (c.detail for c in verify_release(unsigned).checks if c.name == "report")
    assert "made in an earlier format (hallmark-audit-report/1) by Hallmark 0.1.0" in told
    (unsigned / "audit-report.html").write_text("changed since")
    assert "audit-report.html was changed after signing" in _failed(unsigned)["files"]


def test_a_claim_that_hides_what_is_unprotected_fails(
    unsigned: Path, record: AuditRecord, claims: Claims, failed_when_signed: Signing
) -> None:
    bare = claims.privacy.model_copy(update={"unprotected": ()})
    recorded("guarantee", lambda _: {"claim": bare})(unsigned, record)
    assert "disagree on what the spec promises" in failed_when_signed(privacy=bare)["claims"]


def test_a_value_outside_its_domain_fails(unsigned: Path, failed_when_signed: Signing) -> None:
    file = unsigned / "data.parquet"
    table = pq.read_table(file)
    ages = pa.array([140, *table["AGEP"].to_pylist()[1:]], pa.int64())
    pq.write_table(table.set_column(0, "AGEP", ages), file)
    assert failed_when_signed() == {
        "data.parquet": "AGEP: outside 0 to 99: 1 values",
        "records": "AGEP: 1 values of data.parquet are not those of data.csv",
    }


# The data files against a small dictionary with a column of every type.


def column(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": name, "type": kind, "grid": {"cells": 9}, **more}


WITH_NULLS = {"nullable": True, "null_marker": "N"}
DICTIONARY = DataDictionary.model_validate(
    {
        "release_id": "r",
        "rows": 2,
        "csv_delimiter": ";",
        "columns": [
            column("age", "integer", interval={"low": 0, "high": 99}, **WITH_NULLS),
            column("height", "real", interval={"low": 0.5, "high": 2.5}),
            column(
                "born",
                "date",
                interval={"low": "1900-01-01", "high": "2020-12-31"},
                date_format="%d.%m.%Y",
                **WITH_NULLS,
            ),
            column("sex", "nominal", categories=[{"value": "01"}, {"value": "02"}]),
        ],
    }
)
HEAD = "age;height;born;sex\n"
SOUND = "31;1.75;29.02.2000;01\n"


def _csv(tmp_path: Path, text: str) -> list[str]:
    file = tmp_path / "data.csv"
    file.write_text(text)
    return nonconformities(file, DICTIONARY)


def test_a_csv_file_that_conforms_has_no_faults(tmp_path: Path) -> None:
    assert _csv(tmp_path, HEAD + SOUND + "N;2.5;N;02\n") == []


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("100;1.75;29.02.2000;01", "age: outside 0 to 99: 1 values"),
        ("1.5;1.75;29.02.2000;01", "age: not a whole number: 1 values"),
        ("x;1.75;29.02.2000;01", "age: not a number: 1 values"),
        (";1.75;29.02.2000;01", "age: not a number: 1 values"),
        ("nan;1.75;29.02.2000;01", "age: not a number: 1 values"),
        ("31;N;29.02.2000;01", "height: not a number: 1 values"),
        ("31;2.51;29.02.2000;01", "height: outside 0.5 to 2.5: 1 values"),
        ("31;1.75;2000-02-29;01", "born: not a date: 1 values"),
        ("31;1.75;01.01.2021;01", "born: outside 1900-01-01 to 2020-12-31: 1 values"),
        ("31;1.75;29.02.2000;1", "sex: not a listed category: 1 values"),
        ("31;1.75;29.02.2000;N", "sex: not a listed category: 1 values"),
    ],
)
def test_a_fault_in_a_csv_file_is_told(row: str, fault: str, tmp_path: Path) -> None:
    assert _csv(tmp_path, HEAD + SOUND + row + "\n") == [fault]


def test_missing_rows_are_told(tmp_path: Path) -> None:
    assert _csv(tmp_path, HEAD + SOUND) == ["it has 1 rows, but the dictionary says 2"]


def test_columns_in_another_order_are_told(tmp_path: Path) -> None:
    assert "not those of the dictionary" in _csv(tmp_path, "height;age;born;sex\n" + SOUND * 2)[0]


def _parquet(tmp_path: Path, **changes: pa.Array) -> list[str]:
    columns = {
        "age": pa.array([31, None], pa.int64()),
        "height": pa.array([1.75, 2.5]),
        "born": pa.array(["2000-02-29", None]).cast(pa.date32()),
        "sex": pa.array(["01", "02"]),
    }
    pq.write_table(pa.table({**columns, **changes}), tmp_path / "data.parquet")
    return nonconformities(tmp_path / "data.parquet", DICTIONARY)


def test_a_parquet_file_that_conforms_has_no_faults(tmp_path: Path) -> None:
    assert _parquet(tmp_path) == []
    assert _parquet(tmp_path, sex=pa.array(["01", "02"]).dictionary_encode()) == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"height": pa.array([1.75, None])}, "height: null, but nulls are not allowed: 1 values"),
        (
            {"height": pa.array([1.75, float("nan")])},
            "height: null, but nulls are not allowed: 1 values",
        ),
        ({"height": pa.array([1.75, float("inf")])}, "height: outside 0.5 to 2.5: 1 values"),
        ({"age": pa.array([True, False])}, "age: not a number: 2 values"),
        ({"born": pa.array([1, 2])}, "born: not a date: 2 values"),
        ({"sex": pa.array([1, 2])}, "sex: not a listed category: 2 values"),
    ],
)
def test_a_fault_in_a_parquet_file_is_told(
    changes: dict[str, pa.Array], fault: str, tmp_path: Path
) -> None:
    assert _parquet(tmp_path, **changes) == [fault]


@pytest.mark.parametrize("content", [b"", b"anything", b"0\x03\x02\x01\x00"])
def test_a_time_stamp_that_is_none_fails_with_or_without_a_register(
    content: bytes, release: Path
) -> None:
    (release / "manifest.tsr").write_bytes(content)
    assert "no time stamp of RFC 3161" in _failed(release)["time stamp"]


SPOILT = {
    "swapped records": (
        lambda rows: [*rows[:7], rows[8], rows[7], *rows[9:]],
        "values of data.parquet are not those of data.csv",
    ),
    "a record too few": (lambda rows: rows[:-1], "data.csv has 399 records, and data.parquet 400"),
    "no records": (lambda rows: rows[:1], "data.csv has 0 records, and data.parquet 400"),
}


@pytest.mark.parametrize("how", SPOILT)
def test_data_files_with_different_records_fail(
    how: str, unsigned: Path, failed_when_signed: Signing
) -> None:
    spoil, told = SPOILT[how]
    file = unsigned / "data.csv"
    file.write_text("\n".join([*spoil(file.read_text().splitlines()), ""]))
    assert told in failed_when_signed()["records"]


def test_records_are_compared_however_the_files_are_batched(
    unsigned: Path, failed_when_signed: Signing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "BATCH_ROWS", 70)
    monkeypatch.setattr(csv_files, "_BLOCK_BYTES", 20_000)
    assert failed_when_signed() == {}
    lines = (unsigned / "data.csv").read_text().splitlines()
    (unsigned / "data.csv").write_text("\n".join([*lines[:300], lines[1], *lines[301:], ""]))
    assert "values of data.parquet are not those of data.csv" in failed_when_signed()["records"]


def test_a_release_signed_without_the_head_of_its_ledger_fails(failed_when_signed: Signing) -> None:
    assert "names no head of the ledger" in failed_when_signed(ledger=None)["claims"]


def test_a_release_signed_without_its_noisy_tables_fails(
    run: Released, tmp_path: Path, key: SigningKey
) -> None:
    folder = Path(shutil.copytree(run.folder, tmp_path / "release"))
    claims = Claims.model_validate(
        {
            name: value
            for name, value in json.loads((folder / "manifest.json").read_bytes()).items()
            if name in Claims.model_fields
        }
    )
    (folder / "measurements.parquet").unlink()
    sign_manifest(folder, claims, key)
    assert "tell of measurements.parquet, which the manifest does not" in _failed(folder)["claims"]


def test_what_is_no_plain_file_is_not_opened(unsigned: Path, failed_when_signed: Signing) -> None:
    """A pipe would keep the check waiting."""
    sign = failed_when_signed
    assert sign() == {}
    for name in ("data.csv", "approvals.json"):
        (unsigned / name).unlink(missing_ok=True)
        os.mkfifo(unsigned / name)
    assert list(_failed(unsigned)) == ["files"]
