"""Releases of a panel: the same synthetic people run through the periods."""

import re
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from hallmark.flows.cli.app import app
from hallmark.mechanisms.privacy.account_filter import implied_budget
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.mechanisms.privacy.presence import Presence
from hallmark.schemas.documents.manifest import PANEL_FILE, PERSONS_FILE
from hallmark.schemas.documents.panel import PanelFile
from hallmark.schemas.loading import SpecError, load_spec
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.lag import CannotLag, PeopleUnfit, lag, spec_about
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.panel.past import PastRefused
from hallmark.tasks.panels import NoPanel, panel
from hallmark.tasks.planning.private_tables import private_at
from hallmark.tasks.reserve import PanelUnpaid
from hallmark.tasks.verification.people import people_faults
from tests import example
from tests.flows.runs import release, sound
from tests.flows.test_marginal_release import joined

ROWS = 1500
DELTA = Fraction(1, 10**5)
CAP = Fraction(2)
COLUMN = {"outside": "refuse", "bound_source": example.SOURCE}
PANEL: dict[str, Any] = {
    "begins": "2024",
    "columns": ["region", "employed"],
    "back": 2,
    "constant": ["sex"],
    "grows": {"age": 1},
}
YEARS = ("2024", "2025", "2026")


def people(seed: int = 3) -> dict[str, pd.DataFrame]:
    """Three years of people who age, move, find and lose work, leave and arrive."""
    rng = np.random.default_rng(seed)

    def born(ids: range) -> pd.DataFrame:
        n = len(ids)
        return pd.DataFrame(
            {
                "person": [f"p{i}" for i in ids],
                "sex": rng.choice(["f", "m"], n),
                "age": rng.integers(20, 30, n),
                "region": rng.choice(["01", "02", "07"], n, p=[0.6, 0.3, 0.1]),
                "employed": rng.choice(["0", "1"], n, p=[0.4, 0.6]),
            }
        )

    now = born(range(ROWS))
    tables, met = {"2024": now}, ROWS
    for year in ("2025", "2026"):
        stay = now[(rng.random(len(now)) < 0.9) & (now["age"] < 29)].copy()
        stay["age"] += 1
        moves = rng.random(len(stay)) < 0.05
        stay.loc[moves, "region"] = rng.choice(["01", "02", "07"], int(moves.sum()))
        turns = rng.random(len(stay)) < 0.1
        stay.loc[turns, "employed"] = np.where(stay.loc[turns, "employed"] == "1", "0", "1")
        arriving = born(range(met, met + ROWS - len(stay)))
        met += len(arriving)
        now = pd.concat([stay, arriving], ignore_index=True)
        tables[year] = now
    return tables


def about(folder: Path, year: str, **changes: Any) -> Path:
    """The spec of a year's release, whose table `hallmark lag` writes from the second on."""
    columns = {
        "sex": {"type": "nominal", "categories": ["f", "m"], **COLUMN},
        "age": {
            "type": "numeric", "integer": True, "minimum": 20, "maximum": 29, "cell_width": 1,
            **COLUMN,
        },
        "region": {"type": "nominal", "categories": ["01", "02", "07"], **COLUMN},
        "employed": {"type": "boolean", "values": {"1": True, "0": False}, "outside": "refuse"},
    }  # fmt: skip
    own = example.spec(folder / f"table-{year}.csv")
    sections: dict[str, Any] = {
        "release": f"people-{year}",
        "series": {"period": year, "panel": PANEL},
        "data": {**own["data"], "expected_rows": ROWS},
        "privacy": {**own["privacy"], "epsilon": "3"},
        "mechanism": joined("all", "noise-aware"),
        "columns": columns,
        "constraints": [],
    }
    path = example.write(folder, 10, **{**sections, **changes})
    return path.rename(folder / f"{year}{changes.get('release', '')}.yaml")


def account(most: int | None = None) -> None:
    presence = Presence(length="year", most=most)
    example.open_account(
        cap=implied_budget(CAP, DELTA), rho_cap=CAP, composition="zcdp", presence=presence
    )


