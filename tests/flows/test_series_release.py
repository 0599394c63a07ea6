"""Releases of a series: one budget, what earlier periods tell, revisions, and runs that resume."""

import json
import shutil
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import hallmark as package
from hallmark.flows.cli.app import app
from hallmark.mechanisms.privacy.account_filter import implied_budget
from hallmark.mechanisms.privacy.ledger.ledger import BudgetRefused, Ledger, LedgerError
from hallmark.mechanisms.privacy.presence import Presence
from hallmark.schemas.documents.manifest import MEASUREMENTS_FILE
from hallmark.schemas.question import QuestionError
from hallmark.tasks.earlier import EarlierRefused
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.notices import withdraw_published
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.requested import PlanRefused
from hallmark.tasks.questions.release import CannotAsk
from hallmark.tasks.smooth import CannotSmooth, smooth
from hallmark.tasks.verification.as_signed import NotAsSigned
from hallmark.tasks.verification.changes import change_checks
from hallmark.tasks.verification.documents import Check, read_documents, read_manifest
from hallmark.tasks.verification.in_use import NotInUse
from hallmark.tasks.verification.verify import verify_release
from tests import example
from tests.flows.conftest import Killed
from tests.flows.runs import release, sound
from tests.flows.test_marginal_release import joined

ROWS = 400
DELTA = Fraction(1, 10**5)
CAP = Fraction(1, 10)  # pays for two periods at epsilon 1

pytestmark = pytest.mark.usefixtures("prefect", "home")


def account(presence: Presence) -> None:
    example.open_account(
        cap=implied_budget(CAP, DELTA), rho_cap=CAP, composition="zcdp", presence=presence
    )


def about(folder: Path, period: str, name: str = "", **changes: Any) -> Path:
    """The spec of a period's release, beside those of the others."""
    sections: dict[str, Any] = {
        "release": f"homes-{period}{name}",
        "series": {"period": period, "learn": True},
        "mechanism": joined("all", "noise-aware"),
    }
    spec = example.write(folder, ROWS, **{**sections, **changes})
    return spec.rename(folder / f"{period}{name}.yaml")


def die(*_: object) -> NoReturn:
    raise Killed


def carried(record: dict[str, Any]) -> dict[str, Any]:
    (step,) = (s for s in record["post_processing"]["steps"] if "earlier periods" in s["step"])
    found: dict[str, Any] = step
    return found


def test_a_series_is_paid_for_as_one_and_each_period_learns_from_those_before(
    tmp_path: Path,
) -> None:
    account(Presence(length="year", most=2))
    first = sound(release(about(tmp_path, "2024")))
    assert "there were none" in carried(first)["step"]
    sound(release(about(tmp_path, "2025")))
    third = sound(release(about(tmp_path, "2026")))
    assert "homes-2024, homes-2025" in carried(third)["step"]
    assert "% for single columns" in carried(third)["effect"]
    state = Ledger(ledger_url()).account("test-people")
    assert set(state.by_period) == {"2024", "2025", "2026"}
    assert "any 2 years" in third["account"]["composition"]
    assert Fraction(third["account"]["composed"]) < state.cap.epsilon
    smoothed_by_everybody(tmp_path)
    # A unit may be in any two of these years, and two are paid for: nothing is left of 2026.
    with pytest.raises(BudgetRefused, match="any 2 years"):
        release(about(tmp_path, "2026", "-r1"))


