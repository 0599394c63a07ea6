"""Quality and time of PrivPGD on the two benchmark tables, beside what published peers reach.

    python benchmarks/privpgd.py --epsilon 1 --relation replace_one --epochs 0 --sweeps 25

The private data are counted in memory with noise drawn by simulation and without a ledger: the
law of the noise is that of a release, but nothing here may be published.
"""

import argparse
import importlib.util
import json
import resource
import time
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from mechanisms.contract import Measurements
from mechanisms.geometry.domain import Attribute, Domain, Kind
from mechanisms.privacy.adjacency import Adjacency, Neighbours
from mechanisms.privacy.budget import Budget
from mechanisms.privacy.cells import ArrayCounter
from mechanisms.privacy.simulation import simulate_discrete_gaussian
from mechanisms.privpgd import PrivPGD, PrivPGDPlan

DATA = Path(__file__).parents[1] / "../shared/data/benchmark"
LABELS = {"acs_nat": "OWN_RENT", "adult": "income>50K"}
METRICS = ("downstream", "covariance", "count", "thresh", "sw1", "tv")
PEERS = {  # at epsilon 1, from the data's README; Private GSD at replace-one, SWIFT at add/remove
    ("acs_nat", "SWIFT"): (0.253, 0.202, 0.0246, 0.0092, 0.0043, 0.0430),
    ("acs_nat", "Private GSD"): (0.248, 0.092, 0.0178, 0.0071, 0.0039, 0.0461),
    ("adult", "SWIFT"): (0.148, 0.110, 0.0182, 0.0074, 0.0039, 0.0337),
    ("adult", "Private GSD"): (0.153, 0.089, 0.0129, 0.0064, 0.0033, 0.0380),
}


def reference_metrics() -> ModuleType:
    """The six metrics that peers were measured with."""
    spec = importlib.util.spec_from_file_location("metrics", DATA / "reference_metrics.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def benchmark_domain(cells: dict[str, int]) -> Domain:
    """All columns ordinal, as the metrics embed them."""
    return Domain(
        tuple(
            Attribute(
                name=name,
                kind=Kind.ORDINAL,
                positions=(np.arange(k) + 0.5) / k,
                widths=np.zeros(k),
            )
            for name, k in cells.items()
        )
    )


def simulated_measurements(
    plan: PrivPGDPlan, codes: np.ndarray[Any, np.dtype[np.int64]], rng: np.random.Generator
) -> Measurements:
    """What the curator would answer, up to the source of randomness."""
    exact = ArrayCounter(codes).count([query.cells for query in plan.queries])
    noisy = (t + simulate_discrete_gaussian(rng, plan.sigma2, t.shape) for t in exact)
    return Measurements(
        tables=tuple(noisy), total=len(codes) if plan.adjacency.total_is_public else None
    )


def run(name: str, arguments: argparse.Namespace, parameters: dict[str, Any]) -> None:
    """Release one table and print its line, its ratios to the peers, and the times."""
    metrics = reference_metrics()
    cells = json.loads((DATA / f"{name}-domain.json").read_text())
    train, test = (
        pd.read_csv(DATA / f"{name}-{part}.csv")[list(cells)].to_numpy(dtype=np.int64)
        for part in ("train", "test")
    )
    mechanism, rng = PrivPGD(), np.random.default_rng(arguments.seed)
    clock = [time.perf_counter()]
    plan = mechanism.plan(
        benchmark_domain(cells),
        budget=Budget(epsilon=Fraction(arguments.epsilon), delta=Fraction(1, 100_000)),
        adjacency=Adjacency(neighbours=Neighbours(arguments.relation)),
        expected_records=len(train),
        parameters=parameters,
    )
    measured = simulated_measurements(plan, train, rng)
    clock.append(time.perf_counter())
    synthetic = mechanism.generate(
        plan, measured, rows=None, rng=rng, progress=lambda share, doing: None
    )
    clock.append(time.perf_counter())
    certificate = mechanism.certify(plan, measured, synthetic, confidence=0.95, rng=rng)
    clock.append(time.perf_counter())
    found = metrics.evaluate(
        train,
        test,
        synthetic.codes.astype(np.int64),
        list(cells.values()),
        list(cells).index(LABELS[name]),
        "eq:1",
        "classification",
    )
    values = [float(found[metric]) for metric in METRICS]
    label = f"{name} eps={arguments.epsilon} {arguments.relation} seed={arguments.seed}"
    print(f"{label:44}" + "".join(f"{value:11.4f}" for value in values))
    if Fraction(arguments.epsilon) == 1:
        for peer in ("SWIFT", "Private GSD"):
            ratios = [v / p for v, p in zip(values, PEERS[name, peer], strict=True)]
            print(f"{f'  as a share of {peer}':44}" + "".join(f"{ratio:11.2f}" for ratio in ratios))
    seconds = [end - start for start, end in pairwise(clock)]
    bounds = [bound.value for bound in certificate.bounds]
    print(
        f"  plan and measure {seconds[0]:.1f} s, generate {seconds[1]:.1f} s, certify "
        f"{seconds[2]:.1f} s; peak "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB; 1-way "
        f"certificates: mean {np.mean(bounds):.4f}, largest {max(bounds):.4f}; forecast "
        f"{np.mean(list(plan.forecast().per_attribute.values())):.4f} without projection"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", choices=sorted(LABELS), nargs="*", default=sorted(LABELS))
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--relation", choices=[n.value for n in Neighbours], default="add_remove")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--sweeps", type=int)
    arguments = parser.parse_args()
    if not DATA.exists():
        raise SystemExit(f"the benchmark tables are not at {DATA}; nothing was run")
    parameters = {
        name: value
        for name in ("epochs", "sweeps")
        if (value := getattr(arguments, name)) is not None
    }
    print(f"{'':44}" + "".join(f"{metric:>11}" for metric in METRICS))
    for name in arguments.data:
        run(name, arguments, parameters)


if __name__ == "__main__":
    main()
