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
from hallmark.mechanisms.privacy.ledger.ledger import BudgetRefused, Ledger, LedgerError
from hallmark.schemas.documents.manifest import CERTIFICATE_FILE, MANIFEST_FILE, RECORD_FILE
from hallmark.tasks.installation.signing import SigningError
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.output.finalise import FinalCheckFailed
from hallmark.tasks.publish import Published, PublishRefused
from hallmark.tasks.reserve import AlreadyStarted
from hallmark.tasks.verification import verify_release
from tests import example

ADD_REMOVE = Adjacency(neighbours=Neighbours.ADD_REMOVE)
ROWS = 400
PURE = {"neighbours": "replace_one", "unit": "record", "epsilon": "1"}
FEW = ("age", "region")


pytestmark = pytest.mark.usefixtures("prefect", "home")


def run(spec: Path, resume: bool = False) -> Published:
    from hallmark.flows.release import release

    return release(str(spec), str(spec.parent / "out"), resume=resume)


def privacy(**changes: Any) -> dict[str, Any]:
    return {
        "neighbours": "replace_one", "unit": "record", "epsilon": "1", "delta": "1e-5", **changes
    }  # fmt: skip


def few_columns(folder: Path, **changes: Any) -> dict[str, Any]:
    """Sections of a spec that releases two columns by pmm."""
    whole = example.spec(folder / "table.csv")
    ignore = [name for name in (*whole["columns"], "person") if name not in FEW]
    return {
        "columns": {name: whole["columns"][name] for name in FEW},
        "data": {**whole["data"], "ignore": ignore},
        "mechanism": {"name": "pmm"},
        "constraints": [],
        "privacy": PURE,
        **changes,
    }


def record_of(published: Published) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((Path(published.folder) / RECORD_FILE).read_text())
    return record


def assert_sound(published: Published) -> None:
    verification = verify_release(Path(published.folder))
    assert verification.ok, [check for check in verification.checks if not check.ok]
    Ledger(ledger_url()).verify("test-people")


def calls() -> list[Any]:
    return Ledger(ledger_url()).calls("test-release")


def test_privpgd_releases_a_table_that_verifies(tmp_path: Path) -> None:
    example.open_account()
    published = run(example.write(tmp_path, ROWS))
    assert_sound(published)
    assert record_of(published)["protected"]["rows"] == ROWS
    data = pd.read_csv(Path(published.folder) / "data.csv")
    assert list(data) == ["age", "income", "region", "employed", "since"]
    assert len(data) == len(pd.read_parquet(Path(published.folder) / "data.parquet")) == ROWS
    state = Ledger(ledger_url()).account("test-people")
    assert state.spent == (1, Fraction(1, 10**5))


def test_a_private_number_of_records_is_told_nowhere(tmp_path: Path) -> None:
    rows = 5417  # found by no other figure of the release
    example.open_account(adjacency=ADD_REMOVE)
    mechanism = {"name": "privpgd", "generator": {"descent": {"epochs": 5}}}
    sections = {"privacy": privacy(neighbours="add_remove"), "mechanism": mechanism}
    published = run(example.write(tmp_path, rows, **sections))
    assert_sound(published)
    assert record_of(published)["protected"]["rows"] == "not recorded"
    texts = [p for p in Path(published.folder).iterdir() if p.suffix in (".json", ".html", ".yaml")]
    assert len(texts) >= 6
    made = len(pd.read_csv(Path(published.folder) / "data.csv"))
    assert 0.8 * rows < made < 1.2 * rows
    # As a number by itself: digits of a digest or of a noisy figure may be the same by chance, and
    # so may the noisy number of records.
    told = re.compile(rf"(?<![\w.]){rows}(?![\w.])|{rows:,}")
    for path in texts:
        assert made == rows or not told.search(path.read_text()), path.name


def test_a_public_number_of_records_is_found_by_the_same_search(tmp_path: Path) -> None:
    example.open_account()
    published = run(example.write(tmp_path, 417))
    assert re.search(r"(?<![\w.])417(?![\w.])", (Path(published.folder) / RECORD_FILE).read_text())


