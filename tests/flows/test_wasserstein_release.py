"""Whole Wasserstein releases: certified jointly, verified, and refused in time."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hallmark.schemas.documents.manifest import CERTIFICATE_FILE
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.requested import PlanRefused
from hallmark.tasks.publish import Published
from tests import example
from tests.flows.runs import release, sound, spent

ROWS = 400
REFERENCE = "made up for the tests"
DISTANCES = [[0, 30, 40], [30, 0, 50], [40, 50, 0]]

pytestmark = pytest.mark.usefixtures("prefect", "home")


def write(folder: Path, mechanism: dict[str, Any], *names: str, **changes: Any) -> Path:
    """The example's table and spec with these columns only, in pure epsilon."""
    sections = example.only(folder, *names) | {"mechanism": mechanism} | changes
    return example.write(folder, ROWS, **sections)


def public_table(folder: Path) -> dict[str, Any]:
    """A section on a public table of other people with the same columns."""
    folder.mkdir(parents=True, exist_ok=True)
    example.table(300, seed=8).to_csv(folder / "public.csv", index=False, na_rep="NA")
    return {"source": "public.csv", "null_markers": ["NA"], "reference": REFERENCE}


def regions(distances: list[list[int]]) -> dict[str, Any]:
    """The example's regions as places with these distances."""
    return {
        "region": {
            "type": "places",
            "categories": {"01": "north", "02": "south", "07": "east"},
            "distances": distances,
            "unit": "km",
            "outside": "refuse",
            "bound_source": example.SOURCE,
        }
    }


def targets(published: Published) -> list[str]:
    certificate = json.loads((Path(published.folder) / CERTIFICATE_FILE).read_text())
    assert all(bound["value"] <= 1 for bound in certificate["bounds"])
    return [bound["target"] for bound in certificate["bounds"]]


def record_of(published: Published) -> dict[str, Any]:
    """The record of a sound release that spent its epsilon and has all records."""
    record = sound(published)
    assert spent() == (1, 0)
    assert len(pd.read_csv(Path(published.folder) / "data.csv")) == ROWS
    return record


@pytest.mark.parametrize(
    "name",
    [
        "pmm-h",
        *(
            pytest.param(n, marks=pytest.mark.slow)
            for n in ("psmm", "superregular", "adaptive-support")
        ),
    ],
)
def test_two_columns_are_certified_jointly_and_one_by_one(name: str, tmp_path: Path) -> None:
    example.open_account()
    published = release(write(tmp_path, {"name": name}, "age", "region"))
    record_of(published)
    assert targets(published) == ["all columns jointly", "age", "region"]
    assert "Columns together" in Workspace.of("test-release").review.read_text()


@pytest.mark.slow
def test_pairs_of_columns_are_certified_on_the_support_of_a_public_table(tmp_path: Path) -> None:
    example.open_account()
    mechanism = {"name": "sparse-lipschitz", "cells": 5}
    public = public_table(tmp_path)
    path = write(tmp_path, mechanism, "age", "income", "region", public_data=public)
    published = release(path)
    record = record_of(published)
    pairs = ["age x income", "age x region", "income x region"]
    singles = ["age", "income", "region"]
    assert targets(published) == ["all 3 two-way marginals", *pairs, *singles]
    assert REFERENCE in json.dumps(record)
    released = pd.read_csv(Path(published.folder) / "data.csv", dtype=str, keep_default_na=False)
    drawn = example.table(300, seed=8)
    # Records are those of the public table, up to the cells of their columns.
    seen = set(zip(drawn["age"] // 10, drawn["region"], drawn["income"].isna(), strict=True))
    found = zip(released["age"], released["region"], released["income"], strict=True)
    assert {(int(a) // 10, r, i == "NA") for a, r, i in found} <= seen


def test_places_are_certified_in_their_own_unit(tmp_path: Path) -> None:
    example.open_account()
    mechanism = {"name": "superregular"}
    published = release(write(tmp_path, mechanism, "region", columns=regions(DISTANCES)))
    record_of(published)
    certificate = json.loads((Path(published.folder) / CERTIFICATE_FILE).read_text())
    column = next(bound for bound in certificate["bounds"] if bound["target"] == "region")
    assert (column["scale"], column["unit"]) == (50.0, "km")


def test_a_share_certifies_what_another_mechanism_makes(tmp_path: Path) -> None:
    example.open_account()
    share = {"confidence": 0.9, "share": "1/4"}
    published = release(write(tmp_path, {"name": "pmm"}, "age", "region", certificate=share))
    record_of(published)
    assert targets(published) == ["age x region", "all columns jointly", "age", "region"]
    certificate = json.loads((Path(published.folder) / CERTIFICATE_FILE).read_text())
    assert Fraction(certificate["cost"]["epsilon"]) == Fraction(1, 4)


def test_distances_that_are_no_metric_are_refused_with_the_places(tmp_path: Path) -> None:
    broken = [[0, 30, 90], [30, 0, 50], [90, 50, 0]]
    said = (
        r":\d+: columns\.region\.distances: the way from '01' to '07' is 90, "
        r"but by '02' it is 30 \+ 50"
    )
    with pytest.raises(PlanRefused, match=said):
        prepare(write(tmp_path, {"name": "psmm"}, "region", columns=regions(broken)))


def test_a_public_table_outside_the_domain_is_refused(tmp_path: Path) -> None:
    public = public_table(tmp_path)
    table = example.table(300, seed=8)
    table.loc[5, "age"] = 140
    table.to_csv(tmp_path / "public.csv", index=False, na_rep="NA")
    path = write(tmp_path, {"name": "sparse-lipschitz"}, "age", "region", public_data=public)
    said = r"public_data\.source: column age: 1 of 300 .*in record 6"
    with pytest.raises(PlanRefused, match=said):
        prepare(path)


def test_grids_that_do_not_fit_into_memory_are_refused_with_their_size(tmp_path: Path) -> None:
    mechanism = {"name": "sparse-lipschitz", "cells": 10_000, "marginals": 3}
    columns = example.some_columns("age", "income", "since")["columns"]
    for name in ("income", "since"):
        columns[name]["cells"] = 3000
    public = public_table(tmp_path)
    path = write(tmp_path, mechanism, *columns, columns=columns, public_data=public)
    with pytest.raises(PlanRefused, match=r"noisy counts of 8 bytes = [\d.]+ GB, but at most"):
        prepare(path)
