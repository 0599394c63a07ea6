"""The two coded tables that methods are compared on, with their public domains."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from hallmark.mechanisms.arrays import Codes64

ROOT = Path(__file__).parents[1]
DATA = ROOT / "../shared/data/benchmark"
LABELS = {"adult": "income>50K", "acs_nat": "OWN_RENT"}
"""The column that users predict (whether its code is 1), by table."""


@dataclass(frozen=True, eq=False)
class Table:
    """A coded table, split for good into private records and held-out ones.

    Attributes:
        cells: number of cells by column.
        train: the private records, shape (n, columns).
        test: held out for the downstream error; no method sees them.
        label: position of the column that is predicted.
    """

    name: str
    cells: dict[str, int]
    train: Codes64
    test: Codes64
    label: int


def load(name: str) -> Table:
    """One of the tables.

    Raises:
        FileNotFoundError: the files are not there.
    """
    domain = DATA / f"{name}-domain.json"
    if not domain.exists():
        raise FileNotFoundError(
            f"the benchmark table {name!r} is not at {DATA.resolve()}; put {domain.name}, "
            f"{name}-train.csv and {name}-test.csv there"
        )
    cells: dict[str, int] = json.loads(domain.read_text())
    train, test = (
        pd.read_csv(DATA / f"{name}-{part}.csv")[list(cells)].to_numpy(dtype=np.int64)
        for part in ("train", "test")
    )
    return Table(name, cells, train, test, list(cells).index(LABELS[name]))
