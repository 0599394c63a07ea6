"""Tables and workloads that methods for linear queries are compared on.

`binary` asks yes/no questions about census income records (UCI Adult), the first d of twenty. All
are answers of real people, so they depend on each other, and some exclude others: whoever is
married is not "never married". Nothing is invented to reach twenty columns: some columns are asked
about twice, with other thresholds. `acs-binary` asks sixteen of the national excerpt of the
American Community Survey. `adult` and `acs` are six categorical columns each of the coded tables of
`benchmarks/data.py`, with a universe of some 60,000 combinations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product

import numpy as np
import pandas as pd

from benchmarks.data import EXCERPTS, adult, load
from hallmark.mechanisms.arrays import Codes64
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.linear_queries.kinds import conjunction, marginal_cells
from hallmark.mechanisms.linear_queries.workload import Workload

MANUAL = ("Craft-repair", "Machine-op-inspct", "Transport-moving", "Handlers-cleaners")

Questions = dict[str, Callable[[pd.DataFrame], "pd.Series[bool]"]]

OF_ADULT: Questions = {
    "male": lambda t: t["sex"] == "Male",
    "40 or older": lambda t: t["age"] >= 40,
    "married": lambda t: t["marital_status"] == "Married-civ-spouse",
    "earns over 50K": lambda t: t["income"] == ">50K",
    "over 40 hours": lambda t: t["hours_per_week"] > 40,
    "has a degree": lambda t: t["education_num"] >= 13,
    "private employer": lambda t: t["workclass"] == "Private",
    "white": lambda t: t["race"] == "White",
    "born in the US": lambda t: t["native_country"] == "United-States",
    "capital gain": lambda t: t["capital_gain"] > 0,
    "never married": lambda t: t["marital_status"] == "Never-married",
    "25 or older": lambda t: t["age"] >= 25,
    "child of the household": lambda t: t["relationship"] == "Own-child",
    "professional": lambda t: t["occupation"].isin(["Prof-specialty", "Exec-managerial"]),
    "some college": lambda t: t["education_num"] >= 10,
    "under 35 hours": lambda t: t["hours_per_week"] < 35,
    "capital loss": lambda t: t["capital_loss"] > 0,
    "manual work": lambda t: t["occupation"].isin(MANUAL),
    "55 or older": lambda t: t["age"] >= 55,
    "self-employed": lambda t: t["workclass"].isin(["Self-emp-not-inc", "Self-emp-inc"]),
}
OF_ACS: Questions = {
    "male": lambda t: t["SEX"] == 1,
    "40 or older": lambda t: t["AGEP"] >= 40,
    "married": lambda t: t["MSP"].isin([1, 2]),
    "income in the upper half": lambda t: t["PINCP_DECILE"] >= 5,
    "owner": lambda t: t["OWN_RENT"] == 1,
    "has a degree": lambda t: t["EDU"] >= 10,
    "white": lambda t: t["RAC1P"] == 1,
    "difficulty walking": lambda t: t["DPHY"] == 1,
    "children in the household": lambda t: t["NOC"] >= 1,
    "never married": lambda t: t["MSP"] == 6,
    "under 18": lambda t: t["AGEP"] < 18,
    "poor": lambda t: t["POVPIP"] < 100,
    "works or worked lately": lambda t: t["INDP"].notna(),
    "difficulty remembering": lambda t: t["DREM"] == 1,
    "65 or older": lambda t: t["AGEP"] >= 65,
    "difficulty hearing": lambda t: t["DEAR"] == 1,
}


def _acs() -> pd.DataFrame:
    return pd.read_csv(EXCERPTS / "national2019.csv.gz", na_values=["N"])


BINARY = {"binary": (adult, OF_ADULT), "acs-binary": (_acs, OF_ACS)}
CATEGORICAL = {
    "adult": (
        "adult",
        ("workclass", "education", "marital-status", "occupation", "sex", "income>50K"),
    ),
    "acs": ("acs_nat", ("SEX", "MSP", "RAC1P", "OWN_RENT", "EDU", "PINCP_DECILE")),
}
RANDOM_WAYS = (2, 3, 4)  # columns of a random conjunction


@dataclass(frozen=True, eq=False)
class Table:
    """Coded records with their public domain."""

    domain: Domain
    codes: Codes64


@cache
def answered(data: str) -> Codes64:
    """Answers of all records of a table of `BINARY` to all its questions, shape (n, questions).

    Raises:
        SystemExit: the records are not here; says where to get them.
    """
    read, questions = BINARY[data]
    table = read()
    return np.stack([ask(table).to_numpy(dtype=np.int64) for ask in questions.values()], axis=1)


def table(data: str, columns: int, records: int | None, seed: int) -> Table:
    """So many records and columns; where there are more records, a random sample.

    Args:
        data: a name of `BINARY`, or of `CATEGORICAL`, of which all columns are taken.
        records: all where None.
    """
    if data in BINARY:
        codes = answered(data)[:, :columns]
        domain = Domain.coded(dict.fromkeys(list(BINARY[data][1])[:columns], 2))
    else:
        source, names = CATEGORICAL[data]
        loaded = load(source)
        codes = loaded.train[:, [list(loaded.cells).index(name) for name in names]]
        domain = Domain.coded({name: loaded.cells[name] for name in names})
    if records is not None:
        rng = np.random.default_rng([seed, records])
        codes = codes[rng.choice(len(codes), records, replace=False)]
    return Table(domain, codes)


def workload(name: str, domain: Domain, seed: int) -> Workload:
    """`3-way`: all cells of the marginals of so many columns. `100 random`: so many different
    conjunctions of two to four columns, drawn from all there are of a binary domain."""
    count, kind = name.split("-") if name.endswith("-way") else name.split(" ")
    if kind == "way":
        return Workload.of(
            domain, marginal_cells(domain, list(combinations(range(len(domain)), int(count))))
        )
    every = [
        dict(zip(columns, values, strict=True))
        for ways in RANDOM_WAYS
        for columns in combinations(range(len(domain)), ways)
        for values in product(range(2), repeat=ways)
    ]
    drawn = np.random.default_rng(seed).choice(len(every), int(count), replace=False)
    parts = [
        conjunction(domain, {column: [value] for column, value in every[i].items()}, f"{i}")
        for i in drawn
    ]
    return Workload.of(domain, parts)