def smoothed_by_everybody(place: Path) -> None:
    """The published folders are enough to estimate all years again."""
    folders = [place / f"out/homes-{year}" for year in ("2026", "2024", "2025")]
    made = smooth(folders)
    assert list(made.frame["period"].unique()) == ["2024", "2025", "2026"]
    assert (made.frame["low"] < made.frame["share"]).all()
    by_table = made.frame.groupby(["columns", "period"])["share"].sum()
    np.testing.assert_allclose(by_table, 1)
    first = made.frame[made.frame["period"] == "2024"]
    assert first["change"].isna().all()
    rest = made.frame[made.frame["period"] != "2024"]
    outside = (rest["change_low"] > 0) | (rest["change_high"] < 0)
    assert outside[rest["told"] != ""].all()
    assert "age x region" in set(made.frame["columns"])
    file = place / "smoothed.csv"
    ran = CliRunner().invoke(app, ["smooth", *map(str, folders), "--out", str(file)])
    assert ran.exit_code == 0, ran.output
    assert "of 3 periods" in ran.output
    pd.testing.assert_frame_equal(
        pd.read_csv(file, keep_default_na=False, dtype=str)[["columns", "cell", "period"]],
        made.frame[["columns", "cell", "period"]],
        check_dtype=False,
    )
    for wrong, why in (
        (folders[:1], "at least two periods"),
        ([folders[0], folders[0]], "about the same period"),
        ([place, folders[0]], "is not a release folder"),
    ):
        with pytest.raises(CannotSmooth, match=why):
            smooth(wrong)
    with pytest.raises(CannotAsk, match="between 0 and 1"):
        smooth(folders, confidence=1.5)


@pytest.mark.slow
def test_pairs_of_a_column_in_detail_are_smoothed_in_its_cells(tmp_path: Path) -> None:
    account(Presence(length="year", most=1))
    sections = example.some_columns("age", "region")
    sections["columns"]["age"]["detail"] = 10
    for year in ("2024", "2025"):
        sound(release(about(tmp_path, year, **sections)))
    found = smooth([tmp_path / f"out/homes-{year}" for year in ("2024", "2025")]).frame
    pair = found[found["columns"] == "age x region"]
    regions = ("north", "south", "east")
    cells = {f"{low} to {low + 9} x {region}" for low in range(0, 100, 10) for region in regions}
    assert set(pair["cell"]) == cells
    np.testing.assert_allclose(pair.groupby("period")["share"].sum(), 1)
    assert found[found["columns"] == "age"]["cell"].nunique() > 10


def test_a_revision_takes_the_place_of_what_it_revises(tmp_path: Path) -> None:
    account(Presence(length="year", most=1))
    release(about(tmp_path, "2024"))
    release(about(tmp_path, "2024", "-r1"))
    later = sound(release(about(tmp_path, "2025")))
    assert carried(later)["step"].endswith(": homes-2024-r1")
    old, revised, last = (tmp_path / "out" / f"homes-{one}" for one in ("2024", "2024-r1", "2025"))
    every = [smooth(given) for given in ([old, last], [last, old, revised], [revised, last])]
    for one in every:
        pd.testing.assert_frame_equal(one.frame, every[-1].frame)
    for one in every[:-1]:
        assert one.replaced[0].startswith("homes-2024 was superseded by homes-2024-r1 on")
    assert every[-1].replaced == ()
    file = str(tmp_path / "smoothed.csv")
    ran = CliRunner().invoke(app, ["smooth", str(old), str(last), "--out", file])
    assert "superseded by homes-2024-r1" in ran.output
    for withdrawn in (revised, last):
        withdraw_published(withdrawn, reason="it must not be used")
    with pytest.raises(NotInUse, match=r"homes-2024-r1 must not be.*homes-2025 must not be"):
        smooth([old, last])
    assert set(Ledger(ledger_url()).account("test-people").by_period) == {"2024", "2025"}


