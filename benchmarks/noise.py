"""How fast exact noise is drawn: our ways against single-threaded OpenDP, in one run.

Run as `python -m benchmarks.noise [draws]`. Ratios carry over between machines, times do not.
"""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import partial
from multiprocessing import get_context
from time import perf_counter

import numpy as np

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.privacy.noise import (
    add_discrete_gaussian,
    add_discrete_laplace,
    gaussian_measurement,
    laplace_measurement,
)
from hallmark.mechanisms.privacy.simulation import (
    simulate_discrete_gaussian,
    simulate_discrete_laplace,
)

PARAMETER = Fraction(100)
MEASUREMENTS = {"Laplace": laplace_measurement, "Gaussian": gaussian_measurement}
OURS = {"Laplace": add_discrete_laplace, "Gaussian": add_discrete_gaussian}
SIMULATED = {"Laplace": simulate_discrete_laplace, "Gaussian": simulate_discrete_gaussian}


def single(family: str, exact: Counts) -> Counts:
    """OpenDP as it comes: one thread, one call."""
    return np.array(MEASUREMENTS[family](PARAMETER)(exact), dtype=np.int64)


def processes(family: str, exact: Counts) -> Counts:
    """OpenDP in one fresh process a core, their start included."""
    cores = os.cpu_count() or 1
    with ProcessPoolExecutor(cores, mp_context=get_context("forkserver")) as pool:
        parts = pool.map(single, [family] * cores, np.array_split(exact, cores))
        return np.concatenate(list(parts))


def seconds(draw: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = perf_counter()
    draw()
    return perf_counter() - start


def main(draws: int) -> None:
    """Print one line a family and way, as a Markdown table."""
    exact = np.zeros(draws, dtype=np.int64)
    rng = np.random.default_rng(1)
    print(f"{draws:,} draws, {os.cpu_count()} cores\n")
    print("| noise | way | time, share of single | µs a draw |")
    print("|---|---|---|---|")
    for family in OURS:
        SIMULATED[family](rng, PARAMETER, 10)  # compiles
        times = {
            "single OpenDP": seconds(partial(single, family, exact)),
            "processes, start included": seconds(partial(processes, family, exact)),
            "ours: threads": seconds(partial(OURS[family], exact, PARAMETER)),
            "simulation, not private": seconds(partial(SIMULATED[family], rng, PARAMETER, draws)),
        }
        for way, taken in times.items():
            ratio = taken / times["single OpenDP"]
            print(f"| {family} | {way} | {ratio:.3f} | {taken / draws * 1e6:.3f} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
