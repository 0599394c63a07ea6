"""Server mode on one machine, before it has started anything."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from tests.flows.services import free_port

ROOT = Path(__file__).parents[2]


def test_a_port_in_use_is_named_before_anything_is_started(tmp_path: Path):
    port = free_port(row=3)
    command = [sys.executable, "-m", "deploy.local", "--port", str(port)]
    environment = os.environ | {"HALLMARK_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    with socket.create_server(("127.0.0.1", port + 1)):
        ended = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
    assert ended.returncode == 1
    assert ended.stderr == f"error: port in use: {port + 1} (desk); choose others with --port\n"
    assert not (tmp_path / "home" / "postgres").exists()
