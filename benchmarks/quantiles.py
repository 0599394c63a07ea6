"""How long the quantiles of a certificate take: exact transport of simulated noise.

    python -m benchmarks.quantiles

The law of the noise of all 45 two-way marginals of ten numeric columns on 32 cells each, 200 draws
of it, mapped over two worker processes as a release does with `--processes 2`; and 200 flows of one
such marginal on one core.
"""

import argparse
import time
from fractions import Fraction
from functools import partial

import numpy as np
from distributed import Client, LocalCluster

from benchmarks.rates import column
from mechanisms.certificates.family import noise_costs
from mechanisms.certificates.quantiles import kept_statistics
from mechanisms.families.estimate import FamilyEstimator
from mechanisms.families.marginals import marginals
from mechanisms.families.noise import chosen_strategies
from mechanisms.geometry.domain import Domain
from mechanisms.geometry.transport import transport_many
from mechanisms.privacy.adjacency import Adjacency, Neighbours
from mechanisms.privacy.budget import Budget
from tasks.compute import DaskCompute


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--cells", type=int, default=32)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    domain = Domain(tuple(column(256, f"x{i}") for i in range(arguments.columns)))
    family = marginals(domain, 2, arguments.cells)
    adjacency = Adjacency(neighbours=Neighbours.REPLACE_ONE)
    budget = Budget(epsilon=Fraction(1))
    strategies, _ = chosen_strategies("identity", family, budget, adjacency)
    estimator = FamilyEstimator(family, strategies, adjacency)

    errors = strategies[0].simulate(arguments.draws, np.random.default_rng(0), total_is_public=True)
    began = time.perf_counter()
    transport_many(family.blocks[0].space, errors)
    print(f"{arguments.draws} flows, one core: {time.perf_counter() - began:.1f} s")

    with (
        LocalCluster(n_workers=arguments.processes, threads_per_worker=1) as cluster,
        Client(cluster) as client,
    ):
        compute = DaskCompute(client, None, lambda share, doing: None)
        began = time.perf_counter()
        found = kept_statistics(
            partial(noise_costs, estimator),
            draws=arguments.draws,
            digest=estimator.digest,
            compute=compute,
            doing="",
        )
        seconds = time.perf_counter() - began
    print(
        f"{found.shape[1]} marginals x {len(found)} draws, {arguments.processes} processes: ",
        end="",
    )
    print(f"{seconds:.0f} s; mean largest cost {found.max(axis=1).mean():.1f} records")


if __name__ == "__main__":
    main()
