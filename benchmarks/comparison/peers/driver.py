"""What the drivers of all peers do alike: read the task, run one method, write coded records.

A driver runs with the interpreter of its peer's own environment, and gets the training records
alone: the held-out ones are not on its command line. It writes the synthetic codes, and beside
them, in a JSON file, what a result must tell of how they came about.
"""

import argparse
import json
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Task:
    """One run: records, their public domain, and the budget.

    Attributes:
        train: codes of shape (n, columns).
        cells: number of cells by column, in the order of the codes' columns.
        epsilon, delta: the budget, to be read at the peer's own neighbouring relation.
        seed: of everything that the peer lets be seeded.
    """

    train: np.ndarray
    cells: dict[str, int]
    epsilon: float
    delta: float
    seed: int


Method = Callable[[Task], np.ndarray]
"""Synthetic codes, shape (rows, columns), for a task."""


def main(methods: Mapping[str, Method], packages: tuple[str, ...]) -> None:
    """Run the method that the command line names; `packages` are those whose versions matter."""
    parser = argparse.ArgumentParser()
    parser.add_argument("method", choices=sorted(methods))
    parser.add_argument("--train", type=Path, required=True, help="codes, .npy")
    parser.add_argument("--domain", type=Path, required=True, help="cells by column, .json")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True, help="where the codes go, .npy")
    arguments = parser.parse_args()
    task = Task(
        train=np.load(arguments.train),
        cells=json.loads(arguments.domain.read_text()),
        epsilon=arguments.epsilon,
        delta=arguments.delta,
        seed=arguments.seed,
    )
    np.random.seed(task.seed)  # noqa: NPY002  # peers draw from the global generator
    codes = np.asarray(methods[arguments.method](task)).astype(np.int64)
    write(arguments.out, codes, {name: version(name) for name in packages})


def write(out: Path, codes: np.ndarray, versions: dict[str, str], **facts: Any) -> None:
    """The codes, and beside them versions and whatever else the result is to tell."""
    np.save(out, codes)
    facts["versions"] = {"python": platform.python_version(), **versions}
    out.with_suffix(".json").write_text(json.dumps(facts))
