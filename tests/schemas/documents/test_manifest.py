"""The manifest: one canonical text, and no name that leads out of the folder."""

from typing import Any

import pytest
from pydantic import ValidationError

from hallmark.schemas.documents.manifest import FIRST_MANIFEST, Manifest

DIGEST = "0" * 64
FIELDS: dict[str, Any] = {
    "release_id": "r",
    "title": "Ä title",
    "created": "2026-03-02T10:30:00+01:00",
    "privacy": {
        "neighbours": "add_remove",
        "unit": "record",
        "unit_in_words": "one person",
        "epsilon": "1/3",
        "delta": "0",
        "unprotected": ["no value is missing in age (nulls: false)"],
    },
    "certificate": {
        "confidence": 0.95,
        "bounds": 1,
        "vacuous": 0,
        "largest": 0.1,
        "largest_target": "AGE",
    },
    "spec_digest": DIGEST,
    "software": {"hallmark": "0.1.0", "python": "3.11.9", "packages": {"numpy": "2.3.5"}},
    "files": {"data.csv": {"sha256": DIGEST, "bytes": 3}, "a.json": {"sha256": DIGEST, "bytes": 0}},
    "public_key_fingerprint": DIGEST,
}


def test_the_canonical_text_survives_reading() -> None:
    manifest = Manifest.model_validate(FIELDS)
    text = manifest.canonical_bytes()
    assert Manifest.model_validate_json(text).canonical_bytes() == text
    assert text.isascii()
    assert text.endswith(b"}\n")


def test_the_canonical_text_does_not_depend_on_the_order_of_files() -> None:
    turned = {**FIELDS, "files": dict(reversed(FIELDS["files"].items()))}
    assert (
        Manifest.model_validate(turned).canonical_bytes()
        == Manifest.model_validate(FIELDS).canonical_bytes()
    )


def test_epsilon_is_written_exactly() -> None:
    assert b'"epsilon": "1/3"' in Manifest.model_validate(FIELDS).canonical_bytes()


@pytest.mark.parametrize(
    "name", ["../data.csv", "/etc/passwd", "a\\b", ".hidden", "", "manifest.json", "manifest.sig"]
)
def test_a_name_that_is_no_file_of_the_folder_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match=r"plain name|cannot be listed"):
        Manifest.model_validate({**FIELDS, "files": {name: {"sha256": DIGEST, "bytes": 0}}})


def _without_qualification(**others: Any) -> dict[str, Any]:
    privacy = {key: value for key, value in FIELDS["privacy"].items() if key != "unprotected"}
    return {**FIELDS, "privacy": privacy, **others}


def test_a_claim_that_does_not_say_what_is_unprotected_is_refused() -> None:
    with pytest.raises(ValidationError, match="says what it does not cover"):
        Manifest.model_validate(_without_qualification())


def test_a_manifest_of_the_first_format_keeps_its_one_text() -> None:
    first = Manifest.model_validate(_without_qualification(format=FIRST_MANIFEST))
    text = first.canonical_bytes()
    assert b"unprotected" not in text
    assert Manifest.model_validate_json(text) == first
    with pytest.raises(ValidationError, match="has none"):
        Manifest.model_validate({**FIELDS, "format": FIRST_MANIFEST})


def test_an_unknown_claim_is_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Manifest.model_validate({**FIELDS, "certified": True})


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValidationError, match="timezone"):
        Manifest.model_validate({**FIELDS, "created": "2026-03-02T10:30:00"})


@pytest.mark.parametrize("missing", ["commit", "dirty", "lock_digest"])
def test_unknown_provenance_is_said_to_be_not_recorded(missing: str) -> None:
    assert getattr(Manifest.model_validate(FIELDS).software, missing) == "not recorded"