@pytest.mark.parametrize(("neighbours", "epsilon"), [("replace_one", "1"), ("add_remove", "0.05")])
def test_pmm_releases_with_pure_epsilon(neighbours: str, epsilon: str, tmp_path: Path) -> None:
    """Also with one that no float hits."""
    example.open_account(adjacency=Adjacency(neighbours=Neighbours(neighbours)))
    private = {**PURE, "neighbours": neighbours, "epsilon": epsilon}
    sections = few_columns(tmp_path, privacy=private)
    published = run(example.write(tmp_path, ROWS, **sections))
    assert_sound(published)
    guarantee = record_of(published)["guarantee"]
    assert guarantee["variant"] == "pure differential privacy"
    spent = Ledger(ledger_url()).account("test-people").spent
    assert spent == (Fraction(epsilon), 0)


def test_a_person_is_protected_with_a_bound_on_records(tmp_path: Path) -> None:
    person = Adjacency(neighbours=Neighbours.ADD_REMOVE, records=3, person="person")
    example.open_account(adjacency=person)
    data = {**example.spec(tmp_path / "table.csv")["data"], "ignore": []}
    unit = {"person": "person", "max_records": 3}
    chosen = privacy(neighbours="add_remove", unit=unit, epsilon="2")
    published = run(example.write(tmp_path, ROWS, data=data, privacy=chosen))
    assert_sound(published)
    claim = record_of(published)["guarantee"]["claim"]
    assert (claim["unit"], claim["records_per_unit"]) == ("person", 3)
    assert "person" not in pd.read_csv(Path(published.folder) / "data.csv")
    beyond = (example.table(ROWS)["person"].value_counts() - 3).clip(lower=0).sum()
    assert beyond > 0
    page = Workspace.of("test-release").review.read_text()
    assert f"{beyond:,} more private rows exceed the number kept" in page
    assert "are among the 3 kept of their person; else left out" in page


def test_a_folder_of_parquet_parts_is_released_like_one_file(tmp_path: Path) -> None:
    example.open_account()
    table, folder = example.table(ROWS), tmp_path / "parts"
    folder.mkdir()
    for index in range(3):
        table.iloc[index::3].reset_index(drop=True).to_parquet(folder / f"{index}.parquet")
    data = {**example.spec(tmp_path / "table.csv")["data"], "source": "parts"}
    published = run(example.write(tmp_path, 2, data=data))
    assert_sound(published)
    assert record_of(published)["protected"]["rows"] == ROWS


@pytest.mark.slow
def test_with_a_huge_budget_one_way_marginals_are_recovered(tmp_path: Path) -> None:
    huge = Fraction(500)
    example.open_account(cap=Budget(epsilon=huge, delta=Fraction(1, 10**4)))
    published = run(example.write(tmp_path, ROWS, privacy=privacy(epsilon=str(huge))))
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
    published = run(example.write(tmp_path, 3000, **sections))
    certificate = json.loads((Path(published.folder) / CERTIFICATE_FILE).read_text())
    bound = next(bound for bound in certificate["bounds"] if bound["target"] == "age")
    made = pd.read_csv(Path(published.folder) / "data.csv")
    shares = [np.bincount(t["age"], minlength=100) / len(t) for t in (made, example.table())]
    actual = np.abs(np.cumsum(shares[0] - shares[1])).sum() / 99
    assert 0 < actual <= bound["value"] < 0.3


def test_a_release_published_before_is_left_alone(tmp_path: Path) -> None:
    example.open_account()
    spec = example.write(tmp_path, ROWS)
    first = run(spec)
    manifest = (Path(first.folder) / MANIFEST_FILE).read_bytes()
    drawn = calls()
    again = run(spec)
    assert again.earlier
    assert not first.earlier
    assert (Path(first.folder) / MANIFEST_FILE).read_bytes() == manifest
    assert calls() == drawn


def test_a_folder_of_something_else_is_never_overwritten(tmp_path: Path) -> None:
    example.open_account()
    spec = example.write(tmp_path, ROWS)
    (tmp_path / "out/test-release").mkdir(parents=True)
    (tmp_path / "out/test-release/thesis.txt").write_text("the only copy")
    with pytest.raises(PublishRefused, match="is not what this spec publishes"):
        run(spec)
    assert (tmp_path / "out/test-release/thesis.txt").read_text() == "the only copy"
    assert Ledger(ledger_url()).reservation("test-release") is None


