"""Environments of peers: pinned, made once, made anew when the pins change."""

import re
import subprocess
from pathlib import Path

import pytest

from benchmarks.comparison import environments
from benchmarks.comparison.methods import PEERS


def test_every_peer_has_a_driver_and_pins() -> None:
    for name in {method.environment for method in PEERS.values()}:
        assert (environments.REQUIREMENTS / f"{name}_driver.py").exists()
        lines = (environments.REQUIREMENTS / f"{name}.txt").read_text().splitlines()
        assert lines
        assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)


def test_drivers_offer_what_the_comparison_asks_of_them() -> None:
    for method in PEERS.values():
        text = (environments.REQUIREMENTS / f"{method.environment}_driver.py").read_text()
        assert f'"{method.driver}": {method.driver}' in text


@pytest.mark.slow
def test_an_environment_is_made_once_and_again_after_its_pins_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "REQUIREMENTS", tmp_path)
    monkeypatch.setattr(environments, "HOME", tmp_path / "made")
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    (tmp_path / "peer.txt").write_text("")
    python = environments.interpreter("peer")
    prefix = [python, "-c", "import sys; print(sys.prefix)"]
    assert subprocess.check_output(prefix, text=True).strip() == str(tmp_path / "made/peer")
    (tmp_path / "made/peer/kept").touch()
    environments.interpreter("peer")
    assert (tmp_path / "made/peer/kept").exists()
    (tmp_path / "peer.txt").write_text("# another pin\n")
    environments.interpreter("peer")
    assert not (tmp_path / "made/peer/kept").exists()
    (tmp_path / "peer.txt").write_text("./there-is-no-such-folder\n")
    with pytest.raises(RuntimeError, match=r"requirements of peer \(peer\.txt\)"):
        environments.interpreter("peer")
