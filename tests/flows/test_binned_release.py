"""Whole releases on private quantile bins."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hallmark.mechanisms.marginals.binning.mechanism import CALL, Binned
from hallmark.tasks.forecast.summary import plan_summary
from hallmark.tasks.gates.gates import TableChanged
from hallmark.tasks.planning.prepare import prepare
from tests import example
from tests.flows.conftest import Killed
from tests.flows.runs import release
from tests.flows.test_marginal_release import certified

ROWS = 1500
QUICK = {
    "name": "privpgd",
    "generator": {"method": "noise-aware", "latent": {"members": 2, "classes": 10}},
}
BINNING: dict[str, Any] = {"share": "1/10", "columns": {"age": 6, "income": 8, "since": 4}}
RULES = [
    {"rule": "age < 15 => income is null", "source": "tests"},
    {"rule": "income is null <=> employed = false", "source": "tests", "if_broken": "report"},
]

pytestmark = pytest.mark.usefixtures("prefect", "home")


def fine_columns() -> dict[str, Any]:
    """The example's columns, with finer grids."""
    columns: dict[str, Any] = example.spec(Path("table.csv"))["columns"]
    columns["age"] |= {"cell_width": 1}
    columns["income"] |= {"cells": 80}
    columns["since"] |= {"cells": 40}
    return columns


def changes(**others: Any) -> dict[str, Any]:
    return {
        "mechanism": QUICK,
        "binning": BINNING,
        "columns": fine_columns(),
        "constraints": RULES,
        **others,
    }


def test_a_release_on_private_bins_is_sound_and_says_which_bins(tmp_path: Path) -> None:
    example.open_account()
    spec = example.write(tmp_path, ROWS, **changes())
    published = release(spec)
    record = certified(published)
    calls = {entry.payload["call"] for entry in example.charges()}
    assert calls == {CALL, "marginals"}
    assert record["mechanism"]["noise"][0]["query"].startswith("all cells of age, income, since")
    bins = record["mechanism"]["generator"]["facts"]["bins"]
    assert {name: len(starts) for name, starts in bins.items()} == BINNING["columns"]
    (step,) = (s for s in record["post_processing"]["steps"] if "quantile bins" in s["step"])
    assert "bins of age from 0, " in step["effect"]
    assert "bins of since from 2000-01-01, 200" in step["effect"]
    table = pd.read_csv(Path(published.folder) / "data.csv", na_values=["NA"])
    assert table["age"].nunique() > 40  # values have the detail of cells, not of bins
    private = example.table(ROWS)
    assert abs(table["income"].median() - private["income"].median()) < 8


def test_a_plan_shows_what_the_bins_cost(tmp_path: Path) -> None:
    summary = plan_summary(prepare(example.write(tmp_path, **changes())))
    assert (
        summary["noise"][0]["query"] == "all cells of age, income, since, for their quantile bins"
    )
    assert summary["parameters"]["epsilon_of_the_mechanism"] == "9/10"
    assert summary["privacy"]["proven_epsilon"][1] <= Fraction(1)
    bounds = {row["column"]: row["bound"] for row in summary["forecast"]["per_attribute"]}
    assert set(bounds) == set(fine_columns())
    assert bounds["income"] < 1 / 8  # finer than bins


def test_a_release_that_dies_when_its_bins_are_drawn_goes_on_with_them_and_with_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers of two tables are never mixed: on another table, it goes on never."""

    def die(*_: Any) -> None:
        raise Killed

    example.open_account()
    spec = example.write(tmp_path, ROWS, **changes())
    with monkeypatch.context() as patched:
        patched.setattr(Binned, "measure", die)
        with pytest.raises(Exception, match="Killed"):
            release(spec)
    (drawn,) = example.charges()
    assert drawn.payload["call"] == CALL
    table = next(tmp_path.glob("*.csv"))
    asked = table.read_text()
    header, _, *rest = asked.splitlines()
    table.write_text("\n".join([header, *rest, rest[0]]) + "\n")  # as many rows, one another
    with pytest.raises(TableChanged, match="not the one that this release has noisy answers of"):
        release(spec, resume=True)
    assert example.charges() == [drawn]
    table.write_text(asked)
    certified(release(spec, resume=True))
    first, second = example.charges()
    assert first == drawn
    assert second.payload["call"] == "marginals"