def test_a_rule_that_blocks_can_be_relaxed_and_the_run_resumed_without_a_new_draw(
    tmp_path: Path,
) -> None:
    example.open_account()
    # One income for a region cannot equal all ages there, so one of these rules must be broken.
    given = {"rule": "region determines income", "source": "tests"}
    rule = {"rule": "income = age", "source": "tests"}
    spec = example.write(tmp_path, ROWS, constraints=[given, rule])
    with pytest.raises(FinalCheckFailed, match="block the publication"):
        run(spec)
    drawn, outcomes = calls(), _outcomes()
    assert drawn
    with pytest.raises(AlreadyStarted, match="Run with --resume"):
        run(spec)
    example.write(tmp_path, ROWS, constraints=[given, {**rule, "if_broken": "report"}])
    published = run(spec, resume=True)
    assert_sound(published)
    assert (calls(), _outcomes()) == (drawn, outcomes)
    assert Ledger(ledger_url()).account("test-people").spent == (1, Fraction(1, 10**5))


def _outcomes() -> list[bytes]:
    from hallmark.mechanisms.privacy.ledger.ledger import Ledger

    ledger = Ledger(ledger_url())
    return [
        ledger.lookup("test-release", call.call, call.request) or b""
        for call in ledger.calls("test-release")
    ]


def test_resuming_with_another_question_to_the_data_is_refused(tmp_path: Path) -> None:
    example.open_account()
    # One income for a region cannot equal all ages there, so one of these rules must be broken.
    given = {"rule": "region determines income", "source": "tests"}
    rule = {"rule": "income = age", "source": "tests"}
    spec = example.write(tmp_path, ROWS, constraints=[given, rule])
    with pytest.raises(FinalCheckFailed):
        run(spec)
    columns = example.spec(tmp_path / "table.csv")["columns"]
    columns["age"] = {**columns["age"], "cell_width": 5}
    example.write(tmp_path, ROWS, columns=columns)
    with pytest.raises(LedgerError, match="another plan"):
        run(spec, resume=True)


def test_an_account_that_does_not_exist_is_told_with_how_to_open_it(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="hallmark ledger open test-people --epsilon CAP") as told:
        run(example.write(tmp_path, ROWS))
    assert "--neighbours replace_one --max-records 1" in str(told.value)


def test_a_release_beyond_the_cap_is_refused_and_reserves_nothing(tmp_path: Path) -> None:
    example.open_account(cap=Budget(epsilon=Fraction(1, 2), delta=Fraction(1, 10**4)))
    with pytest.raises(BudgetRefused):
        run(example.write(tmp_path, ROWS))
    state = Ledger(ledger_url()).account("test-people")
    assert (state.spent, state.reserved) == ((0, 0), (0, 0))


def test_an_account_under_another_relation_is_refused(tmp_path: Path) -> None:
    example.open_account(adjacency=ADD_REMOVE)
    with pytest.raises(LedgerError, match="state the release under the account's relation"):
        run(example.write(tmp_path, ROWS))


def test_data_that_break_the_spec_cost_nothing(tmp_path: Path) -> None:
    example.open_account()
    columns = example.spec(tmp_path / "table.csv")["columns"]
    columns["age"] = {**columns["age"], "maximum": 50}
    with pytest.raises(Exception, match="lie between 0 and 50"):
        run(example.write(tmp_path, ROWS, columns=columns, constraints=[]))
    state = Ledger(ledger_url()).account("test-people")
    assert (state.spent, state.reserved) == ((0, 0), (0, 0))
    # and nothing hinders the same name once the spec is fixed
    assert_sound(run(example.write(tmp_path, ROWS, constraints=[])))


def test_a_key_that_cannot_sign_is_told_before_any_budget_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example.open_account()
    monkeypatch.setenv("HALLMARK_SIGNING_KEY_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(SigningError, match="cannot be read"):
        run(example.write(tmp_path, ROWS))
    assert Ledger(ledger_url()).reservation("test-release") is None


def test_private_intermediates_are_gone_and_the_review_stays_inside(
    tmp_path: Path, home: Path
) -> None:
    example.open_account()
    published = run(example.write(tmp_path, ROWS))
    left = {path.name for path in Workspace.of("test-release").path.rglob("*") if path.is_file()}
    assert "internal-review.html" in left
    assert not [name for name in left if name.startswith("part-")]
    assert Path(published.review).is_relative_to(home)
    assert Path(published.review).stat().st_mode & 0o777 == 0o600
    assert "INTERNAL" in Path(published.review).read_text().upper()
    assert not (Path(published.folder) / "internal-review.html").exists()
