"""One command in a process of its own, under caps, with what it cost.

Its CPU seconds are the kernel's count for the process and all its children. Its peak memory is the
kernel's high-water mark of the process (looked at five times a second, so the last moment may be
missed); both caps are on the process and its children together. The one on time is on processor
time, since the machine is shared; what waits for ever is stopped after four times as long.
"""

import os
import resource
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

DONE = "done"
TIMED_OUT = "did not finish"
TOO_LARGE = "out of memory"
FAILED = "failed"

_INTERVAL = 0.2  # seconds
_WAITING = 4  # times the cap on processor time, by the clock
_TICKS = os.sysconf("SC_CLK_TCK")  # of the kernel's count, a second
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_COMPILATION_CACHE": "false",
    "CUDA_VISIBLE_DEVICES": "",
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a command ended.

    Attributes:
        status: one of the four above.
        wall_s, cpu_s: seconds from start to end, and of processor time.
        peak_mib: high-water mark of resident memory, MiB.
        detail: the last line that it wrote to its error output; empty where it is done.
    """

    status: str
    wall_s: float
    cpu_s: float
    peak_mib: float
    detail: str


def execute(
    command: Sequence[str | Path], *, folder: Path, log: Path, seconds: float, memory_mib: float
) -> Outcome:
    """Run a command on one thread; it and its children are killed when they pass a cap.

    Args:
        folder: working directory.
        log: where its output goes.
        seconds: of processor time.
    """
    start, peak, spent, stopped = time.perf_counter(), 0.0, 0.0, None
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **_ONE_THREAD},
            start_new_session=True,  # so that its children can be killed with it
        )
        try:
            while not (ended := _ended(process.pid)):
                held, high, spent = _use(process.pid)
                peak = max(peak, high)
                if held > memory_mib:
                    stopped = TOO_LARGE
                elif max(spent, (time.perf_counter() - start) / _WAITING) > seconds:
                    stopped = TIMED_OUT
                if stopped:
                    os.killpg(process.pid, signal.SIGKILL)
                time.sleep(_INTERVAL)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            os.waitpid(process.pid, 0)
            raise
    code, usage = ended
    process.returncode = code  # it was waited for here
    status = stopped or (FAILED if code else DONE)
    return Outcome(
        status=status,
        wall_s=round(time.perf_counter() - start, 2),
        # Children that were killed are not in the kernel's count of the process.
        cpu_s=round(max(spent, usage.ru_utime + usage.ru_stime), 2),
        peak_mib=round(peak or usage.ru_maxrss / 1024, 1),
        detail="" if status == DONE else _last_line(log),
    )


def _ended(pid: int) -> tuple[int, resource.struct_rusage] | None:
    """Exit code and usage of the process and its children, if it has ended."""
    found, status, usage = os.wait4(pid, os.WNOHANG)
    return (os.waitstatus_to_exitcode(status), usage) if found else None


def _use(leader: int) -> tuple[float, float, float]:
    """What the processes of a session hold together, the leader's high-water mark, both in MiB, and
    their processor time with that of children that have ended, seconds."""
    held = high = spent = 0.0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            pid = int(status.parent.name)
            if pid != leader and os.getsid(pid) != leader:
                continue
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
            after_name = status.with_name("stat").read_text().rpartition(")")[2].split()
        except (OSError, ValueError):  # it has just ended
            continue
        held += _mib(lines, "VmRSS")
        spent += sum(map(int, after_name[11:15])) / _TICKS  # utime, stime, cutime, cstime
        if pid == leader:
            high = _mib(lines, "VmHWM")
    return held, high, spent


def _mib(lines: Mapping[str, str], field: str) -> float:
    return int(lines.get(field, "0 kB").split()[0]) / 1024


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else ""
