"""People who decide in tests: their keys in files, and a profile that lists them."""

import base64
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from ruamel.yaml import YAML

ROLES = {"Ada": ["methodologist"], "Bo": ["reviewer"], "Cy": ["reviewer"], "Ola": ["override"]}
PASSPHRASE = "correct horse"
"""Of Cy's key; the others have none."""


def introduce(folder: Path, home: Path, **profile: Any) -> dict[str, Path]:
    """Make everybody's key in `folder` and list them in the home's profile; paths of the keys."""
    folder.mkdir(parents=True, exist_ok=True)
    home.mkdir(parents=True, exist_ok=True)
    keys, approvers = {}, []
    for name, roles in ROLES.items():
        key = Ed25519PrivateKey.generate()
        lock = BestAvailableEncryption(PASSPHRASE.encode()) if name == "Cy" else NoEncryption()
        keys[name] = folder / f"{name}.pem"
        keys[name].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock))
        public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
        approvers.append({"name": name, "roles": roles, "key": public})
    with (home / "profile.yaml").open("w") as handle:
        YAML().dump({"approvers": approvers, **profile}, handle)
    return keys
