"""`hallmark evaluate`, as an operator calls it."""

import json
from pathlib import Path

import pandas as pd
import pytest

from hallmark.flows.cli.exits import ExitCode
from tests import example
from tests.flows.conftest import Hallmark

ROWS = 300
SECRET = "731904"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    return example.write(tmp_path, ROWS)


@pytest.fixture
def synthetic(tmp_path: Path) -> Path:
    path = tmp_path / "synthetic.csv"
    example.table(ROWS, seed=8).drop(columns="person").to_csv(path, index=False, na_rep="NA")
    return path


def test_the_table_starts_with_the_warning(hallmark: Hallmark, spec: Path, synthetic: Path) -> None:
    done = hallmark("evaluate", spec, "--synthetic", synthetic)
    assert done.code == 0, done.err
    assert done.out.splitlines()[0].startswith("INTERNAL - do not publish")
    assert "300 private and 300 synthetic records" in done.out
    for metric in ("Covariance error", "Counting queries", "Threshold queries",
                   "Sliced Wasserstein distance", "Total variation, pairs"):  # fmt: skip
        assert metric in done.out
    assert "Downstream" not in done.out


def test_the_json_starts_with_the_warning_and_holds_the_same_numbers(
    hallmark: Hallmark, spec: Path, synthetic: Path
) -> None:
    arguments = ("evaluate", spec, "--synthetic", synthetic, "--label", "employed=1")
    shown, done = hallmark(*arguments), hallmark(*arguments, "--json")
    assert (shown.code, done.code) == (0, 0)
    first = done.out.splitlines()[0]
    assert first.startswith('{"internal": "INTERNAL - do not publish')
    found = json.loads(done.out)
    assert found["rows_real"] == 240
    assert "label employed=1, predicted for a fifth of the private table (60)" in shown.out
    for name in ("downstream", "downstream_real", "covariance", "count", "thresh", "sw1", "tv"):
        assert f"{found[name]:.4g}" in shown.out, name


def test_other_tables_may_be_named(hallmark: Hallmark, spec: Path, synthetic: Path) -> None:
    done = hallmark(
        "evaluate", spec, "--synthetic", synthetic, "--data", synthetic, "--test", synthetic,
        "--label", "age", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["tv"], found["rows_test"], found["downstream_unit"]) == (0, 300, "squared cells")
    assert found["downstream"] == found["downstream_real"]


def test_cut_columns_are_named(hallmark: Hallmark, tmp_path: Path, synthetic: Path) -> None:
    columns = example.spec(tmp_path)["columns"]
    columns["age"] |= {"cell_width": 1}
    spec = example.write(tmp_path, ROWS, columns=columns)
    assert (
        "columns coarsened to 32 cells: age"
        in hallmark("evaluate", spec, "--synthetic", synthetic).out
    )


def test_what_is_not_defined_is_a_dash(hallmark: Hallmark, tmp_path: Path) -> None:
    columns = {"age": example.spec(tmp_path)["columns"]["age"]}
    spec = example.write(tmp_path, ROWS, columns=columns, constraints=[])
    done = hallmark("evaluate", spec, "--synthetic", tmp_path / "table.csv")
    assert done.code == 0, done.err
    pairs = next(line for line in done.out.splitlines() if "Total variation, pairs" in line)
    assert " – " in pairs


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--label", "empoyed"), "did you mean"),
        (("--label", "region=9"), "is not a value of columns.region"),
        (("--test", "t.csv"), "read with --label"),
    ],
)
def test_wrong_usage_exits_with_2(
    hallmark: Hallmark, spec: Path, synthetic: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = hallmark("evaluate", spec, "--synthetic", synthetic, *arguments)
    assert (done.code, done.out) == (ExitCode.USAGE, "")
    assert said in " ".join(done.err.split())


def test_without_a_synthetic_file_nothing_is_compared(hallmark: Hallmark, spec: Path) -> None:
    assert hallmark("evaluate", spec).code == ExitCode.USAGE


def test_a_wrong_spec_exits_with_2(hallmark: Hallmark, spec: Path, synthetic: Path) -> None:
    spec.write_text("hallmark: 1\n")
    assert hallmark("evaluate", spec, "--synthetic", synthetic).code == ExitCode.USAGE


def test_values_without_a_place_exit_with_3_and_are_not_shown(
    hallmark: Hallmark, spec: Path, synthetic: Path
) -> None:
    private = spec.parent / "table.csv"
    frame = pd.read_csv(private, dtype=str, keep_default_na=False)
    frame.loc[0, "region"] = SECRET
    frame.to_csv(private, index=False)
    done = hallmark("evaluate", spec, "--synthetic", synthetic)
    assert done.code == ExitCode.DATA
    assert done.error.startswith("data.source: column region: there are values that lie outside")
    assert SECRET not in done.out + done.err


def test_nothing_private_is_left_behind(
    hallmark: Hallmark, spec: Path, synthetic: Path, home: Path
) -> None:
    before = set(spec.parent.rglob("*"))
    assert hallmark("evaluate", spec, "--synthetic", synthetic).code == 0
    left = [path for path in set(spec.parent.rglob("*")) - before if path.is_file()]
    assert left == []
    assert home.stat().st_mode & 0o077 == 0
