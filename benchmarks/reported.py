"""How often a period's report says that something changed which did not, and sees what it says.

    python -m benchmarks.reported                       # 40 drawn tables, privpgd
    python -m benchmarks.reported --mechanism aim --tables 60
    python -m benchmarks.reported --mechanism sparse-lipschitz --delta 0      # Laplace noise

A table is drawn with a seed of its own: three to eight columns of two to thirty codes, up to 12,000
records from a mixture of laws, an epsilon from .2 to 4 and either neighbouring relation; no setting
was chosen on them. Two releases are made of it by `SimulatedCurator` (whose answers must not be
published), so that nothing changed; then two more, the later one of the table in which one column
was changed: so many records moved into one of its cells as the report of the first two says would
be seen. Both are done five times. Printed after each table are how many reports had a finding where
nothing changed, named a column that was not touched, and named the one that was.
"""

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from benchmarks import simulated
from hallmark.mechanisms.arrays import AnyCodes, Counts
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.transcript import Transcribing
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.registry import MECHANISMS, planned
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from hallmark.mechanisms.request import Request
from hallmark.schemas.documents.audit_changes import Changed
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.record.changed import CONFIDENCE, compared

JUDGE = 20_261_201
PAIRS = 5  # of releases of a drawn table
_SOURCE = {"kind": "public", "reference": "drawn"}


def drawn(rng: np.random.Generator) -> AnyCodes:
    """A table in cell codes, shape (records, columns)."""
    sizes = rng.integers(2, 31, rng.integers(3, 9))
    return mixed(rng, sizes, int(rng.integers(500, 12_001)))


def mixed(rng: np.random.Generator, sizes: Counts, records: int) -> AnyCodes:
    """Cell codes from a mixture of one to four laws, shape (records, columns).

    Args:
        sizes: of the columns, in cells.
    """
    classes = int(rng.integers(1, 5))
    of = rng.integers(0, classes, records)
    columns = []
    for size in sizes:
        laws = rng.dirichlet(np.full(size, rng.uniform(0.3, 2.0)), classes)
        above = rng.random(records)[:, None] > np.cumsum(laws, axis=1)[of]
        columns.append(np.minimum(above.sum(axis=1), size - 1))
    return np.stack(columns, axis=1).astype(np.int32)


def spec(codes: AnyCodes, year: str, neighbours: Neighbours, epsilon: Fraction) -> ReleaseSpec:
    """The spec of a release of a drawn table about a year."""
    columns = {
        f"c{place}": {
            "type": "nominal",
            "categories": [str(code) for code in range(int(codes[:, place].max()) + 1)],
            "outside": "refuse",
            "bound_source": _SOURCE,
        }
        for place in range(codes.shape[1])
    }
    return ReleaseSpec.model_validate(
        {
            "hallmark": 1,
            "release": f"drawn-{year}",
            "title": "A drawn table",
            "series": {"period": year},
            "population": {"account": "drawn"},
            "data": {"source": "drawn.csv", "expected_rows": len(codes), "record": "one"},
            "privacy": {
                "neighbours": neighbours.value, "unit": "record", "epsilon": str(epsilon),
                "delta": "1e-5",
            },
            "mechanism": {"name": "privpgd"},
            "columns": columns,
        }
    )  # fmt: skip


def moved(codes: AnyCodes, column: int, cell: int, records: int) -> AnyCodes:
    """The table with so many more records in a cell of a column."""
    changed = codes.copy()
    changed[np.flatnonzero(codes[:, column] != cell)[:records], column] = cell
    return changed


class Releases:
    """Pairs of releases of a drawn table, planned once."""

    def __init__(
        self, mechanism: str, request: Request, specs: Sequence[ReleaseSpec], number: int
    ) -> None:
        self.how, self.request, self.specs, self.number = (
            MECHANISMS[mechanism], request, specs, number,
        )  # fmt: skip
        self.plan = planned(self.how, request)

    def report(self, before: AnyCodes, after: AnyCodes, pair: int) -> Changed:
        """What the report of the second of two new releases says."""
        one, two = (
            (spec, self._measured(codes, pair, place))
            for place, (spec, codes) in enumerate(zip(self.specs, (before, after), strict=True))
        )
        return compared(one, two, measurements="")

    def _measured(self, codes: AnyCodes, *seed: int) -> Estimator:
        rng = np.random.default_rng([JUDGE, self.number, *seed])
        curator = SimulatedCurator(codes=codes, adjacency=self.request.adjacency, rng=rng)
        transcribing = Transcribing(curator)
        chosen = self.how.select(transcribing, self.plan)
        self.how.measure(transcribing, self.plan, chosen)
        return Estimator.of(transcribing.transcript)


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw tables, release them, and count findings."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mechanism", default="privpgd")
    parser.add_argument("--delta", default=simulated.DELTA, type=Fraction)
    parser.add_argument("--tables", type=int, default=40)
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    start = time.process_time()
    for number in range(options.tables):
        rng = np.random.default_rng([JUDGE, number])
        codes = drawn(rng)
        epsilon = Fraction(round(100 * float(np.exp(rng.uniform(np.log(0.2), np.log(4))))), 100)
        neighbours = list(Neighbours)[int(rng.integers(2))]
        specs = [spec(codes, year, neighbours, epsilon) for year in ("2025", "2026")]
        request = simulated.asked(
            TableCodec.of(specs[0].columns).domain,
            codes,
            epsilon,
            delta=options.delta,
            adjacency=Adjacency(neighbours=neighbours),
        )

        releases = Releases(options.mechanism, request, specs, number)
        for pair in range(PAIRS):
            quiet = releases.report(codes, codes, 2 * pair)
            counts["reports of no change"] += 1
            counts["with a finding"] += bool(quiet.changed)
            if not quiet.tables:
                continue
            touched = quiet.tables[int(rng.integers(len(quiet.tables)))]
            place, cell = int(touched.column[1:]), int(rng.integers(touched.cells))
            extra = int(np.ceil(touched.seen_from * len(codes)))
            if extra > int((codes[:, place] != cell).sum()):
                counts["seen from more than all records"] += 1
                continue
            found = releases.report(codes, moved(codes, place, cell, extra), 2 * pair + 1)
            counts["reports of one change"] += 1
            counts["that name another column"] += any(
                one != touched.column for one in found.changed
            )
            counts["that name the column"] += touched.column in found.changed
        print(f"  {number + 1} tables: {dict(counts)}", flush=True)
    print(f"{options.mechanism}, delta {float(options.delta):g}, confidence {CONFIDENCE}")
    print(f"  {time.process_time() - start:.0f} CPU s")


if __name__ == "__main__":
    main()
