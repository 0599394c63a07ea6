"""Whole releases that are killed, crowded or cut off: one draw, one charge, and a way to go on.

Kills hit real `hallmark` processes with all their children. Where a moment is too short to be hit
by watching, the test holds up something the run needs then (the ledger's lock, the signing key), so
that the kill falls into that moment on a slow machine and on a fast one.
"""

import errno
import os
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from mechanisms.privacy.events import ExponentialMechanism
from mechanisms.privacy.ledger import Ledger
from tests import example
from tests.flows.house import ACCOUNT, RELEASE, House, Run
from tests.flows.story import disagreements, violations

USAGE, DATA, BUDGET = 2, 3, 4  # exit statuses
# Some seconds of generating, so that there is time to be killed in.
LENGTHY = {"name": "privpgd", "epochs": 60, "particles": 3000}


@pytest.fixture
def settings(prefect_server: str) -> dict[str, str]:
    return {"PREFECT_API_URL": prefect_server}


@pytest.fixture(params=["sqlite", "postgres"])
def house(request: pytest.FixtureRequest, tmp_path: Path, settings: dict[str, str]) -> House:
    """A house with each kind of ledger."""
    ledger = request.getfixturevalue("postgres") if request.param == "postgres" else None
    return House.build(tmp_path, ledger=ledger, settings=settings, mechanism=LENGTHY)


@pytest.fixture
def sqlite_house(tmp_path: Path, settings: dict[str, str]) -> House:
    return House.build(tmp_path, settings=settings, mechanism=LENGTHY)


def progress_artifacts(api: str) -> int:
    """How often a release began to generate, as the Prefect server knows."""
    key = {"artifacts": {"key": {"any_": ["generate-progress"]}}}
    count: int = httpx.post(f"{api}/artifacts/count", json=key).json()
    return count


class Key:
    """A signing key in a named pipe: who reads it waits until the test hands it over."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path, 0o600)
        self.path = path
        self._pem = Ed25519PrivateKey.generate().private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )

    def awaited(self) -> bool:
        """Whether a process waits for the key right now."""
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            assert error.errno == errno.ENXIO
            return False
        return True


def test_a_release_killed_at_every_stage_in_turn_is_drawn_and_charged_once(
    house: House, prefect_server: str
) -> None:
    run = house.start()
    run.wait_until(lambda: house.state() == "reserved")
    run.kill()
    assert house.outcomes() == []

    status, said = house.release()
    assert (status, house.state()) == (USAGE, "reserved")
    assert "--resume" in said

    run = house.start("--resume")
    run.wait_until(house.coded)
    with house.ledger_held():  # noise is drawn, and cannot become durable
        run.wait_until(lambda: house.waits_for_ledger(run))
        run.kill()
    assert (house.state(), house.outcomes()) == ("reserved", [])

    run = house.start("--resume")
    run.wait_until(house.outcomes)
    run.kill()
    drawn = house.outcomes()
    assert violations(house) == []
    status, said = house.release()
    assert (status, "--resume" in said) == (USAGE, True)

    begun = progress_artifacts(prefect_server)
    run = house.start("--resume")
    run.wait_until(lambda: progress_artifacts(prefect_server) > begun)
    run.kill()
    assert not (house.workspace / "synthetic.npy").exists()

    assert house.release("--resume")[0] == 0
    assert house.outcomes() == drawn
    assert violations(house) == []
    assert disagreements(house) == []

    status, said = house.release()  # once more, though it is published
    assert (status, "published before" in said) == (0, True)
    assert house.outcomes() == drawn
    assert violations(house) == []
