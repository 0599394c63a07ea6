"""How long the heavy steps of certified releases take.

    python -m benchmarks.speed

Step 3 of the sparse-Lipschitz release at the paper's size: weights on 4,000 public records (five
columns of national2018) whose pairs on 25 cells a column are nearest to those of national2019, in
each loss. 200 flows of the noise of one pair of columns on 32 cells, on one core. And the law of
the noise of all 45 two-way marginals of ten such columns, 200 draws of it, mapped over worker
processes as a release does with `--processes 2`.
"""

import argparse
import time
from fractions import Fraction
from functools import partial
from typing import Any, get_args

import numpy as np
from distributed import Client, LocalCluster

from benchmarks.certified import ADJACENCY, read
from benchmarks.rates import column
from hallmark.mechanisms.blocks.choose_noise import chosen_strategies
from hallmark.mechanisms.blocks.estimate import FamilyEstimator
from hallmark.mechanisms.blocks.marginals import marginals
from hallmark.mechanisms.blocks.programs import Loss, Program, Support, solve
from hallmark.mechanisms.certificates.family import noise_costs
from hallmark.mechanisms.certificates.quantiles import kept_statistics
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.transport import transport
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.mechanisms.wasserstein.sparse_lipschitz import SparseLipschitz
from hallmark.mechanisms.wasserstein.sparse_lipschitz.mechanism import CALL
from hallmark.tasks.installation.compute import DaskCompute


def programs() -> None:
    """Seconds and optimum of the three programs."""
    tables = read("national2018", 5)
    for loss in get_args(Loss):
        plan = SparseLipschitz().plan(
            tables.asked({"cells": 25, "loss": loss, "measure_discretisation": False})
        )
        rng = np.random.default_rng(1)
        curator: Any = SimulatedCurator(codes=tables.private, adjacency=ADJACENCY, rng=rng)
        answers = SparseLipschitz().measure(curator, plan, None)
        estimate = plan.estimator.estimate(answers.tables[CALL], answers.total)
        support = Support.of(plan.family, plan.support)
        targets = tuple(table / float(estimate.total) for table in estimate.tables)
        began = time.perf_counter()
        found = solve(Program(family=plan.family, support=support, targets=targets, loss=loss))
        seconds = time.perf_counter() - began
        print(f"{loss}: {seconds:.1f} s, loss {found.loss:.4f}, none below {found.bound:.4f}")


def quantiles(columns: int, cells: int, draws: int, processes: int) -> None:
    """Seconds of flows on one core, and of the whole law on worker processes."""
    domain = Domain(tuple(column(256, f"x{i}") for i in range(columns)))
    family = marginals(domain, 2, cells)
    budget = Budget(epsilon=Fraction(1))
    strategies, _ = chosen_strategies("identity", family, budget, ADJACENCY)
    estimator = FamilyEstimator(family, strategies, ADJACENCY)
    errors = strategies[0].simulate(draws, np.random.default_rng(0), total_is_public=True)
    began = time.perf_counter()
    transport(family.blocks[0].space, errors)
    print(f"{draws} flows on {cells} x {cells}, one core: {time.perf_counter() - began:.1f} s")

    with (
        LocalCluster(n_workers=processes, threads_per_worker=1) as cluster,
        Client(cluster) as client,
    ):
        compute = DaskCompute(client, None, lambda share, doing: None)
        began = time.perf_counter()
        found = kept_statistics(
            partial(noise_costs, estimator),
            draws=draws,
            digest=estimator.digest,
            compute=compute,
            doing="",
        )
        seconds = time.perf_counter() - began
    size = f"{found.shape[1]} marginals x {len(found)} draws"
    print(f"{size}, {processes} processes: {seconds:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--cells", type=int, default=32)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    programs()
    quantiles(arguments.columns, arguments.cells, arguments.draws, arguments.processes)


if __name__ == "__main__":
    main()
