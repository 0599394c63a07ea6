"""Persons with incomes, in units of money, and districts, in regions: a table made up by seed.

No setting was chosen on it. Numbers have many own cells, a few of which are a bin in which they are
measured with other columns, as `detail` and `groups` of a spec have it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hallmark.mechanisms.arrays import Codes64, Floats

ROWS = 12_000
DISTRICTS, REGIONS = 60, 6


@dataclass(frozen=True, eq=False)
class Incomes:
    """Codes, shape (rows, columns); the cells of every column; and the bin of every cell of those
    that have bins."""

    codes: Codes64
    cells: Mapping[str, int]
    bins: Mapping[str, tuple[int, ...]]


def incomes(rng: np.random.Generator) -> Incomes:
    """Draw the table."""
    district = rng.choice(DISTRICTS, ROWS, p=rng.dirichlet([2] * DISTRICTS))
    region = np.arange(DISTRICTS) * REGIONS // DISTRICTS
    sex = rng.integers(2, size=ROWS)
    age = np.clip(rng.normal(42, 15, ROWS), 15, 94).astype(np.int64) - 15
    school = np.clip(rng.poisson(2.4 - 0.012 * age), 0, 5)
    sector = (rng.normal(size=(6, 2, 9))[school, sex] + rng.gumbel(size=(ROWS, 9))).argmax(axis=1)
    hours = np.clip(rng.normal(np.where((sex == 1) & (age > 12), 28, 38), 7), 0, 59)
    works = rng.random(ROWS) < np.where(age < 50, 0.85, 0.15)
    rich = rng.normal(0, 0.12, DISTRICTS)[district]
    log_income = (
        7.1 + 0.13 * school + rng.normal(0, 0.15, 9)[sector] + rich + 0.012 * np.minimum(age, 40)
    )
    log_income += np.log(np.maximum(hours, 4) / 38) + rng.normal(0, 0.45, ROWS)
    log_income += np.where((sex == 1) & (sector < 3), -0.15, 0.0)
    income = np.where(works, np.exp(log_income), 0.0)
    wealth = np.where(
        rng.random(ROWS) < 0.3 + 0.005 * age, np.exp(8 + 0.9 * rng.normal(size=ROWS) + rich), 0.0
    )
    rent = np.exp(6.1 + 2 * rich + rng.normal(0, 0.25, ROWS)) + 0.03 * income
    spent = np.clip(0.5 * income + rng.gamma(4, 120, ROWS), 0, None)
    children = np.minimum(rng.poisson(np.where((age > 10) & (age < 32), 1.3, 0.2)), 4)
    columns = {
        "district": (district, DISTRICTS, region),
        "sex": (sex, 2, None),
        "age": (age, 80, np.arange(80) // 5),
        "school": (school, 6, None),
        "sector": (sector, 9, None),
        "hours": _number(hours, 1, 60, 5),
        "income": _number(income, 10, 800, 40),
        "wealth": _number(wealth, 50, 1000, 40),
        "rent": _number(rent, 10, 300, 15),
        "spent": _number(spent, 10, 600, 30),
        "children": (children, 5, None),
        "works": (works, 2, None),
    }
    return Incomes(
        np.column_stack([codes for codes, _, _ in columns.values()]).astype(np.int64),
        {name: cells for name, (_, cells, _) in columns.items()},
        {name: tuple(map(int, of)) for name, (_, _, of) in columns.items() if of is not None},
    )


def _number(values: Floats, unit: int, cells: int, bin_cells: int) -> tuple[Codes64, int, Codes64]:
    """Cells of one unit each, the last open above; their number; and their bins."""
    codes = np.minimum(values // unit, cells - 1).astype(np.int64)
    return codes, cells, np.arange(cells) // bin_cells
