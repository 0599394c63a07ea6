"""What the public registry of deployments asks of an entry, as a JSON Schema of our own.

The facts (keys, their order, choices, what must be there) are those of
`deployments-schema.yaml` of opendp/deployments-registry-data, in its newest form known
here: commit 057e5d81 of 2026, in which status and tier stand under `administrative`, curators are
mappings with a type, and composition belongs to `implementation`. Entries handed in earlier (with
status and tier at the top level, curators as texts, a section `accounting`) were rewritten to that
form by the registry; a fresh one in the old form is refused. The registry states no licence for
its schema, so none of its text is kept here.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft7Validator

TEXT = {"type": "string"}
ANY: dict[str, Any] = {}


def _choice(*words: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(words)}


def _closed(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": dict(properties),
        "required": list(required),
    }


_CURATOR = {
    "type": "object",
    "required": ["data_curator_name", "data_curator_type"],
    "properties": {
        "data_curator_name": TEXT,
        "data_curator_type": _choice("Government", "Industry", "Nonprofit"),
    },
}
_BASIC = _closed(
    {
        "name": TEXT,
        "data_curators": {"type": "array", "items": _CURATOR, "minItems": 1},
        "description": TEXT,
        "intended_use": TEXT,
        "data_product_type": _choice(
            "Summary statistics", "Machine learning model", "Dataset", "Synthetic data",
            "Interactive API", "SQL queries",
        ),
        "data_product_region": TEXT,
        "data_product_sector": _choice(
            "Technology", "Healthcare", "Education", "Government", "Energy", "Finance"
        ),
        "publication_date": {"type": "string", "format": "date"},
    },
    "name", "data_curators", "description", "intended_use", "data_product_type",
    "data_product_region", "publication_date",
)  # fmt: skip
_VARIANT = _closed(
    {
        "variant_name": _choice(
            "Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"
        ),
        "data_domain": TEXT,
        "unprotected_quantities": TEXT,
    }
)
_LOSS = _closed(
    {
        "privacy_unit": TEXT,
        "privacy_unit_details": TEXT,
        "number_of_privacy_units": {"type": "integer"},
        "privacy_parameters": _closed(
            {
                "epsilon": {"type": "number"},
                "delta": {"type": ["number", "string"]},
                "rho": {"type": "number"},
            }
        ),
        "privacy_parameters_details": ANY,
    }
)
_MODEL = _closed(
    {
        "model_name": _choice("Local", "Central", "Shuffle", "Federated", "Varies"),
        "model_name_details": TEXT,
        "trust_assumptions": TEXT,
        "actors": ANY,
        "release_type": _choice("One release", "Many releases"),
        "release_type_details": TEXT,
        "data_source_type": _choice("Static", "Dynamic"),
        "data_source_type_details": TEXT,
        "access_type": _choice("Interactive", "Non-interactive"),
        "access_type_details": TEXT,
    }
)
_IMPLEMENTATION = _closed(
    {
        "preprocessing_and_hyperparameter_tuning": TEXT,
        "mechanisms": TEXT,
        "composition": TEXT,
        "post_processing": TEXT,
        "justification": TEXT,
        "utility": ANY,
        "additional_information": ANY,
    }
)
_ADMINISTRATIVE = _closed(
    {
        "evidence_sources": {"type": "object"},
        "status": _choice(
            "Converted", "Draft", "Pending", "Changes Required", "Approved",
            "Approved (Update Requested)", "Approved (Pending)",
        ),
        "registry_authors": {"type": "array", "items": TEXT, "minItems": 1},
        "tier": {"type": "integer", "enum": [1, 2, 3]},
    },
    "status", "registry_authors", "tier",
)  # fmt: skip
SCHEMA = _closed(
    {
        "url_slug": TEXT,
        "deployment": _closed(
            {
                "basic": _BASIC,
                "dp_variant": _VARIANT,
                "privacy_loss": _LOSS,
                "deployment_model": _MODEL,
                "implementation": _IMPLEMENTATION,
                "administrative": _ADMINISTRATIVE,
            },
            "basic", "administrative",
        ),
    },
    "url_slug", "deployment",
)  # fmt: skip


def faults(entry: Mapping[str, Any]) -> list[str]:
    """Where the registry would refuse the entry; empty where it would take it."""
    validator = Draft7Validator(SCHEMA, format_checker=Draft7Validator.FORMAT_CHECKER)
    refused = [
        f"{'.'.join(map(str, error.path))}: {error.message}"
        for error in validator.iter_errors(entry)
    ]
    return refused + list(_misordered(entry, SCHEMA))


def _misordered(entry: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    """Mappings whose keys do not stand in the schema's order, which the registry's tests ask."""
    order = list(schema["properties"])
    known = [key for key in entry if key in order]
    if known != sorted(known, key=order.index):
        yield f"{known}: not in the order of the schema"
    for key in known:
        if isinstance(entry[key], Mapping) and "properties" in schema["properties"][key]:
            yield from _misordered(entry[key], schema["properties"][key])
