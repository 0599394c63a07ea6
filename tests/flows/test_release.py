"""Whole releases, from a table and a spec to a verified folder, in this process."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.ledger import Ledger, LedgerError
from hallmark.schemas.documents.manifest import CERTIFICATE_FILE, MANIFEST_FILE, RECORD_FILE
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.publish import PublishRefused
from hallmark.tasks.verification import verify_release
from tests import example
from tests.flows.runs import release, sound, spent
from tests.tasks.released import ROWS as EXAMPLE_ROWS
from tests.tasks.released import Released

ADD_REMOVE = Adjacency(neighbours=Neighbours.ADD_REMOVE)
ROWS = 400
FEW = ("age", "region")


pytestmark = pytest.mark.usefixtures("prefect", "home")


def privacy(**changes: Any) -> dict[str, Any]:
    return {
        "neighbours": "replace_one", "unit": "record", "epsilon": "1", "delta": "1e-5", **changes
    }  # fmt: skip


def calls() -> list[Any]:
    return Ledger(ledger_url()).calls("test-release")


def test_privpgd_releases_a_table_that_verifies(run: Released) -> None:
    verification = verify_release(run.folder)
    assert verification.ok, [check for check in verification.checks if not check.ok]
    Ledger(ledger_url()).verify("test-people")
    record = json.loads((run.folder / RECORD_FILE).read_text())
    assert record["protected"]["rows"] == EXAMPLE_ROWS
    data = pd.read_csv(run.folder / "data.csv")
    assert list(data) == ["age", "income", "region", "employed", "since"]
    assert len(data) == len(pd.read_parquet(run.folder / "data.parquet")) == EXAMPLE_ROWS
    assert spent() == (1, Fraction(1, 10**5))


def told(rows: int) -> re.Pattern[str]:
    """A number of records by itself: digits of a digest or of a noisy figure may be the same."""
    return re.compile(rf"(?<![\w.]){rows}(?![\w.])|{rows:,}")


def test_a_private_number_of_records_is_told_nowhere(tmp_path: Path) -> None:
    rows = 1327  # found by no other figure of the release
    example.open_account(adjacency=ADD_REMOVE)
    generator = {"descent": {"epochs": 5}, "latent": {"members": 2, "classes": 10}}
    mechanism = {"name": "privpgd", "generator": generator}
    sections = {"privacy": privacy(neighbours="add_remove"), "mechanism": mechanism}
    published = release(example.write(tmp_path, rows, **sections))
    assert sound(published)["protected"]["rows"] == "not recorded"
    texts = [p for p in Path(published.folder).iterdir() if p.suffix in (".json", ".html", ".yaml")]
    assert len(texts) >= 6
    made = len(pd.read_csv(Path(published.folder) / "data.csv"))
    assert 0.8 * rows < made < 1.2 * rows
    for path in texts:  # the noisy number of records may be the same by chance, too
        assert made == rows or not told(rows).search(path.read_text()), path.name


def test_a_public_number_of_records_is_found_by_the_same_search(run: Released) -> None:
    assert told(EXAMPLE_ROWS).search((run.folder / RECORD_FILE).read_text())


def test_pmm_releases_with_a_pure_epsilon_that_no_float_hits(tmp_path: Path) -> None:
    example.open_account(adjacency=ADD_REMOVE)
    private = {**example.PURE, "neighbours": "add_remove", "epsilon": "0.05"}
    sections = example.only(tmp_path, *FEW) | {"privacy": private}
    record = sound(release(example.write(tmp_path, ROWS, **sections)))
    assert record["guarantee"]["variant"] == "pure differential privacy"
    assert spent() == (Fraction(1, 20), 0)


def test_a_person_with_records_in_several_parts_is_protected_with_a_bound(tmp_path: Path) -> None:
    person = Adjacency(neighbours=Neighbours.ADD_REMOVE, records=3, person="person")
    example.open_account(adjacency=person)
    table, folder = example.table(ROWS), tmp_path / "parts"
    folder.mkdir()
    for index in range(3):
        table.iloc[index::3].reset_index(drop=True).to_parquet(folder / f"{index}.parquet")
    data = {**example.spec(tmp_path / "table.csv")["data"], "source": "parts", "ignore": []}
    unit = {"person": "person", "max_records": 3}
    chosen = privacy(neighbours="add_remove", unit=unit, epsilon="2")
    published = release(example.write(tmp_path, 2, data=data, privacy=chosen))
    claim = sound(published)["guarantee"]["claim"]
    assert (claim["unit"], claim["records_per_unit"]) == ("person", 3)
    assert "person" not in pd.read_csv(Path(published.folder) / "data.csv")
    beyond = (table["person"].value_counts() - 3).clip(lower=0).sum()
    assert beyond > 0
    page = Workspace.of("test-release").review.read_text()
    assert f"{beyond:,} more private rows exceed the number kept" in page
    assert "are among the 3 kept of their person; else left out" in page


@pytest.mark.slow
def test_with_a_huge_budget_one_way_marginals_are_recovered(tmp_path: Path) -> None:
    huge = Fraction(500)
    example.open_account(cap=Budget(epsilon=huge, delta=Fraction(1, 10**4)))
    published = release(example.write(tmp_path, ROWS, privacy=privacy(epsilon=str(huge))))
    made = pd.read_csv(Path(published.folder) / "data.csv", dtype={"region": str})
    true = example.table(ROWS)
    for name in ("region", "employed"):
        distance = (
            made[name]
            .value_counts(normalize=True)
            .sub(true[name].value_counts(normalize=True), fill_value=0)
        )
        assert distance.abs().sum() < 0.02, name
    decades = [np.bincount(table["age"] // 10, minlength=10) / ROWS for table in (made, true)]
    assert np.abs(decades[0] - decades[1]).sum() < 0.02
    assert abs(made["income"].isna().mean() - true["income"].isna().mean()) < 0.01


@pytest.mark.slow
def test_a_certified_bound_holds_of_the_private_table(tmp_path: Path) -> None:
    """Fails by chance once in 10^6 runs, as the certificate itself says."""
    example.open_account(cap=Budget(epsilon=Fraction(9), delta=Fraction(1, 10**4)))
    sections = {"privacy": privacy(epsilon="8"), "certificate": {"confidence": "0.999999"}}
    published = release(example.write(tmp_path, 3000, **sections))
    certificate = json.loads((Path(published.folder) / CERTIFICATE_FILE).read_text())
    bound = next(bound for bound in certificate["bounds"] if bound["target"] == "age")
    made = pd.read_csv(Path(published.folder) / "data.csv")
    shares = [np.bincount(t["age"], minlength=100) / len(t) for t in (made, example.table())]
    actual = np.abs(np.cumsum(shares[0] - shares[1])).sum() / 99
    assert 0 < actual <= bound["value"] < 0.3


def test_a_release_published_before_is_left_alone(run: Released) -> None:
    manifest, drawn = (run.folder / MANIFEST_FILE).read_bytes(), calls()
    again = release(run.prepared.path)
    assert again.earlier
    assert Path(again.folder) == run.folder
    assert Path(again.review) == run.workspace.review
    assert (run.folder / MANIFEST_FILE).read_bytes() == manifest
    assert calls() == drawn


def test_a_folder_of_something_else_is_never_overwritten(tmp_path: Path) -> None:
    example.open_account()
    spec = example.write(tmp_path, ROWS)
    (tmp_path / "out/test-release").mkdir(parents=True)
    (tmp_path / "out/test-release/thesis.txt").write_text("the only copy")
    with pytest.raises(PublishRefused, match="is not what this spec publishes"):
        release(spec)
    assert (tmp_path / "out/test-release/thesis.txt").read_text() == "the only copy"
    assert Ledger(ledger_url()).reservation("test-release") is None


def test_an_account_under_another_relation_is_refused(tmp_path: Path) -> None:
    example.open_account(adjacency=ADD_REMOVE)
    with pytest.raises(LedgerError, match="state the release under the account's relation"):
        release(example.write(tmp_path, ROWS))


def test_data_that_break_the_spec_cost_nothing(tmp_path: Path) -> None:
    example.open_account()
    sections = example.only(tmp_path, *FEW)
    age = {**sections["columns"]["age"], "maximum": 50}
    broken = sections | {"columns": sections["columns"] | {"age": age}}
    with pytest.raises(Exception, match="lie between 0 and 50"):
        release(example.write(tmp_path, ROWS, **broken))
    state = Ledger(ledger_url()).account("test-people")
    assert (state.spent, state.reserved) == ((0, 0), (0, 0))
    # and nothing hinders the same name once the spec is fixed
    sound(release(example.write(tmp_path, ROWS, **sections)))


def test_private_intermediates_are_gone_and_the_review_stays_inside(run: Released) -> None:
    left = {path.name for path in run.workspace.path.rglob("*") if path.is_file()}
    assert "internal-review.html" in left
    assert not [name for name in left if name.startswith("part-")]
    assert run.workspace.review.stat().st_mode & 0o777 == 0o600
    assert "INTERNAL" in run.workspace.review.read_text().upper()
    assert not (run.folder / "internal-review.html").exists()
