"""A release without rare combinations of some columns: its files, its certificate, its report."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hallmark.schemas.loading import SpecError
from hallmark.tasks.generate import OnlyRare
from hallmark.tasks.planning.prepare import prepare
from tests import example
from tests.flows.runs import release, sound
from tests.flows.test_marginal_release import RULES, joined

pytestmark = pytest.mark.usefixtures("prefect", "home")


def asking(folder: Path, keys: list[str], least: int, **changes: Any) -> Path:
    output = {"formats": ["csv", "parquet"], "face_privacy": {"columns": keys, "least": least}}
    columns = example.spec(folder / "table.csv")["columns"]
    columns["age"] |= {"cell_width": 1}  # a cell for each
    sections = {
        "mechanism": joined("all", "noise-aware"),
        "columns": columns,
        "constraints": RULES,
        "output": output,
    }
    return example.write(folder, 600, **{**sections, **changes})


def test_no_released_combination_of_the_keys_is_rare_and_the_report_says_what_that_did(
    tmp_path: Path,
) -> None:
    example.open_account()
    published = release(asking(tmp_path, ["age", "region", "employed"], 3))
    record = sound(published)
    data = pd.read_csv(Path(published.folder) / "data.csv", dtype=str, keep_default_na=False)
    assert data.groupby(["age", "region", "employed"]).size().min() >= 3
    assert all(check["held"] for check in record["post_processing"]["constraints"])
    (step,) = (s for s in record["post_processing"]["steps"] if "nobody is protected" in s["step"])
    found = re.fullmatch(
        r"(\d+) of 600 records; .* changed by more than (\S+) % .*", step["effect"]
    )
    assert found is not None
    assert int(found[1]) > 0
    assert 0 < float(found[2]) < 100


def test_keys_that_tell_everybody_apart_are_refused_after_the_fact(tmp_path: Path) -> None:
    example.open_account()
    with pytest.raises(OnlyRare, match=r"name fewer columns, or ask for fewer"):
        release(asking(tmp_path, ["age"], 600))


REFUSED: dict[str, tuple[list[str], dict[str, Any], str]] = {
    "values within cells": (["income"], {}, "income has values within its cells"),
    "no such column": (["ages"], {}, "did you mean age"),
    "twice": (["age", "age"], {}, "age"),
    "totals": (
        ["age"],
        {
            "public_totals": [
                {"columns": ["employed"], "counts": {"yes": 1, "no": 599}, "reference": "tests"}
            ]
        },
        "face_privacy: moves records",
    ),
}


@pytest.mark.parametrize(("keys", "changes", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_kept_is_refused(
    keys: list[str], changes: dict[str, Any], why: str, tmp_path: Path
) -> None:
    with pytest.raises(SpecError) as caught:
        prepare(asking(tmp_path, keys, 2, **changes))
    assert why in str(caught.value)
