"""No way leads from a rehearsal to the private table; only declared tables are rehearsed on."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hallmark.schemas.loading import SpecError, load_spec
from hallmark.tasks.gates.rehearsal import environment, rehearsal_spec, rehearse
from hallmark.tasks.gates.rehearsal_table import RehearsalRefused, RehearsalTable, rehearsal_table
from hallmark.tasks.installation.workspace import AlreadyRunning, Workspace, rehearsal_home
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.private_tables import note
from hallmark.tasks.planning.requested import PlanRefused
from hallmark.tasks.validate import check_table
from tests import example
from tests.tasks.planning.test_private_tables import COPIES, SPELLINGS, Way

ROWS = 50


def write(folder: Path, source: str | Path, **changes: Any) -> Path:
    declared = {"source": str(source), "kind": "made-up", "reference": "drawn from a model"}
    declared |= {"null_markers": ["NA"]}
    return example.write(folder, ROWS, rehearsal=declared, **changes)


def table(spec: Path, folder: Path | None = None) -> RehearsalTable:
    return rehearsal_table(prepare(spec, folder), spec.parent)


@pytest.mark.parametrize("way", SPELLINGS.values(), ids=SPELLINGS)
def test_the_private_table_is_not_rehearsed_on_whatever_it_is_called(
    way: Way, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "here"
    example.write(folder, ROWS)
    monkeypatch.chdir(folder)
    spec = write(folder, way(folder))
    with pytest.raises(RehearsalRefused, match="is the private table of this release; a rehearsal"):
        table(spec)


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_a_copy_of_it_is_not_rehearsed_on(copy: Any, tmp_path: Path, home: Path) -> None:
    spec = write(tmp_path, copy(tmp_path, example.table(ROWS)))
    with pytest.raises(RehearsalRefused, match="is a copy of the private table of this release"):
        table(spec)


def test_nor_is_one_of_another_release_that_ran_here(tmp_path: Path, home: Path) -> None:
    one = prepare(example.write(tmp_path / "one", 60, release="one"))
    note(Workspace.of("one"), one.spec, one.folder, None)
    spec = write(tmp_path / "other", tmp_path / "one" / "table.csv")
    with pytest.raises(RehearsalRefused, match="is the private table of release one"):
        table(spec)


def test_another_folder_for_relative_sources_leads_to_none(tmp_path: Path, home: Path) -> None:
    """The flow's parameter `folder` moves the declared table and the private one together."""
    spec = write(tmp_path / "here", "public.csv", data={**data("private.csv")})
    for name in ("public.csv", "private.csv"):
        shutil.copy(tmp_path / "here" / "table.csv", tmp_path / name)
    with pytest.raises(RehearsalRefused, match="is a copy of the private table of this release"):
        table(spec, tmp_path)


def data(source: str) -> dict[str, Any]:
    whole: dict[str, Any] = example.spec(Path("table.csv"))["data"]
    return {**whole, "source": source}


def test_a_private_table_that_cannot_be_read_is_not_taken_for_another(
    tmp_path: Path, home: Path
) -> None:
    example.table(ROWS, seed=8).to_csv(tmp_path / "public.csv", index=False, na_rep="NA")
    spec = write(tmp_path, "public.csv")
    (tmp_path / "table.csv").write_bytes(b"age,income\n1,2,3\n")
    with pytest.raises(RehearsalRefused, match="once it was compared with the private one"):
        table(spec)
    (tmp_path / "table.csv").unlink()  # a release is rehearsed before its data are there
    found = table(spec)
    assert (found.rows, "not there yet" in found.records) == (ROWS, True)


def test_a_table_that_changes_meanwhile_is_told(tmp_path: Path, home: Path) -> None:
    example.table(ROWS, seed=8).to_csv(tmp_path / "public.csv", index=False, na_rep="NA")
    found = table(write(tmp_path, "public.csv"))
    found.refuse_changes()
    shutil.copy(tmp_path / "table.csv", tmp_path / "public.csv")
    with pytest.raises(RehearsalRefused, match="changed while it was rehearsed on"):
        found.refuse_changes()


def test_without_a_declaration_records_are_made_up(tmp_path: Path, home: Path) -> None:
    found = table(example.write(tmp_path, ROWS))
    assert (found.rows, found.records) == (3000, "made up from the spec")
    assert len(pd.read_csv(found.data["source"])) == 3000


