"""What yields the processor, where Linux weighs sessions against each other and elsewhere."""

import os
import subprocess
import sys
from pathlib import Path

from hallmark.tasks.installation.priority import NICE

SEVERAL = """
import os, subprocess
from hallmark.tasks.installation.priority import yield_to_others
if os.geteuid() == 0:
    os.setresuid(65534, 65534, 65534)  # an ordinary user, whom Linux makes wait
pipe = {"stdin": subprocess.PIPE, "start_new_session": True}
for one in [subprocess.Popen(["cat"], **pipe) for _ in range(3)]:
    yield_to_others(one.pid)
    session = f"/proc/{one.pid}/autogroup"
    weight = open(session).read().split()[-1] if os.path.exists(session) else "none"
    print(os.getpriority(os.PRIO_PROCESS, one.pid), weight)
    one.communicate()
"""
"""Starts processes one after the other and prints what each is given: its own and its session's."""

ONE = """
import os
from hallmark.tasks.installation.priority import run_yields
run_yields()
print(os.getpriority(os.PRIO_PROCESS, 0) - int(os.environ["BEFORE"]))
"""
SESSIONS = Path("/proc/self/autogroup").exists()
BEFORE = os.getpriority(os.PRIO_PROCESS, 0)


def said(program: str, **settings: str) -> list[str]:
    """What a program says that has a session of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"BEFORE": str(BEFORE)} | settings,
        capture_output=True,
        text=True,
        start_new_session=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_process_yields_also_of_several_that_are_started_at_once():
    expected = f"{max(BEFORE, NICE)} {NICE if SESSIONS else 'none'}"
    assert said(SEVERAL) == [expected] * 3


def test_a_run_of_the_orchestrator_yields_and_a_command_does_not():
    assert said(ONE) == ["0"]
    assert said(ONE, PREFECT__FLOW_RUN_ID="a run") == [str(max(BEFORE, NICE) - BEFORE)]
