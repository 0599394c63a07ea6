"""Processes under caps: how they end and what is measured of them."""

import os
import sys
import time
from pathlib import Path

import pytest

from benchmarks.comparison.execution import DONE, FAILED, TIMED_OUT, TOO_LARGE, Outcome, execute


def run(code: str, folder: Path, *, seconds: float = 60, memory_mib: float = 2048) -> Outcome:
    return execute(
        [sys.executable, "-c", code],
        folder=folder,
        log=folder / "log",
        seconds=seconds,
        memory_mib=memory_mib,
    )


def test_a_process_that_ends_well_is_done(tmp_path: Path) -> None:
    outcome = run("import os; open('here', 'w').write(os.environ['OMP_NUM_THREADS'])", tmp_path)
    assert (outcome.status, outcome.detail) == (DONE, "")
    assert (tmp_path / "here").read_text() == "1"


def test_processor_time_of_children_counts(tmp_path: Path) -> None:
    burn = "import time\nwhile time.process_time() < 0.8: pass"
    outcome = run(
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])", tmp_path
    )
    assert outcome.cpu_s >= 0.8
    assert outcome.wall_s >= 0.5


def test_sleep_is_no_processor_time(tmp_path: Path) -> None:
    outcome = run("import time; time.sleep(1)", tmp_path)
    assert outcome.wall_s >= 1
    assert outcome.cpu_s < 0.8


def test_peak_memory_is_the_high_water_mark(tmp_path: Path) -> None:
    outcome = run(
        "import time\nheld = bytearray(200 << 20)\ntime.sleep(0.5)\ndel held\ntime.sleep(0.5)",
        tmp_path,
    )
    assert 200 < outcome.peak_mib < 300


@pytest.mark.parametrize(
    "busy",
    [
        pytest.param("while True: pass", id="computing"),
        pytest.param("time.sleep(60)", id="waiting", marks=pytest.mark.slow),
    ],
)
def test_a_process_that_passes_the_time_cap_is_killed_with_its_children(
    busy: str, tmp_path: Path
) -> None:
    child = f"import os, time; open('pid', 'w').write(str(os.getpid()))\n{busy}"
    code = (
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        "time.sleep(60)"
    )
    start = time.perf_counter()
    outcome = run(code, tmp_path, seconds=2)
    assert outcome.status == TIMED_OUT
    assert (outcome.cpu_s > 0.3) == (busy == "while True: pass")
    assert time.perf_counter() - start < 30
    pid = int((tmp_path / "pid").read_text())
    for _ in range(50):
        if not _alive(pid):
            break
        time.sleep(0.1)
    assert not _alive(pid)


def test_a_process_that_passes_the_memory_cap_is_killed(tmp_path: Path) -> None:
    code = "import time\nprint('round 7', flush=True)\nheld = bytearray(300 << 20)\ntime.sleep(60)"
    outcome = run(code, tmp_path, memory_mib=150)
    assert outcome.status == TOO_LARGE
    assert outcome.detail == "round 7"
    assert outcome.wall_s < 30


def test_a_process_that_fails_says_why(tmp_path: Path) -> None:
    outcome = run("raise ValueError('epsilon is missing')", tmp_path)
    assert (outcome.status, outcome.detail) == (FAILED, "ValueError: epsilon is missing")


def test_a_command_that_is_not_there_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        execute(["/nowhere/python"], folder=tmp_path, log=tmp_path / "log", seconds=1, memory_mib=1)


def _alive(pid: int) -> bool:
    """Whether the process runs; one that was killed and not yet waited for does not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"
