"""Whole Wasserstein releases: certified jointly, verified, and refused in time."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.manifest import CERTIFICATE_FILE, RECORD_FILE
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.planning.requested import PlanRefused
from hallmark.tasks.publish import Published
from hallmark.tasks.verification import verify_release
from tests import example

ROWS = 400
REFERENCE = "made up for the tests"
DISTANCES = [[0, 30, 40], [30, 0, 50], [40, 50, 0]]

pytestmark = pytest.mark.usefixtures("prefect", "home")


def run(spec: Path) -> Published:
    from hallmark.flows.release import release

    return release(str(spec), str(spec.parent / "out"))


def write(folder: Path, mechanism: dict[str, Any], *names: str, **changes: Any) -> Path:
    """The example's table and spec with these columns only, in pure epsilon."""
    whole = example.spec(folder / "table.csv")
    sections = {
        "columns": {name: whole["columns"][name] for name in names},
        "data": {
            **whole["data"],
            "ignore": [name for name in (*whole["columns"], "person") if name not in names],
        },
        "mechanism": mechanism,
        "constraints": [],
        "privacy": {"neighbours": "replace_one", "unit": "record", "epsilon": "1"},
    }
    return example.write(folder, ROWS, **sections | changes)


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


def assert_sound(published: Published, epsilon: Fraction = Fraction(1)) -> None:
    verification = verify_release(Path(published.folder))
    assert verification.ok, [check for check in verification.checks if not check.ok]
    ledger = Ledger(ledger_url())
    ledger.verify("test-people")
    assert ledger.account("test-people").spent == (epsilon, 0)
    assert len(pd.read_csv(Path(published.folder) / "data.csv")) == ROWS


@pytest.mark.parametrize("name", ["pmm-h", "psmm", "superregular", "adaptive-support"])
def test_two_columns_are_certified_jointly_and_one_by_one(name: str, tmp_path: Path) -> None:
    example.open_account()
    published = run(write(tmp_path, {"name": name}, "age", "region"))
    assert_sound(published)
    assert targets(published) == ["all columns jointly", "age", "region"]
    assert "Columns together" in Workspace.of("test-release").review.read_text()


def test_pairs_of_columns_are_certified_on_the_support_of_a_public_table(tmp_path: Path) -> None:
    example.open_account()
    mechanism = {"name": "sparse-lipschitz", "cells": 5}
    public = public_table(tmp_path)
    path = write(tmp_path, mechanism, "age", "income", "region", public_data=public)
    published = run(path)
    assert_sound(published)
    pairs = ["age x income", "age x region", "income x region"]
    singles = ["age", "income", "region"]
    assert targets(published) == ["all 3 two-way marginals", *pairs, *singles]
    record = (Path(published.folder) / RECORD_FILE).read_text()
    assert REFERENCE in record
    released = pd.read_csv(Path(published.folder) / "data.csv", dtype=str, keep_default_na=False)
    drawn = example.table(300, seed=8)
    # Records are those of the public table, up to the cells of their columns.
    seen = set(zip(drawn["age"] // 10, drawn["region"], drawn["income"].isna(), strict=True))
    found = zip(released["age"], released["region"], released["income"], strict=True)
    assert {(int(a) // 10, r, i == "NA") for a, r, i in found} <= seen


def test_places_are_certified_in_their_own_unit(tmp_path: Path) -> None:
    example.open_account()
    mechanism = {"name": "superregular"}
    published = run(write(tmp_path, mechanism, "region", columns=regions(DISTANCES)))
    assert_sound(published)
    certificate = json.loads((Path(published.folder) / CERTIFICATE_FILE).read_text())
    column = next(bound for bound in certificate["bounds"] if bound["target"] == "region")
    assert (column["scale"], column["unit"]) == (50.0, "km")


def test_a_share_certifies_what_another_mechanism_makes(tmp_path: Path) -> None:
    example.open_account()
    share = {"confidence": 0.9, "share": "1/4"}
    published = run(write(tmp_path, {"name": "pmm"}, "age", "region", certificate=share))
    assert_sound(published)
    assert targets(published) == ["age x region", "all columns jointly", "age", "region"]
    certificate = json.loads((Path(published.folder) / CERTIFICATE_FILE).read_text())
    assert Fraction(certificate["cost"]["epsilon"]) == Fraction(1, 4)


def test_distances_that_are_no_metric_are_refused_with_the_places(tmp_path: Path) -> None:
    example.open_account()
    broken = [[0, 30, 90], [30, 0, 50], [90, 50, 0]]
    path = write(tmp_path, {"name": "psmm"}, "region", columns=regions(broken))
    said = (
        r":\d+: columns\.region\.distances: the way from '01' to '07' is 90, "
        r"but by '02' it is 30 \+ 50"
    )
    with pytest.raises(PlanRefused, match=said):
        run(path)
    assert nothing_was_reserved()


def test_a_public_table_outside_the_domain_is_refused_before_anything_is_spent(
    tmp_path: Path,
) -> None:
    example.open_account()
    public = public_table(tmp_path)
    table = example.table(300, seed=8)
    table.loc[5, "age"] = 140
    table.to_csv(tmp_path / "public.csv", index=False, na_rep="NA")
    path = write(tmp_path, {"name": "sparse-lipschitz"}, "age", "region", public_data=public)
    with pytest.raises(
        PlanRefused, match=r"public_data\.source: column age: 1 of 300 .*in record 6"
    ):
        run(path)
    assert nothing_was_reserved()


def test_grids_that_do_not_fit_into_memory_are_refused_with_their_size(tmp_path: Path) -> None:
    example.open_account()
    mechanism = {"name": "sparse-lipschitz", "cells": 10_000, "marginals": 3}
    whole = example.spec(tmp_path / "table.csv")["columns"]
    fine = {name: {**whole[name], "cells": 3000} for name in ("income", "since")}
    path = write(
        tmp_path,
        mechanism,
        "age",
        "income",
        "since",
        columns={"age": whole["age"], **fine},
        public_data=public_table(tmp_path),
    )
    with pytest.raises(PlanRefused, match=r"noisy counts of 8 bytes = [\d.]+ GB, but at most"):
        run(path)
    assert nothing_was_reserved()


def nothing_was_reserved() -> bool:
    return Ledger(ledger_url()).account("test-people").spent == (0, 0)