def test_a_declaration_says_what_it_rests_on(tmp_path: Path) -> None:
    spec = load_spec(write(tmp_path, "public.csv"))
    assert any("that it is made-up rests on: drawn from a model" in w for w in spec.warnings())
    for missing in ("kind", "reference"):
        declared = {"source": "public.csv", "kind": "public", "reference": "the census"}
        del declared[missing]
        with pytest.raises(SpecError, match=rf"rehearsal\.{missing}: is missing"):
            load_spec(example.write(tmp_path, ROWS, rehearsal=declared))
    declared = {"source": "postgresql://host/census", "kind": "public", "reference": "the census"}
    with pytest.raises(SpecError, match=r"rehearsal\.source: is a database"):
        load_spec(example.write(tmp_path, ROWS, rehearsal=declared))


def test_the_spec_of_a_rehearsal_says_that_it_is_one(tmp_path: Path, home: Path) -> None:
    long = "a" * 63 + "b"
    declared = {"approvals": {"plan": ["methodologist"]}, "embargo": "2030-01-01T00:00:00+00:00"}
    prepared = prepare(write(tmp_path, "public.csv", release=long, **declared))
    content = rehearsal_spec(prepared.spec, RehearsalTable({"source": "public.csv"}, "", 1))
    assert content["title"] == f"REHEARSAL: {prepared.spec.title}"
    assert (content["rehearsal_of"], content["population"]) == (long, {"account": "rehearsal"})
    assert content["release"] == f"rehearsal-{'a' * 54}"
    assert not {"approvals", "embargo", "rehearsal"} & set(content)
    for key in ("title", "release"):
        changed = example.write(tmp_path, ROWS, **content | {key: "quiet"})
        with pytest.raises(SpecError, match=rf"{key}: belongs to a rehearsal, so it must"):
            load_spec(changed)


def test_nothing_of_the_house_reaches_the_rehearsals_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PREFECT_API_URL", "HALLMARK_SIGNING_KEY", "HALLMARK_LEDGER", "HALLMARK_PROFILE"):
        monkeypatch.setenv(name, "ours")
    monkeypatch.setenv("HALLMARK_OPERATOR", "Ada")
    found = environment(tmp_path)
    assert {n: v for n, v in found.items() if n.startswith(("HALLMARK_", "PREFECT_"))} == {
        "HALLMARK_HOME": str(tmp_path / "home"),
        "HALLMARK_OPERATOR": "Ada",
    }


def test_made_up_records_obey_the_spec(tmp_path: Path, home: Path) -> None:
    prepared = prepare(example.write(tmp_path, 5))
    found = rehearsal_table(prepared, tmp_path)
    checked = prepare(example.write(tmp_path, 5, data={**data(found.data["source"]), "ignore": []}))
    assert not np.any(
        [f.failing for f in check_table(checked.spec, checked.source) if f.rule.refuses]
    )


def test_a_rehearsal_leaves_one_that_is_under_way_alone(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = prepare(example.write(tmp_path, 5))

    def again(*_: object) -> None:
        with pytest.raises(AlreadyRunning, match="another rehearsal of 'test-release' is under"):
            rehearse(prepared)
        raise InterruptedError

    monkeypatch.setattr("hallmark.tasks.gates.rehearsal._run", again)
    for _ in range(2):  # whatever ends it, the next one may begin
        with pytest.raises(InterruptedError):
            rehearse(prepared)


def test_a_table_may_be_the_public_one_and_the_one_that_is_rehearsed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """In the home of a rehearsal nothing is private; no other spec runs there."""
    example.table(ROWS, seed=8).to_csv(tmp_path / "old.csv", index=False, na_rep="NA")
    public = {"source": "old.csv", "null_markers": ["NA"], "reference": "the census of 2001"}
    pure = {"neighbours": "replace_one", "unit": "record", "epsilon": "1"}
    spec = write(
        tmp_path,
        "old.csv",
        public_data=public,
        mechanism={"name": "sparse-lipschitz"},
        privacy=pure,
    )
    prepared = prepare(spec)
    found = rehearsal_table(prepared, tmp_path)
    copy = example.write(tmp_path, ROWS, **rehearsal_spec(prepared.spec, found))
    with pytest.raises(PlanRefused, match="rehearsal_of: is written by hallmark rehearse"):
        prepare(copy)
    monkeypatch.setenv("HALLMARK_HOME", str(rehearsal_home(tmp_path / "house")))
    assert prepare(copy).public.tables
    with pytest.raises(PlanRefused, match="rehearsal_of: is written by hallmark rehearse"):
        prepare(write(tmp_path, "old.csv"))
