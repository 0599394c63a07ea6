"""How fast the Wasserstein error falls with the number of records, for the measures of papers.

    python -m benchmarks.rates --runs 8 --out docs/wasserstein

Claim.   E W1 is of order n^(-1/d), up to logarithms, on tables of d numeric columns, for PMM,
         PMM-H, PSMM and the superregular walk; at d >= 2 the trees and PSMM beat the walk. The
         largest W1 over all marginals of s columns is of order n^(-1/s) for the sparse-Lipschitz
         release of d = 4 columns, on the support of as many public records as it takes by default.
Source.  He, Vershynin, Zhu (2023), Theorem 11 and Corollaries 8 and 12; Boedihardjo, Strohmer,
         Vershynin (2024), Private measures, random walks, and synthetic data, Theorem 1.1;
         "Certified private data release for sparse Lipschitz functions" (AISTATS 2024), Theorem 1.

Exponents are least-squares slopes of log mean error against log n over the upper half of the sizes.
Errors are exact W1 between the records' histograms on a grid that is finer than the error. Prints a
table, and writes rates.json and rates.png.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from benchmarks import simulated
from hallmark.mechanisms.arrays import Codes
from hallmark.mechanisms.catalogue import CATALOGUE
from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.geometry.grids import Axis, axis, product_space
from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.geometry.transport import transport
from hallmark.mechanisms.geometry.wasserstein import w1
from hallmark.mechanisms.registry import MECHANISMS

SIZES = (100, 316, 1000, 3162, 10_000, 31_623, 100_000)
LONG = (*SIZES, 316_228, 1_000_000)
CELLS = {1: 8192, 2: 1024, 3: 256, 4: 1024}  # of every column of a table with so many
EVALUATION = {2: 128, 3: 24}  # cells of the grid that errors of so many columns are measured on
PUBLIC_RECORDS = 4000
COLOURS = ("#1f5a99", "#3aa0c9", "#2a7f4f", "#c2571a")


@dataclass(frozen=True)
class Case:
    """A mechanism with its parameters, and the columns that are compared together."""

    label: str
    mechanism: str
    together: int
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Panel:
    """Tables of some dimension and sizes, and what is run on them."""

    title: str
    dimensions: int
    sizes: tuple[int, ...]
    cases: tuple[Case, ...]


NAMES = ("pmm", "pmm-h", "psmm", "superregular")
SPARSE = tuple(Case(f"s = {s}", "sparse-lipschitz", s, {"marginals": s}) for s in (1, 2))
PANELS = (
    *(
        Panel(
            f"d = {d}", d, LONG if d == 1 else SIZES, tuple(Case(name, name, d) for name in NAMES)
        )
        for d in (1, 2, 3)
    ),
    Panel("sparse-lipschitz, d = 4", 4, SIZES, SPARSE),
)


def domain(dimensions: int) -> Domain:
    """Numeric columns of equally wide cells."""
    return Domain(tuple(column(CELLS[dimensions], f"x{i}") for i in range(dimensions)))


def column(cells: int, name: str = "x") -> Attribute:
    """Numbers on [0, 1]."""
    return Attribute(
        name=name,
        kind=Kind.NUMERIC,
        positions=(np.arange(cells) + 0.5) / cells,
        widths=np.full(cells, 1 / cells),
    )


def coded(values: NDArray[np.float64]) -> Codes:
    """Cells of values in [0, 1], shape (n, d)."""
    cells = CELLS[values.shape[1]]
    return np.minimum((values * cells).astype(np.int32), cells - 1)


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


def largest_error(private: Codes, synthetic: Codes, together: int) -> float:
    """The largest W1 between the two tables' marginals of so many columns."""
    table = domain(private.shape[1])
    return max(
        error(
            Domain(tuple(table.attributes[column] for column in columns)),
            private[:, columns],
            synthetic[:, columns],
        )
        for columns in combinations(range(private.shape[1]), together)
    )


def error(table: Domain, private: Codes, synthetic: Codes) -> float:
    """W1 between the two tables' distributions."""
    if len(table) == 1:
        cells = table.shape[0]
        shares = [
            np.bincount(codes[:, 0], minlength=cells) / len(codes) for codes in (private, synthetic)
        ]
        return float(w1(table.attributes[0], shares[0] - shares[1]))
    axes, space = evaluation_grid(table.shape)
    histograms = []
    for codes in (private, synthetic):
        points = [a.table[codes[:, position]] for position, a in enumerate(axes)]
        cells = np.ravel_multi_index(tuple(points), tuple(a.points for a in axes))
        histograms.append(np.bincount(cells, minlength=space.size) / len(codes))
    return transport(space, histograms[0] - histograms[1])


