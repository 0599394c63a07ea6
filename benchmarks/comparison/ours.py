"""The driver of the house's own mechanisms: plan, select, measure with simulated noise, generate.

    python -m benchmarks.comparison.ours privpgd --parameters '{"generator": {"sweeps": 50}}' \\
        --relation replace_one --train codes.npy --domain cells.json \\
        --epsilon 1 --delta 1e-5 --seed 1 --out out.npy

What the curator was asked is charged to the budget at the end, and a run that overspent fails.
"""

import argparse
import json
import time
from fractions import Fraction
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.comparison.peers.driver import write
from hallmark.mechanisms.arrays import Codes64
from hallmark.mechanisms.contract import SyntheticMeasure
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.mechanisms.request import Request


def release(
    name: str,
    train: Codes64,
    cells: dict[str, int],
    *,
    budget: Budget,
    adjacency: Adjacency,
    parameters: dict[str, Any],
    seed: int,
) -> tuple[SyntheticMeasure, dict[str, float]]:
    """Synthetic records, and the seconds of each stage.

    Raises:
        ValueError: the parameters do not suit the mechanism.
        BudgetExceeded: the mechanism asked for more than the budget pays for.
    """
    mechanism = MECHANISMS[name]
    noise, post = np.random.default_rng(seed).spawn(2)
    curator: Any = SimulatedCurator(codes=train, adjacency=adjacency, rng=noise)
    clock = [time.perf_counter()]
    plan = mechanism.plan(
        Request(
            domain=Domain.coded(cells),
            budget=budget,
            adjacency=adjacency,
            expected_records=len(train),
            parameters=parameters,
        )
    )
    clock.append(time.perf_counter())
    measured = mechanism.measure(curator, plan, mechanism.select(curator, plan))
    clock.append(time.perf_counter())
    synthetic = mechanism.generate(plan, measured, rows=None, rng=post)
    clock.append(time.perf_counter())
    curator.check(budget)
    stages = ("plan", "select and measure", "generate")
    seconds = (round(end - start, 2) for start, end in pairwise(clock))
    return synthetic, dict(zip(stages, seconds, strict=True))


def main() -> None:
    """Run the mechanism that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=sorted(MECHANISMS))
    parser.add_argument("--parameters", type=json.loads, default={})
    parser.add_argument("--relation", choices=[n.value for n in Neighbours], required=True)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--domain", type=Path, required=True)
    parser.add_argument("--epsilon", type=Fraction, required=True)
    parser.add_argument("--delta", type=Fraction, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    synthetic, seconds = release(
        arguments.name,
        np.load(arguments.train),
        json.loads(arguments.domain.read_text()),
        budget=Budget(epsilon=arguments.epsilon, delta=arguments.delta),
        adjacency=Adjacency(neighbours=Neighbours(arguments.relation)),
        parameters=arguments.parameters,
        seed=arguments.seed,
    )
    versions = {package: version(package) for package in ("hallmark", "numpy", "numba")}
    write(arguments.out, synthetic.codes, versions, seconds=seconds)


if __name__ == "__main__":
    main()
