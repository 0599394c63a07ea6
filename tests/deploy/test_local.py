"""Server mode on one machine: before it has started anything, and how it keeps it running."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from deploy.local import __main__ as local
from deploy.local import processes as module
from deploy.local.processes import PAUSES, STEADY, Pauses
from deploy.local.services import Service
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


def test_a_start_says_what_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("HALLMARK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HALLMARK_DATABASE", f"postgresql://localhost:{free_port()}/none")
    monkeypatch.setattr(sys, "argv", ["deploy.local", "--port", str(free_port(row=3))])
    assert local.main() == 1
    assert capsys.readouterr().out.startswith("Starting PostgreSQL (")
    monkeypatch.setattr(local, "commands", lambda *_: [["true"], ["true"]])
    local._register({"HALLMARK_RELEASES": "releases"}, [], None)
    assert capsys.readouterr().out == "".join(
        f"Registering what can be run, {number} of 2 (some ten seconds) ...\n" for number in (1, 2)
    )


def test_processes_that_end_are_started_again_without_waiting_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    clock = 0.0

    def sleep(seconds: float) -> None:
        """Let the clock run, and all processes end that were started."""
        nonlocal clock
        clock += seconds
        for process in processes._running.values():
            process.wait(60)
        if clock > sum(PAUSES[:2]) + 2:  # one look per second tells, and one restarts
            raise KeyboardInterrupt

    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=sleep, monotonic=lambda: clock))
    processes = module.Processes(tmp_path, {})
    for name in ("one", "other"):
        processes.start(Service(name, ("sh", "-c", f"echo started >> {tmp_path / name}; exit 3")))
    with pytest.raises(KeyboardInterrupt):
        processes.watch()
    told = capsys.readouterr().out
    for name in ("one", "other"):
        assert (tmp_path / name).read_text().split() == ["started"] * 3
        for pause in PAUSES[:2]:
            assert f"{name} ended (3); restarting in {pause} s" in told


def test_pauses_grow_with_each_end_up_to_the_longest():
    pauses = Pauses()
    assert [pauses.after(3) for _ in range(7)] == [*PAUSES, PAUSES[-1], PAUSES[-1]]


def test_pauses_begin_anew_after_a_steady_run():
    pauses = Pauses()
    assert [pauses.after(3) for _ in range(6)][-1] == PAUSES[-1]
    assert [pauses.after(up) for up in (STEADY - 1, STEADY, 3)] == [PAUSES[-1], *PAUSES[:2]]


def test_only_its_owner_reads_what_a_process_says(tmp_path: Path):
    processes = module.Processes(tmp_path, {})
    (tmp_path / "logs" / "old.log").touch(0o644)
    for name in ("old", "new"):
        processes.start(Service(name, ("echo", "said")))
        processes._running[name].wait(60)
        log = tmp_path / "logs" / f"{name}.log"
        assert (log.read_text(), log.stat().st_mode & 0o777) == ("said\n", 0o600)
