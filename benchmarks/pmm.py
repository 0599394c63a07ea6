"""How long PMM and PMM-H take at their largest, stage by stage, and how much memory.

    OMP_NUM_THREADS=1 taskset -c 0 python -m benchmarks.pmm --records 10000000 --depth 22

Two numeric columns of beta-distributed records, a real curator, a ledger in a temporary file. The
peak is that of the process up to the end of a stage; every mechanism has a process of its own. The
records stay in it, coded as a release codes them, so that their true distance can be told.
"""

import argparse
import resource
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from multiprocessing import get_context
from time import perf_counter, process_time

import numpy as np

from benchmarks.simulated import REPLACE_ONE, asked
from hallmark.mechanisms.arrays import AnyCodes, Counts
from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import ArrayCounter, CellMap, count_codes
from hallmark.mechanisms.privacy.curator import Curator
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.mechanisms.wasserstein.pmm import PMM, PMMH
from hallmark.mechanisms.wasserstein.pmm.tree import transport_cost

MECHANISMS = {"pmm": PMM, "pmm-h": PMMH}
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

    def __init__(self, codes: AnyCodes, stages: Stages) -> None:
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
    ledger.open_account("people", cap=BUDGET, adjacency=REPLACE_ONE, by="benchmark", reason="speed")
    ledger.reserve("people", "release", BUDGET, adjacency=REPLACE_ONE, binding="plan")
    return Curator(
        counter=counter, ledger=ledger, release="release", adjacency=REPLACE_ONE, budget=BUDGET
    )


def drawn(cells: int, records: int, rng: np.random.Generator) -> AnyCodes:
    """Records of two columns, each contiguous, as `tasks.discretize` leaves them."""
    codes = np.empty((records, 2), dtype=np.int16, order="F")
    for column in codes.T:
        column[:] = cells * rng.beta(2, 5, records)
    return codes


def run(name: str, records: int, depth: int) -> None:
    """One release, from plan to certificate."""
    mechanism, rng = MECHANISMS[name](), np.random.default_rng(1)
    cells = 1 << -(-depth // 2)
    codes = drawn(cells, records, rng)
    print(f"\n{name}, {records:,} records, depth {depth}\n")
    stages = Stages()
    with stages.stage("plan"):
        plan = mechanism.plan(
            asked(domain(cells), codes, 1, delta=Fraction(0), parameters={"depth": depth})
        )
    with stages.stage("forecast"):
        forecast = plan.forecast()
    with tempfile.TemporaryDirectory() as folder:
        answering = curator(TimedCounter(codes, stages), folder)
        with stages.stage("counts, exact noise and log"):
            mechanism.measure(answering, plan, None)
        with stages.stage("answers read from the log"):
            measurements = mechanism.measure(answering, plan, None)
    with stages.stage("consistency and records"):
        synthetic = mechanism.generate(plan, measurements, rows=None, rng=rng)
    with stages.stage("certificate"):
        certificate = mechanism.certify(
            plan, measurements, synthetic, confidence=CONFIDENCE, rng=rng
        )
    stages.total()
    partition = plan.partition
    shares = [
        count_codes(table, [partition.leaf_map])[0] / len(table)
        for table in (codes, synthetic.codes)
    ]
    costs = [partition.flow_costs(level) for level in range(depth)]
    bound = certificate.bounds[0]
    print(f"\nOf the diameter, {bound.target}:\n")
    print(f"- certified at {certificate.confidence:.0%}: {bound.value:.5f}, {_sum(bound.terms)};")
    print(f"- forecast of the mean error: {forecast.expected_error:.5f};")
    true = float(transport_cost(shares[0] - shares[1], costs))
    print(f"- true cost of moving records between cells along the tree: {true:.5f}.")
    print(f"\nForecast of memory: {forecast.memory_bytes >> 20} MB.", flush=True)


def _sum(terms: Mapping[str, float]) -> str:
    return "the sum of " + ", ".join(f"{name} {term:.5f}" for name, term in terms.items())


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
