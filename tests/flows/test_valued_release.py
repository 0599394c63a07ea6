"""A whole release of a column whose single values are counted, and questions about it."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import hallmark as package
from hallmark.mechanisms.marginals.binning.plan import CALL, VALUES
from tests import example
from tests.flows.runs import release
from tests.flows.test_binned_release import QUICK
from tests.flows.test_marginal_release import certified

ROWS, SPIKE, OFTEN = 1500, 123.4, 0.3
SURELY = 0.999999  # the noise is not seeded

pytestmark = pytest.mark.usefixtures("prefect", "home")


def test_a_release_has_a_frequent_value_and_answers_on_pieces(tmp_path: Path) -> None:
    columns: dict[str, Any] = example.spec(Path("table.csv"))["columns"]
    columns["income"] |= {"step": "0.1", "detail": "values"}
    example.open_account()
    spec = example.write(tmp_path, ROWS, mechanism=QUICK, columns=columns)
    file = tmp_path / "table.csv"
    private = pd.read_csv(file, dtype={"region": str})
    known = private["income"].dropna().index
    private.loc[known[: int(OFTEN * len(known))], "income"] = SPIKE
    private.to_csv(file, index=False, na_rep="NA")
    published = release(spec)
    record = certified(published)
    calls = {entry.payload["call"] for entry in example.charges()}
    assert calls == {CALL, VALUES, "marginals"}
    lines = [line["query"] for line in record["mechanism"]["noise"]]
    assert lines[1] == "all values of income, for those that stand out"
    (step,) = (s for s in record["post_processing"]["steps"] if "own cells" in s["step"])
    assert step["effect"] == "columns income; single values of income that stand out"
    parts = record["account"]["split"]
    assert any("on their own cells" in part["purpose"] and part["draws"] == 2 for part in parts)
    table = pd.read_csv(Path(published.folder) / "data.csv", na_values=["NA"])
    incomes = table["income"].dropna()
    assert (incomes == SPIKE).mean() == pytest.approx(OFTEN, abs=0.1)
    assert incomes[incomes != SPIKE].value_counts().max() < 0.03 * len(incomes)
    opened = package.open(published.folder)
    true = private["income"].median()
    (median,) = opened.query("median of income", confidence=SURELY).itertuples()
    assert median.low <= true <= median.high
    (count,) = opened.query("count where income < 50", confidence=SURELY).itertuples()
    assert count.low <= (private["income"] < 50).sum() <= count.high
