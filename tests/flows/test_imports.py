"""Which libraries a command imports: short answers wait for none that they have no use for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import example

SLOW = (
    "dp_accounting", "distributed", "great_expectations", "matplotlib", "numba", "ortools",
    "pandas", "prefect", "pyarrow", "scipy.optimize", "scipy.stats", "sklearn", "statsmodels",
    "torch",
)  # fmt: skip
"""Libraries that take a tenth of a second or more to import."""

_RUN = """
import sys
from hallmark.flows.cli.app import main
try:
    main()
finally:
    print("imported", *sys.modules)
"""


def imported(*arguments: str | Path) -> set[str]:
    """The slow libraries that are in memory when the command has ended."""
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return set(SLOW) & set(done.stdout.rpartition("imported ")[2].split())


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALLMARK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "release --help",
        "ledger list",
        "ledger open people --epsilon 1 --reason tests",
        "ledger verify nobody",
        "approver-key --plain key.pem",
        "report nowhere",
    ],
)
def test_what_touches_no_data_imports_no_library_for_it(command: str, home: Path) -> None:
    arguments = command.replace("key.pem", str(home / "key.pem")).split()
    assert imported(*arguments) == set()


def test_what_waits_is_told_without_a_stage_or_an_orchestrator(home: Path) -> None:
    assert imported("waiting") <= {"pandas", "pyarrow"}  # which the profile's schema imports


def test_verifying_imports_what_reads_tables_and_no_more(home: Path) -> None:
    assert imported("verify", home) <= {"numba", "pandas", "pyarrow"}


def test_a_plan_imports_no_orchestrator(home: Path) -> None:
    spec = example.write(
        home,
        5,
        mechanism={"name": "pmm"},
        privacy={"neighbours": "replace_one", "unit": "record", "epsilon": "1"},
        columns={"age": example.spec(home)["columns"]["age"]},
        constraints=[],
        data={**example.spec(home)["data"], "ignore": ["income", "region", "employed", "since"]},
    )
    unused = {"distributed", "great_expectations", "matplotlib", "prefect", "sklearn", "torch"}
    assert not imported("plan", spec) & unused
