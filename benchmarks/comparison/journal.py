"""Results of runs: one JSON line each, appended to a file a method and never rewritten.

Where a run was repeated, its last line counts.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.comparison.execution import DONE, TIMED_OUT, TOO_LARGE

FOLDER = Path(__file__).parent / "results"
REPORTED = "reported"
"""Status of numbers that were measured before this comparison; they may lack some."""

TERMS = ("data", "method", "parameters", "relation", "epsilon", "delta", "seed")
"""Of a run: two that agree on these are the same."""

Key = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of one run.

    Attributes:
        method: its name; `parameters` are those that differ from its defaults.
        relation: neighbouring relation that the budget holds at; `converted` where the method
            protects another one and was given less (`relations`).
        metrics: by name; empty where there is no synthetic table.
        wall_s, cpu_s, peak_mib: of the whole process, imports and compilation included.
        seconds_cap, memory_cap_mib: what it was allowed.
        total: whether the number of records was used as public.
        rows: of the synthetic table.
        facts: what else its driver tells: versions, seconds by stage.
        detail: why there is no synthetic table, or where reported numbers come from.
        date, commit: when, and of which state of this repository.
    """

    data: str
    method: str
    parameters: Mapping[str, Any]
    relation: str
    converted: bool
    epsilon: str
    delta: str
    seed: int
    status: str
    metrics: Mapping[str, float] = field(default_factory=dict)
    wall_s: float | None = None
    cpu_s: float | None = None
    peak_mib: float | None = None
    seconds_cap: float | None = None
    memory_cap_mib: float | None = None
    total: str
    rows: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    detail: str = ""
    date: str
    commit: str

    @property
    def key(self) -> Key:
        """What makes two runs the same."""
        return run_key(vars(self))

    @property
    def label(self) -> str:
        """The method with its parameters, as a table names it."""
        if not self.parameters:
            return self.method
        return f"{self.method} {json.dumps(dict(self.parameters), sort_keys=True)}"


def run_key(terms: Mapping[str, Any]) -> Key:
    """The terms of a run as text."""
    return tuple(json.dumps(terms[name], sort_keys=True) for name in TERMS)


def append(result: Result, folder: Path = FOLDER) -> None:
    """Add one line; a single write, so that two runners may share a file."""
    folder.mkdir(parents=True, exist_ok=True)
    line = json.dumps(asdict(result), sort_keys=True) + "\n"
    with (folder / f"{result.method}.jsonl").open("ab", buffering=0) as file:
        file.write(line.encode())


def read(folder: Path = FOLDER) -> dict[Key, Result]:
    """The last result of every run.

    Raises:
        ValueError: a line is not a result; the message says which.
    """
    found: dict[Key, Result] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            try:
                result = Result(**json.loads(line))
            except (TypeError, ValueError) as error:
                raise ValueError(f"{path.name}, line {number}: not a result ({error})") from error
            found[result.key] = result
    return found


def settled(result: Result | None, *, seconds: float, memory_mib: float) -> bool:
    """Whether there is no need to run again: it is done, or passed a cap at least as high."""
    if result is None:
        return False
    if result.status == TIMED_OUT:
        return (result.seconds_cap or 0) >= seconds
    if result.status == TOO_LARGE:
        return (result.memory_cap_mib or 0) >= memory_mib
    return result.status == DONE


def commits(found: Iterable[Result]) -> list[str]:
    """The states of the repository that results come from."""
    return sorted({result.commit for result in found})
