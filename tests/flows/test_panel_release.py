"""Releases of a panel: the same synthetic people run through the periods."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from hallmark.flows.cli.app import app
from hallmark.mechanisms.privacy.account_filter import implied_budget
from hallmark.mechanisms.privacy.presence import Presence
from hallmark.tasks.panels import panel
from tests import example
from tests.flows.runs import release, sound
from tests.flows.test_marginal_release import joined

ROWS = 1500
DELTA = Fraction(1, 10**5)
CAP = Fraction(2)
COLUMN = {"outside": "refuse", "bound_source": example.SOURCE}
PANEL: dict[str, Any] = {
    "begins": "2024",
    "columns": ["region", "employed"], "back": 2,
    "constant": ["sex"],
    "grows": {"age": 1},
}

pytestmark = pytest.mark.usefixtures("prefect", "home")


def people(seed: int = 3) -> dict[str, pd.DataFrame]:
    """Three years of people who age, move, find and lose work, leave and arrive."""
    rng = np.random.default_rng(seed)

    def born(ids: range) -> pd.DataFrame:
        n = len(ids)
        return pd.DataFrame(
            {
                "person": [f"p{i}" for i in ids],
                "sex": rng.choice(["f", "m"], n),
                "age": rng.integers(20, 30, n),
                "region": rng.choice(["01", "02", "07"], n, p=[0.6, 0.3, 0.1]),
                "employed": rng.choice(["0", "1"], n, p=[0.4, 0.6]),
            }
        )

    now = born(range(ROWS))
    tables, met = {"2024": now}, ROWS
    for year in ("2025", "2026"):
        stay = now[(rng.random(len(now)) < 0.9) & (now["age"] < 29)].copy()
        stay["age"] += 1
        moves = rng.random(len(stay)) < 0.05
        stay.loc[moves, "region"] = rng.choice(["01", "02", "07"], int(moves.sum()))
        turns = rng.random(len(stay)) < 0.1
        stay.loc[turns, "employed"] = np.where(stay.loc[turns, "employed"] == "1", "0", "1")
        arriving = born(range(met, met + ROWS - len(stay)))
        met += len(arriving)
        now = pd.concat([stay, arriving], ignore_index=True)
        tables[year] = now
    return tables


def about(folder: Path, year: str, **changes: Any) -> Path:
    """The spec of a year's release, whose table `hallmark lag` writes from the second on."""
    columns = {
        "sex": {"type": "nominal", "categories": ["f", "m"], **COLUMN},
        "age": {
            "type": "numeric", "integer": True, "minimum": 20, "maximum": 29, "cell_width": 1,
            **COLUMN,
        },
        "region": {"type": "nominal", "categories": ["01", "02", "07"], **COLUMN},
        "employed": {"type": "boolean", "values": {"1": True, "0": False}, "outside": "refuse"},
    }  # fmt: skip
    own = example.spec(folder / f"table-{year}.csv")
    sections: dict[str, Any] = {
        "release": f"people-{year}",
        "series": {"period": year, "panel": PANEL},
        "data": {**own["data"], "expected_rows": ROWS},
        "privacy": {**own["privacy"], "epsilon": "3"},
        "mechanism": joined("all", "noise-aware"),
        "columns": columns,
        "constraints": [],
    }
    path = example.write(folder, 10, **{**sections, **changes})
    return path.rename(folder / f"{year}{changes.get('release', '')}.yaml")


def account(most: int | None = None) -> None:
    presence = Presence(length="year", most=most)
    example.open_account(
        cap=implied_budget(CAP, DELTA), rho_cap=CAP, composition="zcdp", presence=presence
    )


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return people()


def written(folder: Path, tables: dict[str, pd.DataFrame], year: str, back: int = 2) -> None:
    """The private table of a year, from those of two years."""
    folder.mkdir(exist_ok=True, parents=True)
    raw = {name: folder / f"raw-{name}.csv" for name in tables}
    tables[year].to_csv(raw[year], index=False)
    if year == "2024":
        tables[year].to_csv(folder / "table-2024.csv", index=False)
        return
    before = [raw[name] for name in sorted(tables, reverse=True) if name < year][:back]
    ran = CliRunner().invoke(
        app,
        ["lag", str(about(folder, year)), *map(str, [raw[year], *before]), "--person", "person"],
    )
    assert ran.exit_code == 0, ran.output


def test_people_run_through_the_years(tmp_path: Path, tables: dict[str, pd.DataFrame]) -> None:
    account()
    for year in tables:
        written(tmp_path, tables, year)
        sound(release(about(tmp_path, year)))
    folders = [tmp_path / f"out/people-{year}" for year in tables]
    made = panel(folders)
    print(
        made.head(12),
        (folders[1] / "panel.json").read_text(),
        (folders[2] / "panel.json").read_text(),
    )
    records = {year: pd.read_csv(f / "data.csv", dtype=str) for year, f in zip(tables, folders)}
    for year, held in records.items():
        own = made[made["period"] == year]
        assert len(own) == len(held) == ROWS
