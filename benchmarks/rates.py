"""How fast the Wasserstein error falls with the number of records, for the measures of papers.

    python -m benchmarks.rates --runs 8 --out docs/wasserstein

Claim.   E W1 is of order n^(-1/d), up to logarithms, on tables of d numeric columns, for PMM,
         PMM-H, PSMM and the superregular walk; at d >= 2 the trees and PSMM beat the walk.
Source.  He, Vershynin, Zhu (2023), Theorem 11 and Corollaries 8 and 12; Boedihardjo, Strohmer,
         Vershynin (2024), Private measures, random walks, and synthetic data, Theorem 1.1.

Exponents are least-squares slopes of log mean error against log n over the upper half of the sizes.
Errors are exact W1 between the records' histograms on a grid that is finer than the error. Prints a
table, and writes rates.json and rates.png.
"""

import argparse
import json
import time
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from benchmarks.simulated import SimulatedCurator
from mechanisms.geometry.domain import Attribute, Domain, Kind
from mechanisms.geometry.grids import Axis, axis, product_space
from mechanisms.geometry.spaces import FiniteSpace
from mechanisms.geometry.transport import transport
from mechanisms.geometry.wasserstein import w1
from mechanisms.privacy.adjacency import Adjacency, Neighbours
from mechanisms.privacy.budget import Budget
from mechanisms.registry import MECHANISMS

NAMES = ("pmm", "pmm-h", "psmm", "superregular")
CELLS = {1: 8192, 2: 1024, 3: 256}  # of every column
EVALUATION = {2: 128, 3: 24}  # cells of the grid that errors are measured on
SIZES = {
    1: (100, 316, 1000, 3162, 10_000, 31_623, 100_000, 316_228, 1_000_000),
    2: (100, 316, 1000, 3162, 10_000, 31_623, 100_000),
    3: (100, 316, 1000, 3162, 10_000, 31_623, 100_000),
}
COLOURS = {"pmm": "#1f5a99", "pmm-h": "#3aa0c9", "psmm": "#2a7f4f", "superregular": "#c2571a"}

Codes = NDArray[np.int32]


def domain(dimensions: int) -> Domain:
    """Numeric columns of equally wide cells."""
    cells = CELLS[dimensions]
    return Domain(
        tuple(
            Attribute(
                name=f"x{position}",
                kind=Kind.NUMERIC,
                positions=(np.arange(cells) + 0.5) / cells,
                widths=np.full(cells, 1 / cells),
            )
            for position in range(dimensions)
        )
    )


def uniform(n: int, dimensions: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Records spread evenly."""
    return rng.random((n, dimensions))


def clusters(n: int, dimensions: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Records around three centres."""
    centres = np.array([0.2, 0.5, 0.85])[rng.integers(0, 3, n)]
    return np.clip(centres[:, None] + 0.05 * rng.normal(size=(n, dimensions)), 0, 1)


DATA: dict[str, Callable[[int, int, np.random.Generator], NDArray[np.float64]]] = {
    "uniform": uniform,
    "clusters": clusters,
}


def error(table: Domain, private: Codes, synthetic: Codes) -> float:
    """W1 between the two tables' distributions."""
    if len(table) == 1:
        cells = table.shape[0]
        shares = [
            np.bincount(codes[:, 0], minlength=cells) / len(codes) for codes in (private, synthetic)
        ]
        return float(w1(table.attributes[0], shares[0] - shares[1]))
    axes, space = evaluation_grid(len(table))
    histograms = []
    for codes in (private, synthetic):
        points = [a.table[codes[:, position]] for position, a in enumerate(axes)]
        cells = np.ravel_multi_index(tuple(points), tuple(a.points for a in axes))
        histograms.append(np.bincount(cells, minlength=space.size) / len(codes))
    return transport(space, histograms[0] - histograms[1])


@cache
def evaluation_grid(dimensions: int) -> tuple[tuple[Axis, ...], FiniteSpace]:
    """Where errors are measured."""
    axes = tuple(axis(a, EVALUATION[dimensions]) for a in domain(dimensions).attributes)
    return axes, product_space(axes)


def run(name: str, values: NDArray[np.float64], seed: int) -> float:
    """Error of one release of `values`, shape (n, d), with epsilon 1 under replace-one."""
    rng = np.random.default_rng(seed)
    n, dimensions = values.shape
    table, cells = domain(dimensions), CELLS[dimensions]
    codes = np.minimum((values * cells).astype(np.int32), cells - 1)
    adjacency = Adjacency(neighbours=Neighbours.REPLACE_ONE)
    mechanism = MECHANISMS[name]
    plan = mechanism.plan(
        table,
        budget=Budget(epsilon=Fraction(1)),
        adjacency=adjacency,
        expected_records=n,
        parameters={},
    )
    curator: Any = SimulatedCurator(codes=codes, adjacency=adjacency, rng=rng)
    measurements = mechanism.measure(curator, plan, mechanism.select(curator, plan))
    synthetic = mechanism.generate(
        plan, measurements, rows=None, rng=rng, progress=lambda share, doing: None
    )
    return error(table, codes, synthetic.codes)


def slope(sizes: NDArray[np.float64], errors: NDArray[np.float64]) -> float:
    """Exponent of n over the upper half of the sizes."""
    upper = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[upper:]), np.log(errors[upper:]), 1)[0])


