"""People in tests: their keys in files, a profile that lists them, and how the desk knows them."""

import base64
from pathlib import Path
from typing import Any

import pyotp
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from ruamel.yaml import YAML
from starlette.testclient import TestClient

from hallmark.tasks.people import directory, sessions
from hallmark.tasks.people.actions import Actor
from hallmark.tasks.people.rights import Role

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


TEST = Actor("the test", "command line")
PASSWORD = "correct horse battery"


def as_somebody(*roles: Role, login: str = "tess") -> dict[str, str]:
    """What a program sends that acts for somebody with these roles, who is added if missing."""
    who = directory.person(login) or directory.add(login, f"The {login}", roles, by=TEST)
    token = sessions.make_token(who, "tests", who.roles, 1, by=TEST)
    return {"Authorization": f"Bearer {token}"}


def join(login: str, *roles: Role) -> str:
    """Add somebody who accepts their invitation; returns the seed of their codes."""
    directory.add(login, f"The {login}", roles, by=TEST)
    secret = directory.invite(login, by=TEST)
    offered = directory.invitation(secret)
    assert offered is not None
    directory.accept(secret, PASSWORD, pyotp.TOTP(offered.seed).now())
    return offered.seed


def log_in(client: TestClient, login: str) -> str:
    """Let a browser have a session of somebody; returns what its forms carry."""
    who = directory.person(login)
    assert who is not None
    secret = sessions.begin(who, TEST)
    client.cookies.set("hallmark-desk", secret)
    client.headers["Origin"] = str(client.base_url)
    running = sessions.session(secret)
    assert running is not None
    return running.csrf
