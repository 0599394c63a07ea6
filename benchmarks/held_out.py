"""The default against each of its parts, on tables on which no setting was chosen.

    python -m benchmarks.held_out --tables chains-60 binary-16 pay --seeds 11

Tables are made up by seed, but for the last two:

- `chains-D`: half of D columns come in chains of two to six, each following the one before, and the
  others have nothing to do with anything; `factors-D`: all follow three causes that they share.
  Columns have sixteen cells, or 2 to 32 in those called `-mixed`.
- `binary-D`: yes or no to D questions, some hard and some easy, that two abilities answer.
- `few-D`: columns of 2 to 5 cells in six latent classes; one in four is told by two others.
- `pay`: twelve columns of persons with a job; pay depends on several at once.
- `fair`, `anes96`: two public surveys that come with statsmodels, of 6,366 and 944 records.

Every table is released (replace one, delta 1e-5; measured by SimulatedCurator, whose answers must
not be published) by the default and by what it might do instead. Printed is the mean total
variation between private and released tables of all pairs, of those at least .1 from the product of
their margins (strong), of those nearer than .05 (weak), and of 300 triples drawn by seed; then CPU
seconds.
"""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from statsmodels import datasets

from benchmarks import simulated
from benchmarks.stress import shares, variation
from hallmark.mechanisms.arrays import Codes64, Floats
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.registry import MECHANISMS

ROWS = 20_000
CELLS = 16
STRONG, WEAK = 0.1, 0.05
TRIPLES = 300
FEW_CELLS = 250  # of all columns together, where all triples are still tried
MIXED = (2, 2, 3, 4, 5, 7, 9, 12, 16, 20, 32)


@dataclass(frozen=True)
class Table:
    """Codes, shape (rows, columns), and the cells of every column."""

    codes: Codes64
    cells: tuple[int, ...]


Law = Callable[[np.random.Generator], Table]


def chains(columns: int, rng: np.random.Generator) -> Table:
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
    return Table(np.column_stack(made[:columns]), (CELLS,) * columns)


def factors(columns: int, rng: np.random.Generator) -> Table:
    """Every column is a sum of three causes and its own noise, cut at random quantiles."""
    causes, made = rng.normal(size=(ROWS, 3)), []
    for _ in range(columns):
        value = causes @ (0.6 * rng.normal(size=3)) + rng.normal(size=ROWS)
        made.append(np.searchsorted(np.quantile(value, np.sort(rng.random(CELLS - 1))), value))
    return Table(np.column_stack(made).astype(np.int64), (CELLS,) * columns)


def _column(rng: np.random.Generator) -> Codes64:
    return rng.choice(CELLS, size=ROWS, p=rng.dirichlet(np.full(CELLS, 1.5)))


def mixed(law: Law, rng: np.random.Generator) -> Table:
    """A table of that law with columns of few cells and of many."""
    made, cells = [], []
    for code in law(rng).codes.T:
        size = int(rng.choice(MIXED))
        if size <= CELLS:
            cuts = np.sort(rng.choice(np.arange(1, CELLS), size - 1, replace=False))
            made.append(np.searchsorted(cuts, code, side="right"))
        else:  # each cell is a range of finer ones
            made.append(code * size // CELLS + rng.integers(size // CELLS, size=len(code)))
        cells.append(size)
    return Table(np.column_stack(made), tuple(cells))


def binary(columns: int, rng: np.random.Generator) -> Table:
    """Answers of persons with two abilities to questions that ask for one or both of them."""
    abilities = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=ROWS)
    asked = rng.gamma(2, 0.8, size=(2, columns)) * (rng.random((2, columns)) < 0.7)
    hard = rng.normal(1.2, 1.0, size=columns)
    odds = abilities @ asked - hard
    return Table((rng.logistic(size=odds.shape) < odds).astype(np.int64), (2,) * columns)


def few(columns: int, rng: np.random.Generator) -> Table:
    """Latent classes, and columns that two others tell together, but for one record in seven."""
    cells = tuple(int(size) for size in rng.integers(2, 6, size=columns))
    member = rng.choice(6, size=ROWS, p=rng.dirichlet(np.full(6, 2.0)))
    made: list[Codes64] = []
    for a, size in enumerate(cells):
        if a >= 2 and a % 4 == 3:
            causes = rng.choice(a, 2, replace=False)
            told = rng.integers(size, size=[cells[b] for b in causes])
            code = told[made[causes[0]], made[causes[1]]]
            own = rng.integers(size, size=ROWS)
            made.append(np.where(rng.random(ROWS) < 1 / 7, own, code))
        else:
            laws = rng.dirichlet(np.ones(size), size=6).cumsum(axis=1)[:, :-1]
            made.append((rng.random(ROWS)[:, None] > laws[member]).sum(axis=1))
    return Table(np.column_stack(made), cells)