def plot(results: dict[str, Any], path: Path) -> None:
    """Mean error against the number of records, one panel per dimension and kind of data."""
    figure, panels = plt.subplots(2, 3, figsize=(12, 7), sharex="col", constrained_layout=True)
    for (row, data), (column, dimensions) in product(enumerate(DATA), enumerate(SIZES)):
        panel, sizes = panels[row][column], np.array(SIZES[dimensions], dtype=float)
        top = 0.0
        for name in NAMES:
            entry = results[f"{data}, d={dimensions}, {name}"]
            mean = np.array(entry["mean"])
            top = max(top, mean[0])
            label = f"{name}  ({entry['slope']:.2f})"
            panel.loglog(sizes, mean, "o-", ms=3, color=COLOURS[name], label=label)
        reference = top * (sizes / sizes[0]) ** (-1 / dimensions)
        panel.loglog(sizes, reference, "k--", lw=0.8, label=f"$n^{{-1/{dimensions}}}$")
        panel.set_title(f"{data}, d = {dimensions}")
        panel.legend(fontsize=8, frameon=False, title="(fitted exponent)", title_fontsize=7)
        panel.spines[["top", "right"]].set_visible(False)
        if row == 1:
            panel.set_xlabel("records n")
        if column == 0:
            panel.set_ylabel("mean $W_1$, share of the diameter")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--out", type=Path, default=Path("docs/wasserstein"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    for data, dimensions, name in product(DATA, SIZES, NAMES):
        began = time.perf_counter()
        errors = [
            [
                run(name, DATA[data](n, dimensions, np.random.default_rng([seed, n])), seed)
                for seed in range(arguments.runs)
            ]
            for n in SIZES[dimensions]
        ]
        mean = np.mean(errors, axis=1)
        exponent = slope(np.array(SIZES[dimensions], dtype=float), mean)
        results[f"{data}, d={dimensions}, {name}"] = {
            "n": SIZES[dimensions],
            "mean": mean.tolist(),
            "standard_error": (np.std(errors, axis=1) / np.sqrt(arguments.runs)).tolist(),
            "slope": exponent,
        }
        shown = "  ".join(f"{value:.4f}" for value in mean)
        seconds = time.perf_counter() - began
        print(
            f"{data:9s} d={dimensions} {name:13s} slope {exponent:5.2f}  {shown}  [{seconds:.0f} s]"
        )
    (arguments.out / "rates.json").write_text(json.dumps(results, indent=1))
    plot(results, arguments.out / "rates.png")


if __name__ == "__main__":
    main()
