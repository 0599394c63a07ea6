"""How long PMM and PMM-H take at their largest, stage by stage, and how much memory.

    taskset -c 0 python -m benchmarks.pmm --records 10000000 --depth 22

Two numeric columns of beta-distributed records, a real curator, a ledger in a temporary file. The
peak is that of the process up to the end of a stage; every mechanism has a process of its own.
"""

import argparse
import resource
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from multiprocessing import get_context
from time import perf_counter, process_time

import numpy as np
from numpy.typing import NDArray

from mechanisms.geometry.domain import Attribute, Domain, Kind
from mechanisms.pmm import PMM, PMMH
from mechanisms.privacy.adjacency import Adjacency, Neighbours
from mechanisms.privacy.budget import Budget
from mechanisms.privacy.cells import ArrayCounter, CellMap, Counts
from mechanisms.privacy.curator import Curator
from mechanisms.privacy.ledger import Ledger

MECHANISMS = {"pmm": PMM, "pmm-h": PMMH}
ADJACENCY = Adjacency(neighbours=Neighbours.REPLACE_ONE)
BUDGET = Budget(epsilon=Fraction(1))
CONFIDENCE = 0.95
MEGABYTE = 1 << (20 if sys.platform == "darwin" else 10)  # in the unit of `ru_maxrss`


class Stages:
    """Prints a line of a Markdown table at the end of each stage."""

    def __init__(self) -> None:
        self._start = perf_counter(), process_time()
        print("| stage | seconds | of a processor | peak, MB |")
        print("|---|---|---|---|")

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = perf_counter(), process_time()
        yield
        self._line(name, *start)

    def total(self) -> None:
        self._line("**all**", *self._start)

    def _line(self, name: str, wall: float, processor: float) -> None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEGABYTE
        print(
            f"| {name} | {perf_counter() - wall:.1f} | {process_time() - processor:.1f} "
            f"| {peak:.0f} |",
            flush=True,
        )


class TimedCounter(ArrayCounter):
    """Counts within a stage of its own."""

    def __init__(self, codes: NDArray[np.int32], stages: Stages) -> None:
        super().__init__(codes)
        self._stages = stages

    def count(self, maps: Sequence[CellMap]) -> list[Counts]:
        with self._stages.stage("counting, part of the next"):
            return super().count(maps)


def domain(cells: int) -> Domain:
    """Two numeric columns of `cells` cells."""
    return Domain(
        tuple(
            Attribute(
                name=name,
                kind=Kind.NUMERIC,
                positions=(np.arange(cells) + 0.5) / cells,
                widths=np.full(cells, 1 / cells),
            )
            for name in "xy"
        )
    )


def curator(counter: TimedCounter, folder: str) -> Curator:
    """Answers from a ledger in `folder`, where it reserves the whole budget."""
    ledger = Ledger(f"sqlite:///{folder}/ledger.sqlite")
    ledger.open_account("people", cap=BUDGET, adjacency=ADJACENCY, by="benchmark", reason="speed")
    ledger.reserve("people", "release", BUDGET, adjacency=ADJACENCY, binding="plan")
    return Curator(
        counter=counter, ledger=ledger, release="release", adjacency=ADJACENCY, budget=BUDGET
    )


def run(name: str, records: int, depth: int) -> None:
    """One release, from plan to certificate."""
    mechanism, rng = MECHANISMS[name](), np.random.default_rng(1)
    cells = 1 << -(-depth // 2)
    codes = (cells * rng.beta(2, 5, (records, 2))).astype(np.int32)
    print(f"\n{name}, {records:,} records, depth {depth}\n")
    stages = Stages()
    with stages.stage("plan"):
        plan = mechanism.plan(
            domain(cells),
            budget=BUDGET,
            adjacency=ADJACENCY,
            expected_records=records,
            parameters={"depth": depth},
        )
    with stages.stage("forecast"):
        plan.forecast()
    with tempfile.TemporaryDirectory() as folder:
        asked = curator(TimedCounter(codes, stages), folder)
        with stages.stage("counts, exact noise and log"):
            mechanism.measure(asked, plan, None)
        with stages.stage("answers read from the log"):
            measurements = mechanism.measure(asked, plan, None)
    with stages.stage("consistency and records"):
        synthetic = mechanism.generate(
            plan, measurements, rows=None, rng=rng, progress=lambda share, what: None
        )
    with stages.stage("certificate"):
        certificate = mechanism.certify(
            plan, measurements, synthetic, confidence=CONFIDENCE, rng=rng
        )
    stages.total()
    print(f"\nCertified: {certificate.bounds[0].value:.4f} of the diameter, all columns jointly.")


def main() -> None:
    """Both mechanisms, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--depth", type=int, default=22)
    arguments = parser.parse_args()
    for name in MECHANISMS:
        process = get_context("spawn").Process(
            target=run, args=(name, arguments.records, arguments.depth)
        )
        process.start()
        process.join()
        if process.exitcode:
            sys.exit(process.exitcode)


if __name__ == "__main__":
    main()
