"""One run of one method: its task in a folder of its own, its process, its score, its result."""

import fcntl
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.comparison.environments import HOME, REQUIREMENTS, interpreter
from benchmarks.comparison.execution import DONE, FAILED, execute
from benchmarks.comparison.journal import Key, Result, run_key
from benchmarks.comparison.methods import Method
from benchmarks.comparison.relations import converted_epsilon
from benchmarks.comparison.scores import score
from benchmarks.data import ROOT, Table
from hallmark.mechanisms.arrays import Codes64


@dataclass(frozen=True, kw_only=True)
class Run:
    """What is to be run; the budget holds at `relation`, as decimal text."""

    data: str
    method: Method
    parameters: Mapping[str, Any]
    relation: str
    epsilon: str
    delta: str
    seed: int

    @property
    def terms(self) -> dict[str, Any]:
        """As its result has them."""
        return vars(self) | {"method": self.method.name, "parameters": dict(self.parameters)}

    @property
    def key(self) -> Key:
        """As of its result."""
        return run_key(self.terms)

    @property
    def converted(self) -> bool:
        """Whether the method protects another relation as it is."""
        return self.relation not in self.method.relations

    @property
    def asked_epsilon(self) -> str:
        """What the method is given, so that the budget holds at `relation`."""
        if not self.converted:
            return self.epsilon
        if self.method.noise_share is None:
            raise ValueError(f"{self.method.name} cannot be converted to {self.relation}")
        asked = converted_epsilon(float(self.epsilon), float(self.delta), self.method.noise_share)
        return repr(asked)

    def __str__(self) -> str:
        return (
            f"{self.method.name} on {self.data}, epsilon {self.epsilon}, {self.relation}, "
            f"seed {self.seed}"
        )


def carry_out(run: Run, table: Table, *, seconds: float, memory_mib: float) -> Result:
    """Run it and score what it made; never raises for a method that fails, only for ours to fix.

    Raises:
        RuntimeError: the environment of a peer could not be made.
    """
    with tempfile.TemporaryDirectory(prefix="hallmark-benchmark-") as name:
        folder = Path(name)
        np.save(folder / "train.npy", table.train)
        (folder / "domain.json").write_text(json.dumps(table.cells))
        with _turn(run.method):
            outcome = execute(
                _command(run, folder),
                folder=ROOT,
                log=folder / "log",
                seconds=seconds,
                memory_mib=memory_mib,
            )
        status, detail = outcome.status, outcome.detail
        metrics: dict[str, float] = {}
        facts: dict[str, Any] = {}
        rows = None
        if status == DONE:
            try:
                codes = _codes(folder / "out.npy", table)
                rows, metrics = len(codes), score(table, codes)
                facts = json.loads((folder / "out.json").read_text())
            except (OSError, ValueError) as error:
                status, detail = FAILED, f"no synthetic table to score: {error}"[:300]
    if run.converted:
        facts["asked_epsilon"] = float(run.asked_epsilon)
    return Result(
        **run.terms,
        converted=run.converted,
        status=status,
        metrics=metrics,
        wall_s=outcome.wall_s,
        cpu_s=outcome.cpu_s,
        peak_mib=outcome.peak_mib,
        seconds_cap=seconds,
        memory_cap_mib=memory_mib,
        total=run.method.total_at(run.relation),
        rows=rows,
        facts=facts,
        detail=detail,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=commit(),
    )


def commit() -> str:
    """The state of this repository, with `-dirty` where it has changes that are not committed."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude", "*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return described.stdout.strip() or "unknown"


def _command(run: Run, folder: Path) -> list[str | Path]:
    task: list[str | Path] = [
        *("--train", folder / "train.npy", "--domain", folder / "domain.json"),
        *("--epsilon", run.asked_epsilon, "--delta", run.delta, "--seed", str(run.seed)),
        *("--out", folder / "out.npy"),
    ]
    environment = run.method.environment
    if environment is None:
        parameters = json.dumps(dict(run.parameters))
        ours = [sys.executable, "-m", "benchmarks.comparison.ours", run.method.driver]
        return [*ours, "--parameters", parameters, "--relation", run.relation, *task]
    driver = REQUIREMENTS / f"{environment}_driver.py"
    return [interpreter(environment), driver, run.method.driver, *task]


def _codes(path: Path, table: Table) -> Codes64:
    codes: Codes64 = np.load(path)
    if codes.ndim != 2 or codes.shape[1] != len(table.cells):
        raise ValueError(f"{codes.shape} is no table of {len(table.cells)} columns")
    return codes


@contextmanager
def _turn(method: Method) -> Iterator[None]:
    """One peer at a time on this machine, whoever started it; ours need not wait for a slow one."""
    if method.environment is None:
        yield
        return
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
