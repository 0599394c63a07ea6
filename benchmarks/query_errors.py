"""The table of all methods for linear queries: errors, times and memory, measured.

    python -m benchmarks.query_errors run [--part size --part grid ...]
    python -m benchmarks.query_errors report

`run` appends a line a run to docs/linear-queries/errors.jsonl and skips what is there, so it may be
stopped at any time. `report` writes the page docs/linear-queries/README.md and its plots from that
file. In kind Table 1 of Micali, Lezane, Betken (2025), Differentially private algorithms for linear
queries via stochastic convex optimization, AISTATS, whose table has bounds and no measurements.

Every part is at delta = 10^-5, a record is replaced.
    size         3-way marginals of 8, 12, 16 binary columns, 10,000 records, epsilon 1
    survey       the same of 8, 12, 16 questions to the American Community Survey
    large        the same of 20 columns: 2^20 cells
    lines        3-way marginals of 8 binary columns, by records, and by epsilon
    grid         the same at all pairs of records and epsilon, for the fits
    queries      8 binary columns, 10,000 records, epsilon 1, by workload
    variants     settings of `linear-queries`, and others, at the point that these share
    categorical  2-way marginals of six columns of Adult and of the American Community Survey
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.comparison.runner import commit
from benchmarks.query_errors_data import table
from benchmarks.query_errors_methods import METHODS, PRINTED, THEOREM_1, THEOREM_3, VARIANTS
from benchmarks.query_errors_runs import Case, Line, journal, key, run

FOLDER = Path(__file__).parents[1] / "docs/linear-queries"
JOURNAL = "errors.jsonl"
RECORDS = (1_000, 3_000, 10_000, 30_000)
EPSILONS = (Fraction(1, 5), Fraction(1, 2), Fraction(1), Fraction(5, 2))
WORKLOADS = (
    "2-way", "4-way", "10 random", "30 random", "100 random", "300 random", "1000 random",
)  # fmt: skip
SIZES = {8: 3, 12: 1, 16: 1}  # seeds by columns
LARGE = 20
ALL_RECORDS = {"adult": 39_073, "acs": 21_802}
CATEGORICAL_EPSILONS = (Fraction(1), Fraction(1, 5), Fraction(5, 2))
SEEDS = 2  # in the parts with many settings
ONE_SEED = ("mwem-queries", "dual-query", "dqrs", "fem", "sep-fem")  # there
SLOW = ("dual-query", "dqrs", "fem", "sep-fem")  # not on the grid
BASE = {
    "data": "binary",
    "columns": 8,
    "records": 10_000,
    "epsilon": Fraction(1),
    "queries": "3-way",
}


def named(**shared: Any) -> Iterator[Case]:
    """All methods with their defaults, and those of the theorems."""
    for method in METHODS:
        for seed in range(1 if method in ONE_SEED else SEEDS):
            yield case(method=method, seed=seed, **shared)
    for seed in range(SEEDS):
        yield case(method="dpfw", parameters=THEOREM_1, gap=True, seed=seed, **shared)
        yield case(method="dpfw", parameters=THEOREM_3, seed=seed, **shared)
    for method, given in PRINTED.items():
        yield case(method=method, parameters=given, **shared)


def size() -> Iterator[Case]:
    """By number of binary columns."""
    for columns, seeds in SIZES.items():
        for method in METHODS:
            for seed in range(seeds):
                yield case(columns=columns, method=method, seed=seed)


def survey() -> Iterator[Case]:
    """By number of columns, of other people."""
    yield from (replace(one, data="acs-binary") for one in size())


def large() -> Iterator[Case]:
    """A million cells."""
    yield from (case(columns=LARGE, method=method) for method in METHODS)


def lines() -> Iterator[Case]:
    """By records at one epsilon, and by epsilon at one number of records."""
    for records, epsilon in product(RECORDS, EPSILONS):
        if records == BASE["records"] or epsilon == BASE["epsilon"]:
            yield from named(records=records, epsilon=epsilon)


def grid() -> Iterator[Case]:
    """By records and epsilon."""
    for records, epsilon in product(RECORDS, EPSILONS):
        for one in named(records=records, epsilon=epsilon):
            if one.method not in SLOW:
                yield one


def queries() -> Iterator[Case]:
    """By workload."""
    for asked in WORKLOADS:
        yield from named(queries=asked)


def variants() -> Iterator[Case]:
    """Settings that the page has something to say about."""
    for method, given in VARIANTS:
        yield from (case(method=method, parameters=given, seed=s) for s in range(SIZES[8]))


def categorical() -> Iterator[Case]:
    """Six columns with a few to sixteen cells each."""
    for epsilon in CATEGORICAL_EPSILONS:
        for data, records in ALL_RECORDS.items():
            for method in METHODS:
                yield case(
                    data=data, columns=6, records=records, epsilon=epsilon, queries="2-way",
                    method=method,
                )  # fmt: skip


PARTS = {
    "size": size,
    "survey": survey,
    "lines": lines,
    "queries": queries,
    "variants": variants,
    "grid": grid,
    "categorical": categorical,
    "large": large,
}


def case(**given: Any) -> Case:
    """One that differs from the point that all parts share in this."""
    return Case(**{**BASE, **given})


def asked() -> dict[str, list[Line]]:
    """The terms of all cases, by part."""
    return {name: [one.terms for one in part()] for name, part in PARTS.items()}


def run_all(parts: list[str], path: Path, only: str | None, seconds: float) -> None:
    """What is not in the journal yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done, state = journal(path), commit()
    wanted = [one for part in parts for one in PARTS[part]() if only in (None, one.method)]
    left = [one for one in wanted if key(one.terms) not in done]
    for data in {one.data for one in left}:
        table(data, 1, None, 0)  # where records are missing, that ends here, and is no failed run
    for one in sorted(left, key=lambda one: one.seed):  # of everything one run first
        line = run(Case(**{**vars(one), "seconds": seconds}), state)
        done[key(line)] = line
        with path.open("a") as out:
            out.write(json.dumps(line) + "\n")
        shown = {name: line.get(name) for name in ("largest_error", "cpu_s", "peak_mib")}
        print(line["data"], line["d"], line["n"], line["epsilon"], line["queries"], line["method"],
              line["parameters"], line["seed"], line["status"], shown, flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="run what is missing")
    running.add_argument("--part", action="append", choices=PARTS, help="all where none is given")
    running.add_argument("--method", choices=METHODS, help="this one alone")
    running.add_argument(
        "--seconds", type=float, default=300.0, help="of processor time a run at most"
    )
    commands.add_parser("report", help="write the page and its plots")
    parser.add_argument("--out", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    path = arguments.out / JOURNAL
    if arguments.command == "run":
        parts = arguments.part or list(PARTS)
        run_all(parts, path, arguments.method, arguments.seconds)
    else:
        from benchmarks.query_errors_report import write_report  # runs import this module anew

        write_report(journal(path), asked(), arguments.out)


if __name__ == "__main__":
    main()
