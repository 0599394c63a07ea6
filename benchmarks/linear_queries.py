"""Time and memory of answers to many queries on large universes.

    python -m benchmarks.linear_queries

All 3-way marginals of 20 binary columns, with 100,000 conjunctions of up to four of them; and
100,000 products of ranges of up to four columns of 32 cells. Both universes have 2^20 cells.
"""

import resource
import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.linear_queries.kinds import conjunction, marginal_cells, random_ranges
from hallmark.mechanisms.linear_queries.merging import merged_universe
from hallmark.mechanisms.linear_queries.settings import refuse_large
from hallmark.mechanisms.linear_queries.workload import Workload

QUERIES = 100_000


def domain(columns: int, cells: int) -> Domain:
    """Columns of so many equal cells."""
    width = 1 / cells
    positions = np.linspace(width / 2, 1 - width / 2, cells)
    return Domain(
        tuple(
            Attribute(
                name=f"column-{i}",
                kind=Kind.NUMERIC,
                positions=positions,
                widths=np.full(cells, width),
            )
            for i in range(columns)
        )
    )


def conjunctions(over: Domain, rng: np.random.Generator) -> Workload:
    """All 3-way marginals, and random conjunctions of two to four columns."""
    parts = list(marginal_cells(over, list(combinations(range(len(over)), 3))))
    for _ in range(QUERIES):
        columns = rng.choice(len(over), size=rng.integers(2, 5), replace=False)
        parts.append(conjunction(over, {int(c): [int(rng.integers(2))] for c in columns}, "both"))
    return Workload.of(over, parts)


def ranges(over: Domain, rng: np.random.Generator) -> Workload:
    """Random products of ranges, as many for each set of columns."""
    sets = [some for ways in range(1, 5) for some in combinations(range(len(over)), ways)]
    each = -(-QUERIES // len(sets))
    return Workload.of(over, [random_ranges(over, some, each, rng) for some in sets])


def timed(what: str, work: Callable[[], Any]) -> Any:
    """The result of the work; says how long it took, and the largest memory so far."""
    began = time.perf_counter()
    result = work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  {what}: {time.perf_counter() - began:.2f} s, peak so far {peak:.2f} GiB", flush=True)
    return result


def measure(make: Callable[[Domain, np.random.Generator], Workload], over: Domain) -> None:
    """One universe."""
    rng = np.random.default_rng(1)
    print(f"{make.__name__} over {len(over)} columns of {over.shape[0]} cells")
    workload = timed("workload", lambda: make(over, rng))
    merged = timed(
        "merging", lambda: merged_universe(over.shape, workload.queries, names=over.names)
    )
    universe = merged.universe
    refuse_large("a measurement", universe)
    print(f"  {workload.size:,} queries on {universe.size:,} cells")
    shares, dual = universe.uniform, rng.normal(size=workload.size)
    for attempt in ("first", "again"):
        answers = timed(f"answers, {attempt}", lambda: universe.answers(shares))
        weighted = timed(f"adjoint, {attempt}", lambda: universe.adjoint(dual))
    # The adjoint is that of the answers.
    print(f"  relative difference {abs(dual @ answers / (weighted @ shares) - 1):.1e}")
    timed("digest", lambda: workload.queries.digest)


def main() -> None:
    """Both universes."""
    measure(conjunctions, domain(20, 2))
    measure(ranges, domain(4, 32))


if __name__ == "__main__":
    main()