def test_a_resumed_run_makes_what_it_would_have_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was published in the meantime, and only with all that it began with."""
    account(Presence(length="year", most=1))
    release(about(tmp_path, "2023"))
    spec = about(tmp_path, "2025")
    with monkeypatch.context() as patched:
        patched.setattr("hallmark.flows.release.certify", die)
        with pytest.raises(Killed):
            release(spec)
    release(about(tmp_path, "2024"))
    release(about(tmp_path, "2023", "-r1"))
    before = tmp_path / "out/homes-2023"
    shutil.move(before, tmp_path / "away")
    with pytest.raises(EarlierRefused, match="homes-2023 helped an earlier run"):
        release(spec, resume=True)
    shutil.move(tmp_path / "away", before)
    assert carried(sound(release(spec, resume=True)))["step"].endswith(": homes-2023")
    kept = json.loads((Workspace.of("homes-2025").path / "earlier.json").read_text())
    assert set(kept) == {"homes-2023"}


def test_columns_whose_codes_changed_are_left_out_and_told(tmp_path: Path) -> None:
    account(Presence(length="year", most=1))
    own = example.spec(tmp_path / "table.csv")["columns"]
    coarser = {**own, "age": {**own["age"], "cell_width": 20}}
    release(about(tmp_path, "2024", columns=coarser))
    later = sound(release(about(tmp_path, "2025")))
    assert "not those of age, which had other codes" in carried(later)["step"]


FINER = {"01": "north", "021": "mid", "022": "south", "07": "east"}
MAP = {"021": "02", "022": "02"}


def with_finer_regions(place: Path, period: str, **changes: Any) -> Path:
    """The spec of a period in which a region was still two."""
    own = example.spec(place / "table.csv")["columns"]
    finer = {**own, "region": {**own["region"], "categories": FINER}}
    spec = about(place, period, columns=finer, **changes)
    table = pd.read_csv(place / "table.csv", dtype=str, keep_default_na=False)
    halves = np.where(np.arange(len(table)) % 2, "021", "022")
    table["region"] = table["region"].where(table["region"] != "02", halves)
    table.to_csv(place / "table.csv", index=False)
    return spec


def since(record: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = record["utility"]["changed"]
    return found


def test_a_report_says_what_changed_since_the_period_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same as everybody finds in the two folders, also after a crash and a new release."""
    account(Presence(length="year", most=1))
    first = sound(release(about(tmp_path, "2024")))
    assert "no release of this series about an earlier period" in since(first)["why_not"]
    spec = about(tmp_path, "2026", series={"period": "2026"})  # compared without learning
    with monkeypatch.context() as patched:
        patched.setattr("hallmark.flows.release.certify", die)
        with pytest.raises(Killed):
            release(spec)
    release(about(tmp_path, "2025"))
    record = sound(release(spec, resume=True))
    told = since(record)
    assert (told["release"], told["earlier_period"]) == ("homes-2024", "2024")
    out = tmp_path / "out"
    file = (out / "homes-2024" / MEASUREMENTS_FILE).read_bytes()
    assert told["measurements"] == sha256(file).hexdigest()
    compared = package.compare(out / "homes-2024", out / "homes-2026")
    for one in compared.shifts(confidence=0.975).tables:
        (said,) = (said for said in told["tables"] if (said["column"],) == one.columns)
        assert said["unseen"] == pytest.approx(one.hidden, rel=1e-9)
        assert said["seen_from"] == pytest.approx(one.seen_from, rel=1e-9)
        assert said["probability"] == pytest.approx(one.test.probability, rel=1e-6)
    verified_with_the_release_before(out)
    page = (out / "homes-2026/audit-report.html").read_text()
    assert "What changed since the period before" in page
    assert "That does not mean that nothing changed" in page
    assert "What changed since the period before" in (out / "homes-2026/README.md").read_text()


def verified_with_the_release_before(out: Path) -> None:
    """What changed is computed anew where both releases are at hand."""
    now, before = out / "homes-2026", out / "homes-2024"
    name = "changes since homes-2024"

    def check(folder: Path = now) -> Check:
        (found,) = (one for one in verify_release(folder).checks if one.name == name)
        return found

    assert check() == Check(name, True, "as computed anew from the noisy tables of both releases")
    told = read_documents(now, read_manifest(now))
    said = told.record.utility.changed
    assert said is not None
    for forged in (
        {"tables": said.tables[1:]},
        {"tables": (said.tables[0].model_copy(update={"seen_from": 1e-3}), *said.tables[1:])},
    ):
        utility = told.record.utility.model_copy(update={"changed": said.model_copy(update=forged)})
        record = told.record.model_copy(update={"utility": utility})
        (found,) = change_checks(now, replace(told, record=record))
        assert found.detail == "the record says otherwise than the noisy tables of both releases"
        assert not found.ok
    outside = said.model_copy(update={"release": "../homes-2024"})
    utility = told.record.utility.model_copy(update={"changed": outside})
    record = told.record.model_copy(update={"utility": utility})
    (found,) = change_checks(now, replace(told, record=record))
    assert (found.ok, found.detail) == (False, "that is no name of a release")
    file = before / MEASUREMENTS_FILE
    as_it_was = file.read_bytes()
    file.write_bytes((now / MEASUREMENTS_FILE).read_bytes())
    assert "beside this release, is another one" in check().detail
    file.write_bytes(as_it_was)
    shutil.move(before, out.parent / "away")
    assert check().ok
    assert "is not beside this release" in check().detail
    shutil.move(out.parent / "away", before)


