"""The registry's entry: its keys and choices, its tier, and nothing that is not known."""

import json

import pytest
from ruamel.yaml import YAML

from schemas.audit_report import Actor, AuditRecord
from tasks.rendering.registry import registry_record, render_registry_record

KEYS = {
    "basic": {
        "name", "data_curators", "description", "intended_use", "data_product_type",
        "data_product_region", "data_product_sector", "publication_date",
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        "privacy_unit", "privacy_unit_details", "number_of_privacy_units", "privacy_parameters",
        "privacy_parameters_details",
    },
    "deployment_model": {
        "model_name", "model_name_details", "trust_assumptions", "actors", "release_type",
        "release_type_details", "data_source_type", "data_source_type_details", "access_type",
        "access_type_details",
    },
    "implementation": {
        "preprocessing_and_hyperparameter_tuning", "mechanisms", "composition", "post_processing",
        "justification", "utility", "additional_information",
    },
    "administrative": {"evidence_sources", "status", "registry_authors", "tier"},
}  # fmt: skip
"""All keys that the registry's schema knows; it refuses others."""


@pytest.fixture
def full(record: AuditRecord) -> AuditRecord:
    """A record in which everything that the registry asks for is known."""
    changes = {
        "identity": {
            "curator_kind": "Government", "region": "Utopia", "sector": "Government",
            "schedule": "periodic; each year", "data_source": "growing", "justification": "tested",
        },
        "guarantee": {"formal": "tables that differ in one record"},
        "account": {"tuning": "public data"},
        "trust": {"actors": (Actor(actor="operator", sees="the table"),)},
    }  # fmt: skip
    for section, values in changes.items():
        part = getattr(record, section).model_copy(update=values)
        record = record.model_copy(update={section: part})
    return record


def test_it_has_the_registrys_keys_and_no_others(full: AuditRecord) -> None:
    entry = registry_record(full)
    assert set(entry) == {"url_slug", "deployment"}
    assert set(entry["deployment"]) == set(KEYS)
    for section, keys in KEYS.items():
        assert set(entry["deployment"][section]) <= keys


def test_choices_are_the_registrys_words(full: AuditRecord) -> None:
    deployment = registry_record(full)["deployment"]
    model = deployment["deployment_model"]
    assert (model["release_type"], model["data_source_type"]) == ("Many releases", "Dynamic")
    assert (model["model_name"], model["access_type"]) == ("Central", "Non-interactive")
    assert deployment["dp_variant"]["variant_name"] == "Approximate DP"
    assert deployment["basic"]["data_product_type"] == "Synthetic data"
    assert deployment["basic"]["data_curators"] == [
        {"data_curator_name": "Statistical Office", "data_curator_type": "Government"}
    ]
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-5}


def test_its_tier_is_the_highest_that_is_complete(full: AuditRecord, record: AuditRecord) -> None:
    def tier(record: AuditRecord) -> int:
        told: int = registry_record(record)["deployment"]["administrative"]["tier"]
        return told

    assert tier(full) == 3
    untuned = full.account.model_copy(update={"tuning": "not recorded"})
    assert tier(full.model_copy(update={"account": untuned})) == 2
    assert tier(record) == 1


def test_what_is_not_known_is_left_out(record: AuditRecord) -> None:
    deployment = registry_record(record)["deployment"]
    assert "release_type" not in deployment["deployment_model"]
    assert "data_product_sector" not in deployment["basic"]
    assert deployment["basic"]["data_product_region"] == "not recorded"  # the registry insists


def test_it_reads_as_yaml_too(full: AuditRecord) -> None:
    text = render_registry_record(full)
    assert YAML(typ="safe").load(text) == json.loads(text) == registry_record(full)
