"""Quality and time of Private GSD on the two benchmark tables, beside its authors' program.

    python benchmarks/genetic.py --epsilon 1 --seeds 1 2 3
    python benchmarks/genetic.py --data adult --no-clip --rows 8000

All pairs are measured with discrete Gaussian noise, replace-one, the number of records known; the
last row of a table is what `benchmark/README.md` says of the authors' program at epsilon 1. The
private data are counted in memory with noise drawn by simulation and without a ledger: the law of
the noise is that of a release, but nothing here may be published.
"""

import argparse
import importlib.util
import json
import resource
import time
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mechanisms.geometry.domain import Attribute, Domain, Kind
from mechanisms.marginals.cliques import all_ways
from mechanisms.marginals.evidence import Evidence, NoisyMarginal
from mechanisms.marginals.generators.excess import counts
from mechanisms.marginals.generators.genetic import PrivateGSD
from mechanisms.privacy.adjacency import Adjacency, Neighbours
from mechanisms.privacy.budget import Budget
from mechanisms.privacy.calibration import gaussian_sigma2
from mechanisms.privacy.simulation import simulate_discrete_gaussian

DATA = Path(__file__).parents[1] / "../shared/data/benchmark"
LABELS = {"acs_nat": "OWN_RENT", "adult": "income>50K"}
METRICS = ("downstream", "covariance", "count", "thresh", "sw1", "tv")
AUTHORS = {  # epsilon 1, replace-one, 2,000 rows; the last number is CPU seconds
    "acs_nat": (0.248, 0.092, 0.0178, 0.0071, 0.0039, 0.0461, 115),
    "adult": (0.153, 0.089, 0.0129, 0.0064, 0.0033, 0.0380, 79),
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


def simulated_evidence(
    domain: Domain,
    codes: NDArray[np.int64],
    epsilon: Fraction,
    ways: int,
    rng: np.random.Generator,
) -> Evidence:
    """What the curator would answer about all marginals of so many ways."""
    cliques = all_ways(len(domain), ways)
    adjacency = Adjacency(neighbours=Neighbours.REPLACE_ONE)
    sigma2 = gaussian_sigma2(
        Budget(epsilon=epsilon, delta=Fraction(1, 100_000)),
        l2_squared=adjacency.l2_squared,
        unit_moves=adjacency.unit_moves,
        count=len(cliques),
    ).value
    marginals = []
    for clique in cliques:
        exact = counts(codes, clique, [domain.shape[a] for a in clique])
        noisy = exact + simulate_discrete_gaussian(rng, sigma2, exact.shape)
        marginals.append(NoisyMarginal(clique, noisy, float(sigma2) ** 0.5))
    return Evidence(domain, tuple(marginals), float(len(codes)), True)


def run(name: str, arguments: argparse.Namespace) -> None:
    """A line for every seed, and that of the authors' program."""
    metrics = reference_metrics()
    cells = json.loads((DATA / f"{name}-domain.json").read_text())
    train, test = (
        pd.read_csv(DATA / f"{name}-{part}.csv")[list(cells)].to_numpy(dtype=np.int64)
        for part in ("train", "test")
    )
    domain = benchmark_domain(cells)
    generator = PrivateGSD(
        rows=arguments.rows, clip=arguments.clip, generations=arguments.generations
    )
    for seed in arguments.seeds:
        rng = np.random.default_rng(seed)
        evidence = simulated_evidence(
            domain, train, Fraction(arguments.epsilon), arguments.ways, rng
        )
        start = time.process_time()
        model = generator.fit(evidence, rng=rng, progress=lambda share, doing: None)
        seconds = time.process_time() - start
        found = metrics.evaluate(
            train,
            test,
            model.codes.astype(np.int64),
            list(cells.values()),
            list(cells).index(LABELS[name]),
            "eq:1",
            "classification",
        )
        values = [float(found[metric]) for metric in METRICS]
        label = f"{name} eps={arguments.epsilon} seed={seed}"
        print(f"{label:28}" + "".join(f"{value:11.4f}" for value in values) + f"{seconds:9.1f}")
        history = model.history
        print(
            f"  {history['generations']} generations ({history['ended']}), "
            f"{history['changes']} changes, fitness {history['fitness'][-1][1]:.5f}, peak "
            f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"
        )
    if Fraction(arguments.epsilon) == 1 and arguments.ways == 2:
        *values, seconds = AUTHORS[name]
        print(
            f"{'  the authors program':28}"
            + "".join(f"{value:11.4f}" for value in values)
            + f"{seconds:9.1f}"
        )


def compile_first() -> None:
    """Fit a tiny table, so that no line counts the time of compiling."""
    domain = benchmark_domain({"a": 2, "b": 2})
    marginal = NoisyMarginal((0, 1), np.ones((2, 2)), 0.0)
    PrivateGSD(rows=10, generations=1).fit(
        Evidence(domain, (marginal,), 4.0, True),
        rng=np.random.default_rng(0),
        progress=lambda share, doing: None,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", choices=sorted(LABELS), nargs="*", default=sorted(LABELS))
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--seeds", type=int, nargs="*", default=[1])
    parser.add_argument("--ways", type=int, default=2)
    parser.add_argument("--rows", type=int, default=PrivateGSD.rows)
    parser.add_argument("--generations", type=int, default=PrivateGSD.generations)
    parser.add_argument("--clip", action=argparse.BooleanOptionalAction, default=PrivateGSD.clip)
    arguments = parser.parse_args()
    if not DATA.exists():
        raise SystemExit(f"the benchmark tables are not at {DATA}; nothing was run")
    compile_first()
    print(f"{'':28}" + "".join(f"{metric:>11}" for metric in METRICS) + f"{'CPU s':>9}")
    for name in arguments.data:
        run(name, arguments)


if __name__ == "__main__":
    main()
