"""Wide tables: what is left of strong and of weak dependence where pairs are many.

    python -m benchmarks.wide --columns 30 60 100 --seeds 11

Tables are made up by seed. In `chains` half of the columns come in chains of two to six, each
following the one before, and the others have nothing to do with anything; in `factors` all follow
three causes that they share. Columns have sixteen cells, or 2 to 32 in tables called `mixed`. No
setting was chosen on these seeds, nor on chains of such lengths.

Every table is released (replace one, delta 1e-5; measured by SimulatedCurator, whose answers must
not be published) by the default and by what it might do instead: all pairs, the strongest ones, a
tree (`mst`), and columns alone. Printed is the mean total variation between private and released
tables of all pairs, of those at least .1 from the product of their margins (strong), and of those
nearer than .05 (weak), that of the product itself, and CPU seconds.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from benchmarks import simulated
from benchmarks.stress import shares, variation
from hallmark.mechanisms.arrays import Codes64, Floats
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.registry import MECHANISMS

ROWS = 20_000
CELLS = 16
STRONG, WEAK = 0.1, 0.05
MIXED = (2, 2, 3, 4, 5, 7, 9, 12, 16, 20, 32)


@dataclass(frozen=True)
class Wide:
    """A table: its codes, shape (rows, columns), and the cells of every column."""

    codes: Codes64
    cells: tuple[int, ...]


def chains(columns: int, rng: np.random.Generator) -> Codes64:
    """Half of the columns in chains, each a noisy step from the one before; the rest alone."""
    made: list[Codes64] = []
    while len(made) < columns // 2:
        code = _column(rng)
        made.append(code)
        for _ in range(int(rng.integers(1, 6))):
            names = rng.permutation(CELLS) if rng.random() < 0.5 else np.arange(CELLS)
            step = np.rint(rng.normal(scale=1.5, size=ROWS)).astype(np.int64)
            code = names[np.clip(code + step, 0, CELLS - 1)]
            code = np.where(rng.random(ROWS) < 0.2, rng.integers(CELLS, size=ROWS), code)
            made.append(code)
    made += [_column(rng) for _ in range(columns - len(made))]
    return np.column_stack(made[:columns])


def factors(columns: int, rng: np.random.Generator) -> Codes64:
    """Every column is a sum of three causes and its own noise, cut at random quantiles."""
    causes, made = rng.normal(size=(ROWS, 3)), []
    for _ in range(columns):
        value = causes @ (0.6 * rng.normal(size=3)) + rng.normal(size=ROWS)
        made.append(np.searchsorted(np.quantile(value, np.sort(rng.random(CELLS - 1))), value))
    return np.column_stack(made).astype(np.int64)


def _column(rng: np.random.Generator) -> Codes64:
    return rng.choice(CELLS, size=ROWS, p=rng.dirichlet(np.full(CELLS, 1.5)))


def mixed(codes: Codes64, rng: np.random.Generator) -> Wide:
    """The table with columns of few cells and of many."""
    made, cells = [], []
    for code in codes.T:
        size = int(rng.choice(MIXED))
        if size <= CELLS:
            cuts = np.sort(rng.choice(np.arange(1, CELLS), size - 1, replace=False))
            made.append(np.searchsorted(cuts, code, side="right"))
        else:  # each cell is a range of finer ones
            made.append(code * size // CELLS + rng.integers(size // CELLS, size=len(code)))
        cells.append(size)
    return Wide(np.column_stack(made), tuple(cells))


def tables(columns: int, seed: int) -> Iterator[tuple[str, Wide]]:
    """All tables of so many columns."""
    for law in (chains, factors):
        rng = np.random.default_rng([seed, columns])
        codes = law(columns, rng)
        yield law.__name__, Wide(codes, (CELLS,) * columns)
        yield f"{law.__name__}, mixed", mixed(codes, rng)


METHODS = {
    "default": ("privpgd", {}),
    "all pairs": ("privpgd", {"selection": "all"}),
    "strongest": ("privpgd", {"selection": "strongest"}),
    "mst": ("mst", {}),
    "columns": ("privpgd", None),
}


def released(table: Wide, method: str, epsilon: str, seed: int) -> Codes64:
    """Records made by a method."""
    name, parameters = METHODS[method]
    names = [f"c{a}" for a in range(len(table.cells))]
    if parameters is None:
        alone = [{"columns": [own]} for own in names]
        parameters = {"selection": {"workload": alone, "emphasis": 0, "coarse": 0}}
    domain = Domain.coded(dict(zip(names, table.cells, strict=True)))
    mechanism = MECHANISMS[name]
    plan = mechanism.plan(simulated.asked(domain, table.codes, epsilon, parameters=parameters))
    _, made = simulated.released(mechanism, plan, table.codes, np.random.default_rng(seed))
    return made.codes.astype(np.int64)


def variations(table: Wide, made: Codes64 | None) -> Floats:
    """Total variation of every pair from the private one: of records, or of products of margins."""
    found = []
    for a, b in combinations(range(len(table.cells)), 2):
        truth = shares(table.codes, (a, b), table.cells)
        if made is None:
            margins = (shares(table.codes, (own,), table.cells) for own in (a, b))
            other = np.outer(*margins).ravel()
        else:
            other = shares(made, (a, b), table.cells)
        found.append(variation(truth, other))
    return np.array(found)


def line(head: str, own: Floats, product: Floats) -> str:
    """Means over all, strong and weak pairs."""
    strong, weak = product >= STRONG, product < WEAK
    means = [own.mean(), own[strong].mean(), own[weak].mean()]
    return f"| {head} | " + " | ".join(f"{mean:.4f}" for mean in means)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--columns", type=int, nargs="*", default=[30, 60, 100])
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--seeds", type=int, nargs="*", default=[11])
    asked = parser.parse_args()
    print("| columns | table | what | all | strong | weak | CPU s |\n|---|---|---|---|---|---|---|")
    for columns in asked.columns:
        for seed in asked.seeds:
            for name, table in tables(columns, seed):
                product = variations(table, None)
                print(line(f"{columns} | {name} | product of margins", product, product) + " | |")
                for method in asked.methods:
                    begun = time.process_time()
                    made = released(table, method, asked.epsilon, seed)
                    spent = time.process_time() - begun
                    told = line(f"{columns} | {name} | {method}", variations(table, made), product)
                    print(f"{told} | {spent:.0f} |", flush=True)


if __name__ == "__main__":
    main()