def raw(folder: Path, year: str) -> Path:
    return folder / f"raw-{year}.csv"


def written(folder: Path, tables: dict[str, pd.DataFrame]) -> None:
    """The private tables of all years, as `hallmark lag` makes them of those of single years."""
    for year, table in tables.items():
        table.to_csv(raw(folder, year), index=False)
    shutil.copy(raw(folder, "2024"), folder / "table-2024.csv")
    for year, before in (("2025", ["2024"]), ("2026", ["2025", "2024"])):
        files = [str(raw(folder, one)) for one in (year, *before)]
        ran = CliRunner().invoke(app, ["lag", str(about(folder, year)), *files, *PERSON])
        assert ran.exit_code == 0, ran.output
        assert f"table-{year}.csv" in ran.output
        assert (folder / f"table-{year}.csv").stat().st_mode & 0o077 == 0


PERSON = ("--person", "person")


@pytest.fixture(scope="module")
def place(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the releases of three years under `out`."""
    folder = tmp_path_factory.mktemp("panel")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALLMARK_HOME", str(folder / "home"))
        patch.delenv("HALLMARK_LEDGER", raising=False)
        account()
        written(folder, people())
        for year in YEARS:
            record = sound(release(about(folder, year)))
            steps = [step["step"] for step in record["post_processing"]["steps"]]
            assert any("records linked" in one for one in steps) == (year != "2024")
        assert set(Ledger(ledger_url()).account("test-people").by_period) == set(YEARS)
    return folder


def folders(place: Path) -> list[Path]:
    return [place / f"out/people-{year}" for year in YEARS]


def test_a_private_table_says_what_the_same_people_were(place: Path) -> None:
    tables = people()
    joined_so = pd.read_csv(place / "table-2026.csv", dtype=str, keep_default_na=False)
    assert "person" not in joined_so
    for back, year in ((1, "2025"), (2, "2024")):
        name = "region_before" if back == 1 else "region_before_2"
        was = tables[year].set_index("person")["region"]
        expected = tables["2026"]["person"].map(was).fillna("NA")
        assert list(joined_so[name]) == list(expected)


def test_people_run_through_the_years(place: Path) -> None:
    """No history is impossible, and every year's records are those of its release."""
    made = panel(folders(place))
    assert list(made) == ["person", "period", "sex", "age", "region", "employed"]
    for year, folder in zip(YEARS, folders(place), strict=True):
        held = pd.read_csv(folder / "data.csv", dtype={"region": str})
        own = made[made["period"] == year].sort_values(["age", "region", "sex", "employed"])
        held = held[["sex", "age", "region", "employed"]]
        held = held.sort_values(["age", "region", "sex", "employed"])
        for name in held:
            assert list(own[name]) == list(held[name])
    assert not made.duplicated(["person", "period"]).any()
    several = made[made["person"].duplicated(keep=False)]
    by = several.groupby("person", sort=False)
    assert (by["sex"].nunique() == 1).all()
    years = several["period"].astype(int)
    assert (several["age"].astype(int) - years == by["age"].transform("first").astype(int)
            - by["period"].transform("first").astype(int)).all()  # fmt: skip
    assert (by["period"].apply(lambda of: of.astype(int).diff().dropna().eq(1).all())).all()
    stay = made.groupby("person")["period"].nunique().value_counts()
    assert stay[3] > 0.3 * ROWS  # of 1,500 people about 950 are there in all years


def test_who_became_what_is_what_people_became(place: Path) -> None:
    """Total variation from the private table, beside that of people who are linked at random."""
    made, tables = panel(folders(place)), people()

    def became(now: pd.Series, before: pd.Series) -> pd.Series:
        return pd.crosstab(before.fillna("none"), now, normalize="all").stack()

    two = {year: made[made["period"] == year].set_index("person") for year in YEARS}
    for year, before in (("2025", "2024"), ("2026", "2025")):
        truth = tables[year].set_index("person")["region"]
        was = tables[before].set_index("person")["region"].reindex(truth.index)
        now = two[year]["region"].astype(str)
        said = two[before]["region"].astype(str).reindex(now.index)
        off = became(now, said).sub(became(truth, was), fill_value=0).abs().sum() / 2
        rng = np.random.default_rng(1)
        mixed = pd.Series(rng.permutation(said), index=said.index)
        random = became(now, mixed).sub(became(truth, was), fill_value=0).abs().sum() / 2
        assert off < 0.06 < 0.3 < random


def test_the_files_of_a_panel_agree_with_the_records(place: Path, tmp_path: Path) -> None:
    folder = folders(place)[1]
    spec = load_spec(folder / "release-spec.yaml")
    assert list(people_faults(folder, spec, ROWS)) == []
    sound_people = pd.read_csv(folder / PERSONS_FILE, dtype=str, keep_default_na=False)
    continuing = sound_people.index[sound_people["before"] != ""]
    copy = shutil.copytree(folder, tmp_path / "copy")

    def faults(people: pd.DataFrame) -> str:
        people.to_csv(copy / PERSONS_FILE, index=False)
        return "; ".join(people_faults(copy, spec, len(people)))

    one, other = continuing[:2]
    twice, owned, lost, new = (sound_people.copy() for _ in range(4))
    twice.loc[one, "before"] = twice.loc[other, "before"]
    owned.loc[one, "person"] = owned.loc[other, "person"]
    lost.loc[one, "before"] = ""
    new.loc[one, "person"] = f"2025-{one + 1}"
    assert "continued twice" in faults(twice)
    assert "a person of its own" in faults(owned)
    assert "counts others" in faults(lost)
    assert "not null for new people alone" in faults(lost)
    assert "not named by the period" in faults(new)
    assert "they cannot be read" in faults(sound_people.rename(columns={"person": "who"}))
    told = PanelFile.model_validate_json((copy / PANEL_FILE).read_bytes())
    (copy / PANEL_FILE).write_text(told.model_copy(update={"continues": None}).model_dump_json())
    assert "does not name the release" in faults(sound_people)


def test_histories_are_those_of_one_chain(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = folders(place)
    for wrong, why in (
        ([first, third], "not about the period after"),
        ([second, second], "about the same period"),
        ([tmp_path], "no release of a panel|not a release of a panel"),
    ):
        with pytest.raises(NoPanel, match=why):
            panel(wrong)
    file = tmp_path / "panel.csv"
    ran = CliRunner().invoke(app, ["panel", str(third), str(second), "--out", str(file)])
    assert ran.exit_code == 0, ran.output
    assert "in 2 periods" in ran.output
    assert len(pd.read_csv(file)) == 2 * ROWS
    # A revision of the second year: the third goes on from what was published before it.
    monkeypatch.setenv("HALLMARK_HOME", str(place / "home"))
    monkeypatch.delenv("HALLMARK_LEDGER", raising=False)
    revised = release(about(place, "2025", release="people-2025-r1"))
    with pytest.raises(NoPanel, match="go on from release people-2025, and not"):
        panel([first, Path(revised.folder), third])
    named_alike = tmp_path / "elsewhere" / second.name
    shutil.copytree(revised.folder, named_alike)
    with pytest.raises(NoPanel, match=r"not from .*elsewhere.* as it is"):
        panel([first, named_alike, third])
    made = panel([first, Path(revised.folder)])
    assert len(made) == 2 * ROWS
    assert made.attrs["notes"] == ()
    (note,) = panel([first, second]).attrs["notes"]
    assert note.startswith(f"people-2025 was superseded by {Path(revised.folder).name} on")


@pytest.mark.usefixtures("prefect", "home")
def test_a_run_that_is_resumed_goes_on_with_the_same_people(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account()
    for file in place.glob("table-*.csv"):
        shutil.copy(file, tmp_path)
    release(about(tmp_path, "2024"))
    first, hidden = tmp_path / "out/people-2024", tmp_path / "hidden"
    shutil.move(first, hidden)
    with pytest.raises(PastRefused, match="no release of 2024"):
        release(about(tmp_path, "2025"))
    shutil.move(hidden, first)
    kept = Workspace.of("people-2025").path / "panel-before.json"
    assert not kept.exists()
    release(about(tmp_path, "2025"), resume=True)
    assert "people-2024" in kept.read_text()
    release(about(tmp_path, "2024", release="people-2024-r1"))  # the run began before it
    shutil.move(tmp_path / "out/people-2025", tmp_path / "first")
    again = release(about(tmp_path, "2025"), resume=True)
    for name in ("data.csv", PERSONS_FILE, PANEL_FILE):
        assert (Path(again.folder) / name).read_bytes() == (tmp_path / "first" / name).read_bytes()


@pytest.mark.usefixtures("prefect", "home")
def test_an_account_that_pays_for_single_years_pays_for_no_panel(
    place: Path, tmp_path: Path
) -> None:
    account(most=1)
    shutil.copy(place / "table-2025.csv", tmp_path)
    with pytest.raises(PanelUnpaid, match="protects one year"):
        release(about(tmp_path, "2025"))
    assert Ledger(ledger_url()).reservation("people-2025") is None


@pytest.mark.usefixtures("prefect", "home")
def test_a_panel_is_paid_for_by_one_account(place: Path, tmp_path: Path) -> None:
    """Else what a year's people cost would be more than its account says."""
    account()
    other = "people-of-2025"
    open_ledger(ledger_url()).open_account(
        other,
        cap=Budget(epsilon=Fraction(9), delta=DELTA),
        adjacency=Adjacency(neighbours=Neighbours.REPLACE_ONE),
        by="tests",
        reason="tests",
    )
    for file in place.glob("table-*.csv"):
        shutil.copy(file, tmp_path)
    release(about(tmp_path, "2024"))
    with pytest.raises(PastRefused, match=f"is {other}, but release people-2024 was paid"):
        release(about(tmp_path, "2025", population={"account": other}))
    assert Ledger(ledger_url()).account(other).spent == (0, 0)


@pytest.mark.usefixtures("home")
def test_a_template_is_filled_in_with_its_period(place: Path, tmp_path: Path) -> None:
    template = about(tmp_path, "2025")
    template.write_text(template.read_text().replace("2025", "{period}"))
    spec = spec_about(template, "2025")
    assert (spec.release, spec.series and spec.series.period) == ("people-2025", "2025")
    written_to = lag(spec, tmp_path, raw(place, "2025"), [raw(place, "2024")], "person")
    assert written_to.read_bytes() == (place / "table-2025.csv").read_bytes()
    with pytest.raises(SpecError, match=re.escape(str(template))):
        spec_about(template, "soon")


@pytest.mark.usefixtures("home")
def test_tables_that_cannot_be_joined_are_refused(place: Path, tmp_path: Path) -> None:
    now, before, earliest = (raw(place, year) for year in ("2026", "2025", "2024"))
    spec = load_spec(about(tmp_path, "2026"))
    table = pd.read_csv(now, dtype=str)
    twice, strangers = tmp_path / "twice.csv", tmp_path / "strangers.csv"
    pd.concat([table, table.head(1)]).to_csv(twice, index=False)
    table.assign(person="x" + table["person"]).to_csv(strangers, index=False)
    for tables, error, why in (
        ((now, [before]), CannotLag, "looks 2 periods back, and 1"),
        ((twice, [before, earliest]), PeopleUnfit, "two records in twice.csv"),
        ((strangers, [before, earliest]), PeopleUnfit, "nobody of strangers.csv"),
        ((now, [tmp_path / "no.csv", earliest]), CannotLag, "no.csv"),
    ):
        with pytest.raises(error, match=why):
            lag(spec, tmp_path, *tables, "person")
    with pytest.raises(CannotLag, match="asks for no columns"):
        lag(load_spec(about(tmp_path, "2024")), tmp_path, now, [before], "person")
    assert not (tmp_path / "table-2026.csv").exists()
    # What it was given counts as private in this installation from then on.
    assert private_at(str(twice), load_spec(about(tmp_path, "2024")), tmp_path) == "people-2026"
