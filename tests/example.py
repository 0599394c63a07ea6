"""A small private table with a spec, for tests of whole releases."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from ruamel.yaml import YAML

if TYPE_CHECKING:
    from hallmark.mechanisms.privacy.ledger.ledger import Entry

SOURCE = {"kind": "public", "reference": "made up for the tests"}


def table(rows: int = 3000, seed: int = 7) -> pd.DataFrame:
    """Ages, incomes that follow them, a region, a date and a person; with nulls."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, rows)
    income = np.where(age < 15, np.nan, np.round(rng.gamma(2, 12, rows) * (1 + age / 50), 1))
    return pd.DataFrame(
        {
            "age": age,
            "income": np.clip(income, 0, 400),
            "region": rng.choice(["01", "02", "07"], rows, p=[0.6, 0.3, 0.1]),
            "employed": np.where(age < 15, 0, rng.random(rows) < 0.6).astype(int),
            "since": pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 3650, rows), "D"),
            "person": [f"person-{i}" for i in rng.integers(0, rows // 2, rows)],
        }
    )


def spec(source: Path, **changes: Any) -> dict[str, Any]:
    """The spec of `table` as plain values; `changes` replaces whole sections."""
    column = {"outside": "refuse", "bound_source": SOURCE}
    return {
        "hallmark": 1,
        "release": "test-release",
        "title": "A table made up for the tests",
        "population": {"account": "test-people"},
        "data": {
            "source": str(source),
            "null_markers": ["NA"],
            "expected_rows": 3000,
            "record": "one person",
            "ignore": ["person"],
        },
        "privacy": {"neighbours": "replace_one", "unit": "record", "epsilon": "1", "delta": "1e-5"},
        "mechanism": {"name": "privpgd"},
        "columns": {
            "age": {
                "type": "numeric", "integer": True, "minimum": 0, "maximum": 99,
                "cell_width": 10, "unit": "years", **column,
            },
            "income": {
                "type": "numeric", "minimum": 0, "maximum": 400, "cells": 8, "nulls": True,
                "unit": "dollars", **column, "outside": "clamp",
            },
            "region": {
                "type": "nominal", "categories": {"01": "north", "02": "south", "07": "east"},
                **column,
            },
            "employed": {
                "type": "boolean", "values": {"1": True, "0": False}, "outside": "refuse",
            },
            "since": {
                "type": "date", "minimum": "2000-01-01", "maximum": "2009-12-31",
                "cells": 6, **column,
            },
        },
        "constraints": [
            {"rule": "age < 10 => income is null", "source": "tests", "if_broken": "report"}
        ],
        "output": {"formats": ["csv", "parquet"]},
        **changes,
    }  # fmt: skip


def write(folder: Path, rows: int = 3000, **changes: Any) -> Path:
    """Write the table and its spec into `folder`; returns the spec's path."""
    folder.mkdir(parents=True, exist_ok=True)
    table(rows).to_csv(folder / "table.csv", index=False, na_rep="NA")
    path = folder / "spec.yaml"
    with path.open("w") as handle:
        YAML().dump(spec(folder / "table.csv", **changes), handle)
    return path


def some_columns(*names: str) -> dict[str, Any]:
    """Sections of `write` in which these columns alone are read."""
    own = spec(Path("table.csv"))
    columns = {name: own["columns"][name] for name in names}
    others = [name for name in table(2).columns if name not in names]
    return {"columns": columns, "data": {**own["data"], "ignore": others}, "constraints": []}


def of_persons(folder: Path, records: int) -> dict[str, Any]:
    """Sections of `write` that protect persons, of whom so many records are kept."""
    unit = {"person": "person", "max_records": records}
    own = spec(folder / "table.csv")
    return {"data": {**own["data"], "ignore": []}, "privacy": {**own["privacy"], "unit": unit}}


PURE = {"neighbours": "replace_one", "unit": "record", "epsilon": "1"}
"""Pure differential privacy, which is planned without composing distributions of the loss."""


def only(folder: Path, *names: str) -> dict[str, Any]:
    """Sections of `write` that release these columns alone, by pmm under pure epsilon."""
    few = some_columns(*names) | {"mechanism": {"name": "pmm"}, "privacy": PURE}
    few["data"]["source"] = str(folder / "table.csv")
    return few


def open_account(account: str = "test-people", **changes: Any) -> None:
    """Open the account of the example's people in the default ledger."""
    from fractions import Fraction

    from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
    from hallmark.mechanisms.privacy.budget import Budget
    from hallmark.tasks.installation.workspace import ledger_url
    from hallmark.tasks.ledger.anchors import open_ledger

    terms = {
        "cap": Budget(epsilon=Fraction(2), delta=Fraction(1, 10**4)),
        "adjacency": Adjacency(neighbours=Neighbours.REPLACE_ONE),
        "by": "tests",
        "reason": "tests",
    }
    open_ledger(ledger_url()).open_account(account, **(terms | changes))


def charges() -> "list[Entry]":
    """What the default ledger charged to that account, draw by draw."""
    from hallmark.mechanisms.privacy.ledger.ledger import Ledger
    from hallmark.tasks.installation.workspace import ledger_url

    entries = Ledger(ledger_url()).entries("test-people")
    return [entry for entry in entries if entry.kind == "charge"]