def test_a_public_map_makes_the_codes_of_earlier_periods_those_of_this_one(
    tmp_path: Path,
) -> None:
    account(Presence(length="year", most=1))
    release(with_finer_regions(tmp_path, "2024"))
    release(with_finer_regions(tmp_path, "2025"))
    series = {"period": "2026", "learn": True, "recode": {"region": MAP}}
    for recode, why in (
        ({"021": "02"}, "series.recode.region: says nothing of '022', which homes-20"),
        (MAP | {"08": "07"}, "has '08' on the left, which is none of the codes of homes-2024"),
    ):
        wrong = about(tmp_path, "2026", series={**series, "recode": {"region": recode}})
        with pytest.raises(EarlierRefused, match=why):
            release(wrong)
    third = sound(release(about(tmp_path, "2026", series=series), resume=True))
    assert "codes of region by the spec's public map" in carried(third)["step"]
    assert "not those of" not in carried(third)["step"]
    (region,) = (one for one in since(third)["tables"] if one["column"] == "region")
    assert (region["cells"], region["not_compared"]) == (3, "")
    out = tmp_path / "out"
    folders = [out / f"homes-{year}" for year in ("2024", "2025", "2026")]
    made = smooth(folders)
    assert made.left_out == ()
    regions = made.frame[made.frame["columns"] == "region"]
    assert set(regions["cell"]) == {"north", "south", "east"}
    # Everybody who compares the two folders has the map, too, and may give another.
    found = package.compare(*folders[1:]).query('share of region = "02"')
    assert found["basis"].tolist() == ["combined"]
    with pytest.raises(QuestionError, match="the later release alone has it"):
        package.compare(*folders[1:], recode={}).query('share of region = "02"')


@pytest.mark.slow
def test_a_column_that_is_gone_hinders_nothing(tmp_path: Path) -> None:
    account(Presence(length="year", most=1))
    release(about(tmp_path, "2025"))
    own = example.spec(tmp_path / "table.csv")
    columns = {name: one for name, one in own["columns"].items() if name != "since"}
    data = own["data"] | {"ignore": ["person", "since"]}
    later = sound(release(about(tmp_path, "2026", columns=columns, data=data)))
    assert carried(later)["step"].endswith(": homes-2025")
    assert {one["column"]: one["why"] for one in since(later)["untold"]} == {
        "since": "the later release has no such column"
    }


def test_a_changed_file_of_an_earlier_release_is_refused(tmp_path: Path) -> None:
    account(Presence(length="year", most=1))
    release(about(tmp_path, "2024"))
    file = tmp_path / "out/homes-2024" / MEASUREMENTS_FILE
    file.write_bytes(file.read_bytes() + b"more")
    with pytest.raises(EarlierRefused, match="is not the file that the release's manifest lists"):
        release(about(tmp_path, "2025"))
    with pytest.raises(NotAsSigned, match="is not as it was signed"):
        smooth([file.parent, file.parent])


def test_an_account_of_a_series_wants_the_period(tmp_path: Path) -> None:
    account(Presence(length="month", most=1))
    with pytest.raises(LedgerError, match="a series of months: '2024' is a year"):
        release(about(tmp_path, "2024"))
    with pytest.raises(LedgerError, match="does not state the period"):
        release(example.write(tmp_path, ROWS))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a mechanism without marginals": (
        {"mechanism": {"name": "pmm"}, "privacy": example.PURE},
        "makes records from other things",
    ),
    "private bins": ({"binning": {"columns": {"age": 4}}}, "bins that noise chooses"),
    "replicate weights": (
        {"output": {"replicates": {"number": 20}}},
        "replicate weights do not know",
    ),
}


@pytest.mark.parametrize(("changes", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_what_could_not_learn_is_refused(changes: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises(PlanRefused, match=why):
        prepare(about(tmp_path, "2024", **changes))
