"""Lookups: filled in from the spec, and compared with a table's own values."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hallmark.schemas.lookups import Lookup
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.planning.domains import domain_of
from hallmark.tasks.planning.looked_up import disagreeing, filled_in, numbered
from tests import example

LOOKUPS: dict[str, Any] = {
    "density": {
        "of": "region",
        "values": {"01": "12.50", "02": "7", "07": "130"},
        "reference": "x",
    },
    "zone": {"of": "region", "values": {"01": "A", "02": "B", "07": "A"}, "reference": "x"},
    "rank": {"of": "employed", "values": {"1": "10", "0": "3"}, "reference": "x"},
}


def spec(**changes: Any) -> ReleaseSpec:
    content = example.spec(Path("table.csv"), lookups=LOOKUPS, **changes)
    for name in ("region", "employed"):
        content["columns"][name]["nulls"] = True
    return ReleaseSpec.model_validate(content)


def test_values_are_those_of_the_codes_and_null_where_there_is_none() -> None:
    chosen = ["rank", "region", "zone", "employed", "density"]
    output = {"formats": ["csv"], "columns": chosen}
    frame = pd.DataFrame(
        {
            "region": pd.Series(["07", None, "02", "01"], dtype="str"),
            "employed": pd.Series(["1", "0", None, "1"], dtype="str"),
            "age": [1, 2, 3, 4],
        }
    )
    found = filled_in(spec(output=output, constraints=[]), frame)
    assert list(found) == chosen
    assert found["density"].fillna(-1).tolist() == [130, -1, 7, 12.5]
    assert found["zone"].fillna("").tolist() == ["A", "", "B", "A"]
    assert found["rank"].fillna(-1).tolist() == [10, 3, -1, 10]
    assert [str(found[name].dtype) for name in ("density", "rank")] == ["float64", "Int64"]


@pytest.mark.parametrize(
    ("name", "code", "own", "wrong"),
    [
        ("density", "01", "12.5", False),
        ("density", "01", "12.500", False),
        ("density", "01", "7", True),
        ("density", "01", "12.4", True),
        ("density", "01", "dense", True),
        ("density", "01", None, False),  # a missing value says nothing else
        ("density", None, "12.5", True),
        ("density", None, "dense", True),
        ("density", None, None, False),
        ("density", "99", "12.5", False),  # counts as the spec says of codes outside the list
        ("zone", "01", "A", False),
        ("zone", "01", "B", True),
        ("zone", "07", "C", True),
        ("zone", None, "C", True),
        ("rank", "1", "10.0", False),
        ("rank", "1", "10.5", True),
        ("rank", "0", "10", True),
    ],
)
def test_an_own_value_disagrees_unless_it_is_the_one_looked_up(
    name: str, code: str | None, own: str | None, wrong: bool
) -> None:
    whole = spec()
    lookup: Lookup = whole.lookups[name]
    beside = ["01", "1", "0"]  # other rows change nothing
    expected, found = numbered(
        lookup,
        whole.columns[lookup.of],
        pd.Series([code, *beside], dtype="str"),
        pd.Series([own, None, None, None], dtype="str"),
    )
    assert disagreeing(expected, found).tolist() == [wrong, False, False, False]


def test_they_are_no_part_of_the_domain() -> None:
    assert domain_of(spec()).names == tuple(spec().columns)
