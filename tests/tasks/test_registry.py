"""The registry's entry: valid by the registry's schema, its tier, nothing that is not known."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from ruamel.yaml import YAML

from hallmark.schemas.documents.audit_report import Actor, AuditRecord
from hallmark.schemas.documents.certificate import CertifiedFile
from hallmark.tasks.rendering.registry import registry_record, render_registry_record
from tests.tasks.deployments_registry import faults


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


def test_the_registry_takes_it(full: AuditRecord) -> None:
    entry = registry_record(full)
    assert faults(entry) == []
    assert faults(json.loads(render_registry_record(full))) == []
    assert set(entry["deployment"]) == {
        "basic", "dp_variant", "privacy_loss", "deployment_model", "implementation",
        "administrative",
    }  # fmt: skip


def test_the_registry_takes_the_entry_of_a_certificate(full: AuditRecord) -> None:
    file = CertifiedFile(name="theirs.csv", sha256="0" * 64, rows=400)
    certificate = full.utility.certificate.model_copy(update={"file": file})
    utility = full.utility.model_copy(update={"certificate": certificate})
    entry = registry_record(full.model_copy(update={"utility": utility}))
    assert faults(entry) == []
    assert "theirs.csv" in entry["deployment"]["basic"]["description"]


def test_only_the_kind_of_curator_has_to_be_stated_for_it(record: AuditRecord) -> None:
    missing = "'data_curator_type' is a required property"
    assert faults(registry_record(record)) == [f"deployment.basic.data_curators.0: {missing}"]


def test_a_sector_that_the_registry_has_no_word_for_is_told_in_the_text(full: AuditRecord) -> None:
    identity = full.identity.model_copy(update={"sector": "Forestry"})
    entry = registry_record(full.model_copy(update={"identity": identity}))
    assert faults(entry) == []
    assert "data_product_sector" not in entry["deployment"]["basic"]
    assert "Sector: Forestry." in entry["deployment"]["implementation"]["additional_information"]
    assert entry["deployment"]["administrative"]["tier"] == 3


def _moved(entry: dict[str, Any], key: str) -> None:
    entry[key] = entry["deployment"]["administrative"].pop(key)


SPOILT: dict[str, Callable[[dict[str, Any]], object]] = {
    "status at the top": lambda e: _moved(e, "status"),
    "tier at the top": lambda e: _moved(e, "tier"),
    "curators as texts": lambda e: e["deployment"]["basic"].update(data_curators=["Office"]),
    "accounting": lambda e: e["deployment"].update(accounting={"composition": "sums"}),
    "a key of nobody": lambda e: e["deployment"]["dp_variant"].update(surprise="!"),
    "no such day": lambda e: e["deployment"]["basic"].update(publication_date="1/1/2026"),
    "another word": lambda e: e["deployment"]["deployment_model"].update(release_type="weekly"),
    "another order": lambda e: e.update(url_slug=e.pop("url_slug")),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_what_the_registry_would_refuse_is_noticed(
    full: AuditRecord, spoil: Callable[[dict[str, Any]], object]
) -> None:
    entry = copy.deepcopy(registry_record(full))
    spoil(entry)
    assert faults(entry)


def test_it_says_among_which_tables_the_guarantee_holds(record: AuditRecord) -> None:
    deployment = registry_record(record)["deployment"]
    assert "that pass the rules" in deployment["dp_variant"]["data_domain"]
    assert "both pass the rules" in deployment["privacy_loss"]["privacy_unit_details"]
    assert "(nulls: false)" in deployment["dp_variant"]["unprotected_quantities"]


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