@cache
def evaluation_grid(shape: tuple[int, ...]) -> tuple[tuple[Axis, ...], FiniteSpace]:
    """Where errors are measured."""
    axes = tuple(axis(column(cells), EVALUATION[len(shape)]) for cells in shape)
    return axes, product_space(axes)


def run(case: Case, data: str, dimensions: int, n: int, seed: int) -> float:
    """Error of one release with epsilon 1 under replace-one."""
    rng = np.random.default_rng([seed, n])
    codes = coded(DATA[data](n, dimensions, rng))
    public = None
    if CATALOGUE[case.mechanism].takes_public_data:
        public = coded(DATA[data](PUBLIC_RECORDS, dimensions, rng))
    mechanism = MECHANISMS[case.mechanism]
    request = simulated.asked(
        domain(dimensions), codes, 1, delta=Fraction(0), parameters=case.parameters, public=public
    )
    _, synthetic = simulated.released(mechanism, mechanism.plan(request), codes, rng)
    return largest_error(codes, synthetic.codes, case.together)


def slope(sizes: NDArray[np.float64], errors: NDArray[np.float64]) -> float:
    """Exponent of n over the upper half of the sizes."""
    upper = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[upper:]), np.log(errors[upper:]), 1)[0])


def plot(results: dict[str, Any], path: Path) -> None:
    """Mean error against the number of records, one panel per dimension and kind of data."""
    figure, axes = plt.subplots(2, 4, figsize=(15, 7), sharex="col", constrained_layout=True)
    for (row, data), (position, panel) in product(enumerate(DATA), enumerate(PANELS)):
        drawn, sizes = axes[row][position], np.array(panel.sizes, dtype=float)
        for case, colour in zip(panel.cases, COLOURS, strict=False):
            entry = results[f"{data}, {panel.title}, {case.label}"]
            label = f"{case.label}  ({entry['slope']:.2f})"
            drawn.loglog(sizes, entry["mean"], "o-", ms=3, color=colour, label=label)
        tops = {
            case.together: entry["mean"][0]
            for case in panel.cases
            for entry in [results[f"{data}, {panel.title}, {case.label}"]]
        }
        for together, top in tops.items():
            reference = top * (sizes / sizes[0]) ** (-1 / together)
            drawn.loglog(sizes, reference, "k--", lw=0.8, label=f"$n^{{-1/{together}}}$")
        drawn.set_title(f"{data}, {panel.title}")
        drawn.legend(fontsize=8, frameon=False, title="(fitted exponent)", title_fontsize=7)
        drawn.spines[["top", "right"]].set_visible(False)
        if row == 1:
            drawn.set_xlabel("records n")
        if position == 0:
            drawn.set_ylabel("mean $W_1$, share of the diameter")
    figure.savefig(path, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--out", type=Path, default=Path("docs/wasserstein"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    for data, panel in product(DATA, PANELS):
        for case in panel.cases:
            began = time.perf_counter()
            errors = [
                [run(case, data, panel.dimensions, n, seed) for seed in range(arguments.runs)]
                for n in panel.sizes
            ]
            mean = np.mean(errors, axis=1)
            exponent = slope(np.array(panel.sizes, dtype=float), mean)
            results[f"{data}, {panel.title}, {case.label}"] = {
                "n": panel.sizes,
                "mean": mean.tolist(),
                "standard_error": (np.std(errors, axis=1) / np.sqrt(arguments.runs)).tolist(),
                "slope": exponent,
            }
            shown = "  ".join(f"{value:.4f}" for value in mean)
            seconds = time.perf_counter() - began
            name = f"{data}, {panel.title}, {case.label}"
            print(f"{name:42s} slope {exponent:5.2f}  {shown}  [{seconds:.0f} s]", flush=True)
    (arguments.out / "rates.json").write_text(json.dumps(results, indent=1))
    plot(results, arguments.out / "rates.png")


if __name__ == "__main__":
    main()
