"""What people state about a release and its place, complete: nothing is left that they must say."""

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ABOUT: dict[str, Any] = {
    "intended_use": "teaching, and the development of analyses",
    "supported_uses": "means, shares, and tables of two columns",
    "unsupported_uses": "statements about single persons; tables of many columns",
    "schedule": "one-shot",
    "data_source": "static",
    "legal_basis": "Statistics Act, section 12",
    "clearance": "DRB-2026-017",
    "snapshot": "2026-01-31",
    "collection": "a survey by post, edited by the field office, which saw the answers raw",
    "tuning": {"on": "public", "details": "cells and steps, on an older public table"},
}

PROFILE: dict[str, Any] = {
    "hallmark_profile": 1,
    "agency": {
        "name": "Statistical Office",
        "kind": "Government",
        "region": "Utopia",
        "sector": "Government",
        "contact": "privacy@statistics.example",
        "corrections": "write to the contact; answers within a month",
        "registry": "registry.statistics.example",
        "environment": {
            "host": "one server in the office's own computing centre",
            "network": "no route to the internet",
            "access": "two operators, by card and password",
        },
        "key_custody": "a hardware token in the safe of the methods unit",
        "actors": [
            {"actor": "operator", "sees": "the private table, as the act allows"},
            {"actor": "data user", "sees": "the release folder"},
        ],
        "empirical_audit": "membership attacks on synthetic data; none beat the claim",
    },
}


def write_profile(folder: Path, **changes: Any) -> Path:
    """Write the profile into `folder`; `changes` replaces keys of the agency."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "profile.yaml"
    with path.open("w") as handle:
        YAML().dump(PROFILE | {"agency": PROFILE["agency"] | changes}, handle)
    return path
