"""Register what can be run with the Prefect server at PREFECT_API_URL; run again after changes.

python -m deploy.registration [--calendar CALENDAR] [--spec SPEC ...] [--out FOLDER]
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_PREFECT_FILE = Path(__file__).parents[1] / "prefect.yaml"
JOB_TEMPLATE = Path(__file__).with_name("work_pool.json")
"""A job template without variables. With Prefect's default template, anybody who starts a run could
give it another command, or an environment with their own ledger. It sets what runs log to the
server (`hallmark.flows.quiet.SERVER_LOG`), also where the worker's environment asks for more."""


def main(arguments: Sequence[str]) -> int:
    """Run the commands one after the other; returns the first nonzero exit status, else 0."""
    parser = argparse.ArgumentParser(prog="python -m deploy.registration", description=__doc__)
    parser.add_argument("--calendar", help="recurring releases")
    parser.add_argument("--spec", nargs="*", default=[], help="specs to offer as forms")
    parser.add_argument("--out", help="folder of release folders; default: HALLMARK_RELEASES")
    asked = parser.parse_args(arguments)
    for command in commands(asked.calendar, asked.spec, asked.out):
        done = subprocess.run(command)
        if done.returncode:
            return done.returncode
    return 0


def commands(calendar: str | None, specs: Sequence[str], out: str | None) -> list[list[str]]:
    """Commands that register the work pool, the deployments of prefect.yaml, and the agency's."""
    prefect = [sys.executable, "-m", "prefect", "--no-prompt"]
    options = [*(f"--spec={spec}" for spec in specs)]
    options += [f"--calendar={calendar}"] if calendar else []
    options += [f"--out={out}"] if out else []
    template = ["--overwrite", "--base-job-template", str(JOB_TEMPLATE)]
    return [
        [*prefect, "work-pool", "create", "hallmark", "--type", "process", *template],
        [*prefect, "deploy", "--all", "--prefect-file", str(_PREFECT_FILE)],
        [sys.executable, "-m", "hallmark", "deploy", *options],
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
