"""Which libraries a command imports: short answers wait for none that they have no use for."""

import json
import os
import subprocess
import sys

import pytest

from tests import example
from tests.flows.services import SECONDS

SLOW = (
    "dp_accounting", "distributed", "great_expectations", "matplotlib", "numba", "ortools",
    "pandas", "prefect", "pyarrow", "scipy.optimize", "scipy.stats", "sklearn", "statsmodels",
    "torch",
)  # fmt: skip
"""Libraries that take a tenth of a second or more to import."""
UNTOUCHED = [
    "--help",
    "release --help",
    "ledger list",
    "ledger open people --epsilon 1 --reason tests",
    "ledger verify nobody",
    "approver-key --plain key.pem",
    "report nowhere",
    "plan nowhere.yaml",
    "query nowhere count",
]

_RUN = """
import json, sys
from hallmark.flows.cli.app import main
for line in sys.stdin:
    sys.argv = ["hallmark", *json.loads(line)]
    try:
        main()
    except SystemExit:
        pass
    print("imported", *sys.modules)
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """By command, the slow libraries that are in memory when it has ended, and all before it."""
    folder = tmp_path_factory.mktemp("imports")
    example.write(folder, 5, **example.only(folder, "age"))
    commands = [*UNTOUCHED, "waiting", "query . count", "verify .", "plan spec.yaml"]
    settings = {"HALLMARK_HOME": str(folder / "home"), "PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "-c", _RUN],
        input="".join(f"{json.dumps(command.split())}\n" for command in commands),
        env=os.environ | settings,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert "Traceback" not in done.stderr, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("imported ")]
    found = [set(SLOW) & set(line.split()) for line in lines]
    return dict(zip(commands, found, strict=True))


@pytest.mark.parametrize("command", UNTOUCHED)
def test_what_touches_no_data_imports_no_library_for_it(
    command: str, imported: dict[str, set[str]]
) -> None:
    assert imported[command] == set()


def test_what_waits_is_told_without_a_stage_or_an_orchestrator(
    imported: dict[str, set[str]],
) -> None:
    assert imported["waiting"] <= {"pandas", "pyarrow"}  # which the profile's schema imports


def test_a_question_imports_what_reads_tables_and_no_more(imported: dict[str, set[str]]) -> None:
    assert imported["query . count"] <= {"pandas", "pyarrow"}


def test_verifying_imports_what_reads_tables_and_no_more(imported: dict[str, set[str]]) -> None:
    assert imported["verify ."] <= {"numba", "pandas", "pyarrow"}


def test_a_plan_imports_no_orchestrator(imported: dict[str, set[str]]) -> None:
    unused = {"distributed", "great_expectations", "matplotlib", "prefect", "sklearn", "torch"}
    assert not imported["plan spec.yaml"] & unused
