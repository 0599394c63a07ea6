"""The release as an entry of the public registry of differential privacy deployments.

The registry (opendp/deployments-registry-data) keeps one YAML file a deployment, in three tiers of
detail; JSON is YAML, so the file can be handed in as it is. Names of keys and of choices, and the
order of keys, are those of its schema. What is not known is left out, or says so where the registry
insists on the key; the kind of curator, a choice on which it insists, must be stated.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.schemas.documents.labels import NOT_RECORDED
from hallmark.tasks.rendering import wording

_CHOICES: Mapping[str, Mapping[str, str]] = {
    "release_type": {"one-shot": "One release", "periodic": "Many releases"},
    "data_source_type": {"static": "Static", "growing": "Dynamic"},
}
_SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
_INSISTED = ("data_curator_name", "intended_use", "data_product_region")
_SECOND = ("variant_name", "privacy_unit", "privacy_parameters", "model_name", "release_type",
           "data_source_type", "access_type")  # fmt: skip
"""Keys that a description of the second tier has; the first tier is `basic`."""


def render_registry_record(record: AuditRecord) -> bytes:
    """The entry as JSON, byte-stable for equal records."""
    text = json.dumps(registry_record(record), indent=2, ensure_ascii=False)
    return text.encode() + b"\n"


def registry_record(record: AuditRecord) -> dict[str, Any]:
    """The entry as plain values, of the highest tier that is complete."""
    identity = record.identity
    sections = {
        "basic": _basic(record),
        "dp_variant": _variant(record),
        "privacy_loss": _privacy_loss(record),
        "deployment_model": _model(record),
        "implementation": _implementation(record),
    }
    tier = _tier(sections)
    known = {name: _known(section) for name, section in sections.items()}
    known["administrative"] = {
        "status": "Draft",
        "registry_authors": [identity.curator],
        "tier": tier,
    }
    return {"url_slug": identity.release_id, "deployment": known}


def _basic(record: AuditRecord) -> dict[str, Any]:
    identity, file = record.identity, record.utility.certificate.file
    curator = {
        "data_curator_name": identity.curator,
        "data_curator_type": identity.curator_kind,
    }
    return {
        "name": identity.title,
        "data_curators": [_known(curator)],
        "description": f"{_what(record)} {record.protected.dataset}.",
        "intended_use": identity.purpose,
        "data_product_type": "Synthetic data" if file is None else "Summary statistics",
        "data_product_region": identity.region,
        **({} if _has_another_sector(record) else {"data_product_sector": identity.sector}),
        "publication_date": identity.created.date().isoformat(),
    }


def _has_another_sector(record: AuditRecord) -> bool:
    """Whether a sector is stated that the registry has no word for."""
    return record.identity.sector not in (*_SECTORS, NOT_RECORDED)


def _what(record: AuditRecord) -> str:
    file = record.utility.certificate.file
    if file is None:
        return "Synthetic records of:"
    return f"Bounds on the distance of the records in {file.name}, made elsewhere, from:"


def _variant(record: AuditRecord) -> dict[str, Any]:
    guarantee = record.guarantee
    columns = "; ".join(f"{c.name}: {c.domain}" for c in record.protected.columns)
    return {
        "variant_name": "Pure DP" if guarantee.claim.is_pure else "Approximate DP",
        "data_domain": (
            f"All tables with these columns: {columns}. The guarantee holds among the tables that "
            "pass the rules of the validation that refuse a release."
        ),
        "unprotected_quantities": _sentences(
            f"{fact.fact} ({fact.why})" for fact in guarantee.unprotected
        )
        or "None.",
    }


def _privacy_loss(record: AuditRecord) -> dict[str, Any]:
    guarantee, claim = record.guarantee, record.guarantee.claim
    exact = f"epsilon = {claim.epsilon}, delta = {claim.delta}, exactly"
    rho = f"; rho = {wording.exact(guarantee.rho)}" if guarantee.rho is not None else ""
    parameters = {"epsilon": float(claim.epsilon)}
    if not claim.is_pure:
        parameters["delta"] = float(claim.delta)
    counted = claim.unit == "record" and record.protected.rows != NOT_RECORDED
    return {
        "privacy_unit": claim.unit_in_words,
        "privacy_unit_details": guarantee.formal,
        **({"number_of_privacy_units": record.protected.rows} if counted else {}),
        "privacy_parameters": parameters,
        "privacy_parameters_details": _sentences([f"{exact}{rho}", guarantee.delta_in_context]),
    }


def _model(record: AuditRecord) -> dict[str, Any]:
    identity, trust = record.identity, record.trust
    actors: str = NOT_RECORDED
    if trust.actors != NOT_RECORDED:
        actors = _sentences(f"{one.actor}: {one.sees}" for one in trust.actors)
    return {
        "model_name": "Central",
        "trust_assumptions": trust.model,
        "actors": actors,
        "release_type": _choice("release_type", identity.schedule),
        "release_type_details": identity.schedule,
        "data_source_type": _choice("data_source_type", identity.data_source),
        "access_type": "Non-interactive",
        "access_type_details": identity.access,
    }


def _implementation(record: AuditRecord) -> dict[str, Any]:
    mechanism, certificate = record.mechanism, record.utility.certificate
    summary, software = certificate.summary(), record.provenance.software
    worst = max(certificate.bounds, key=lambda bound: bound.value)
    place = [record.trust.environment, record.trust.network, record.trust.access]
    return {
        "preprocessing_and_hyperparameter_tuning": record.account.tuning,
        "mechanisms": _sentences(
            [
                f"{mechanism.name}, {mechanism.paper}",
                mechanism.noise_source,
                *(f"{one.weakness}: {one.applies}, {one.why}" for one in record.trust.weaknesses),
                *place,
                f"Hallmark {software.hallmark}, commit {software.commit}",
            ]
        ),
        "composition": _sentences([record.guarantee.accountant, record.account.composition]),
        "post_processing": _sentences(step.step for step in record.post_processing.steps)
        or "None.",
        "justification": record.identity.justification,
        "utility": (
            f"{summary.bounds} certified losses hold jointly with confidence "
            f"{wording.percent(summary.confidence)}; the largest bound is "
            f"{wording.percent(summary.largest, up=True)} of {worst.share_of}, for {worst.target}."
        ),
        "additional_information": _sentences(
            [
                "The release folder holds the data, the certificate, the audit report and a "
                "signature; `hallmark verify` checks them without the private data",
                *([f"Sector: {record.identity.sector}"] if _has_another_sector(record) else []),
            ]
        ),
    }


def _choice(key: str, said: str) -> str:
    """The registry's word for what a person stated, whose own word comes first."""
    return _CHOICES[key].get(said.partition(";")[0], NOT_RECORDED)


def _sentences(parts: Iterator[str] | list[str]) -> str:
    told = (part for part in parts if part != NOT_RECORDED)
    return " ".join(f"{part[:1].upper()}{part[1:].rstrip('.')}." for part in told)


def _known(section: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in section.items() if v != NOT_RECORDED or k in _INSISTED}


def _tier(sections: Mapping[str, Mapping[str, Any]]) -> int:
    """3 where everything is known, 2 where what is left out is only asked for by the third tier."""
    unknown = {
        key
        for section in (*sections.values(), *sections["basic"]["data_curators"])
        for key, value in section.items()
        if value == NOT_RECORDED
    }
    if not unknown:
        return 3
    first = {*sections["basic"], "data_curator_name"}
    return 1 if unknown & {*first, *_SECOND} else 2
