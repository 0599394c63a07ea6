"""Compare Hallmark's mechanisms with published peers on real data.

    python -m benchmarks.comparison run --methods privpgd mbi-mst --epsilon 1 --seeds 1 2
    python -m benchmarks.comparison report
    python -m benchmarks.comparison list

`run` appends to benchmarks/comparison/results and leaves out what is there already, so it may be
stopped and started at will. `report` writes docs/benchmark from the results.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import product
from typing import Any

from benchmarks.comparison.execution import DONE
from benchmarks.comparison.journal import append, read, settled
from benchmarks.comparison.methods import PEERS, Method, default_methods, method
from benchmarks.comparison.report import write_report
from benchmarks.comparison.runner import Run, carry_out
from benchmarks.data import LABELS, load
from hallmark.mechanisms.privacy.adjacency import Neighbours


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.comparison",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="run methods that have no result yet")
    running.add_argument("--methods", nargs="+", default=list(default_methods()), metavar="NAME")
    running.add_argument("--data", nargs="+", choices=sorted(LABELS), default=sorted(LABELS))
    running.add_argument("--epsilon", nargs="+", default=["0.2", "1", "2.5"])
    running.add_argument("--delta", default="1e-5")
    running.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    running.add_argument(
        "--relations",
        nargs="+",
        choices=[n.value for n in Neighbours],
        default=[n.value for n in Neighbours],
        help="peers run at those that they protect",
    )
    running.add_argument(
        "--convert",
        action="store_true",
        help="run peers at the other relation too, with as much less budget as it takes",
    )
    running.add_argument(
        "--parameters", type=json.loads, default={}, help="of mechanisms of the house, JSON"
    )
    running.add_argument(
        "--minutes", type=float, default=15, help="of processor time, cap on one run"
    )
    running.add_argument("--memory-gib", type=float, default=8, help="cap on one run")
    running.add_argument("--force", action="store_true", help="repeat what has a result")
    commands.add_parser("report", help="write docs/benchmark from the results")
    commands.add_parser("list", help="the methods, and what they protect")
    arguments = parser.parse_args()
    match arguments.command:
        case "run":
            run_all(arguments)
        case "report":
            for path in write_report():
                print(path)
        case "list":
            for name in default_methods():
                line = method(name)
                at = f"{' and '.join(line.relations)}, number of records {line.total}"
                print(f"{name:18} {at}\n{'':18} {line.accounting}")


def run_all(arguments: argparse.Namespace) -> None:
    """All runs that are asked for and not settled, one after the other."""
    try:
        tables = {name: load(name) for name in arguments.data}
        methods = [method(name) for name in arguments.methods]
    except (FileNotFoundError, ValueError) as error:
        sys.exit(f"nothing was run: {error}")
    seconds, memory_mib = 60 * arguments.minutes, 1024 * arguments.memory_gib
    for run in runs(methods, arguments):
        # Read anew each time: another process may have run it meanwhile.
        known = read().get(run.key)
        if not arguments.force and settled(known, seconds=seconds, memory_mib=memory_mib):
            continue
        print(f"{run}: ", end="", flush=True)
        result = carry_out(run, tables[run.data], seconds=seconds, memory_mib=memory_mib)
        append(result)
        if result.status == DONE:
            errors = ", ".join(f"{name} {result.metrics[name]:.4f}" for name in result.metrics)
            print(f"{errors}; {result.cpu_s} CPU s, {result.peak_mib:.0f} MiB", flush=True)
        else:
            print(f"{result.status} after {result.wall_s} s: {result.detail}", flush=True)


def runs(methods: list[Method], arguments: argparse.Namespace) -> Iterator[Run]:
    """What is asked for: all methods with one seed before the next seed."""
    for seed, line, relation, epsilon, data in product(
        arguments.seeds, methods, arguments.relations, arguments.epsilon, arguments.data
    ):
        converted = relation not in line.relations
        if converted and not (arguments.convert and line.noise_share is not None):
            continue
        parameters: dict[str, Any] = {} if line.name in PEERS else arguments.parameters
        yield Run(
            data=data,
            method=line,
            parameters=parameters,
            relation=relation,
            epsilon=epsilon,
            delta=arguments.delta,
            seed=seed,
        )


if __name__ == "__main__":
    main()