def pay(rng: np.random.Generator) -> Table:
    """Persons with a job: pay rises with age for some kinds of work only, and differs by region."""
    rows = 15_000
    sex, region = rng.integers(2, size=rows), rng.choice(10, size=rows, p=rng.dirichlet([3] * 10))
    age = rng.choice(12, size=rows, p=rng.dirichlet([6] * 12))
    school = np.clip(rng.poisson(2.2 - 0.08 * age + 0.1 * (region < 3), size=rows), 0, 5)
    suited = rng.normal(size=(6, 2, 16))
    work = (suited[school, sex] + rng.gumbel(size=(rows, 16))).argmax(axis=1)
    part = rng.random(rows) < np.where(sex == 1, 0.35, 0.1) + 0.02 * (age > 9)
    hours = np.clip(np.rint(np.where(part, 2, 5) + rng.normal(size=rows)), 0, 7)
    tenure = np.minimum(rng.geometric(0.2, size=rows) - 1, age)
    rise, level = rng.normal(0.03, 0.03, size=16), rng.normal(0, 0.3, size=16)
    log_pay = level[work] + rise[work] * age + 0.12 * school + 0.02 * tenure + 0.12 * hours
    log_pay += np.where((sex == 1) & (age > 4), -0.1, 0) + rng.normal(0, 0.05, size=10)[region]
    log_pay += rng.normal(0, 0.3, size=rows)
    earned = np.searchsorted(np.quantile(log_pay, np.arange(1, 24) / 24), log_pay)
    bonus = np.where(rng.random(rows) < 0.75 - 0.02 * earned, 0, 1 + rng.poisson(earned / 8))
    union = rng.random(rows) < rng.beta(1, 3, size=16)[work]
    children = np.minimum(rng.poisson(np.where((age > 2) & (age < 9), 1.2, 0.2)), 3)
    columns = [region, sex, age, school, work, part, hours, tenure, earned]
    columns += [np.minimum(bonus, 7), union, children]
    cells = (10, 2, 12, 6, 16, 2, 8, 12, 24, 8, 2, 4)
    return Table(np.column_stack(columns).astype(np.int64), cells)


def survey(name: str, _: np.random.Generator) -> Table:
    """A survey of statsmodels; numbers of more than eight values are cut in eight at quantiles."""
    made, cells = [], []
    for values in getattr(datasets, name).load_pandas().data.to_numpy(dtype=float).T:
        known = np.unique(values)
        if len(known) > 8:
            known = np.unique(np.quantile(values, np.arange(8) / 8))
        made.append(np.searchsorted(known, values, side="right") - 1)
        cells.append(len(known))
    return Table(np.column_stack(made), tuple(cells))


_WIDE = {
    f"{law.__name__}-{columns}": partial(law, columns)
    for columns in (30, 60, 100)
    for law in (chains, factors)
}
TABLES: Mapping[str, Law] = {
    **_WIDE,
    **{f"{name}-mixed": partial(mixed, law) for name, law in _WIDE.items()},
    **{f"binary-{columns}": partial(binary, columns) for columns in (16, 30, 60)},
    **{f"few-{columns}": partial(few, columns) for columns in (8, 16, 40)},
    "pay": pay,
    "fair": partial(survey, "fair"),
    "anes96": partial(survey, "anes96"),
}
METHODS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "default": ("privpgd", {}),
    "all pairs": ("privpgd", {"selection": "all"}),
    "all triples": ("privpgd", {"selection": {"method": "all", "ways": 3}}),
    "strongest": ("privpgd", {"selection": "strongest"}),
    "mst": ("mst", {}),
    "columns": ("privpgd", {"selection": {"ways": 1, "emphasis": 0, "coarse": 0}}),
}


def released(table: Table, method: str, epsilon: str, seed: int) -> Codes64:
    """Records made by a method."""
    name, parameters = METHODS[method]
    domain = Domain.coded({f"c{a}": size for a, size in enumerate(table.cells)})
    mechanism = MECHANISMS[name]
    plan = mechanism.plan(simulated.asked(domain, table.codes, epsilon, parameters=parameters))
    _, made = simulated.released(mechanism, plan, table.codes, np.random.default_rng(seed))
    return made.codes.astype(np.int64)


def variations(table: Table, cliques: Sequence[Clique], made: Codes64 | None) -> Floats:
    """Total variation of each marginal from the private one: of records, or of the product of its
    one-way margins."""
    found = []
    for clique in cliques:
        truth = shares(table.codes, clique, table.cells)
        if made is None:
            other = np.ones(1)
            for a in clique:
                other = np.outer(other, shares(table.codes, (a,), table.cells)).ravel()
        else:
            other = shares(made, clique, table.cells)
        found.append(variation(truth, other))
    return np.array(found)


def figures(table: Table, made: Codes64 | None, seed: int) -> list[float]:
    """Means over all, strong and weak pairs, and over triples."""
    columns = range(len(table.cells))
    pairs, triples = list(combinations(columns, 2)), list(combinations(columns, 3))
    drawn = np.random.default_rng(seed).permutation(len(triples))[:TRIPLES]
    product, own = variations(table, pairs, None), variations(table, pairs, made)
    some = [own, own[product >= STRONG], own[product < WEAK]]
    some.append(variations(table, [triples[i] for i in drawn], made))
    return [float(one.mean()) if len(one) else float("nan") for one in some]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--seeds", type=int, nargs="*", default=[11])
    asked = parser.parse_args()
    print("| table | seed | what | all | strong | weak | triples | CPU s |\n|" + "---|" * 8)
    for name in asked.tables:
        for seed in asked.seeds:
            table = TABLES[name](np.random.default_rng([seed, *name.encode()]))
            _line([name, seed, "product of margins"], figures(table, None, seed), "")
            for method in asked.methods:
                if method == "all triples" and sum(table.cells) > FEW_CELLS:
                    continue
                begun = time.process_time()
                made = released(table, method, asked.epsilon, seed)
                spent = f"{time.process_time() - begun:.0f}"
                _line([name, seed, method], figures(table, made, seed), spent)


def _line(head: Sequence[Any], means: Sequence[float], spent: str) -> None:
    print(
        "| " + " | ".join([*map(str, head), *(f"{mean:.4f}" for mean in means), spent]) + " |",
        flush=True,
    )


if __name__ == "__main__":
    main()
