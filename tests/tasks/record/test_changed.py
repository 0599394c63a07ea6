"""What a report says changed: as rarely wrong as it says, and silent where nothing is known."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.schemas.documents.audit_changes import Changed
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.record import changed as module
from hallmark.tasks.record.changed import CONFIDENCE, changed, compared
from hallmark.tasks.rendering.changes import changes_in_words
from tests import example
from tests.tasks.changes.periods import period, spec

TABLE = example.table(600, 1)
HIRED = TABLE.assign(employed=np.where(TABLE["age"].between(30, 60), 1, TABLE["employed"]))


def about(year: str, **columns: dict[str, Any]) -> ReleaseSpec:
    given = spec(**columns).content()
    given |= {"release": f"homes-{year}", "series": {"period": year}}
    return ReleaseSpec.model_validate(given)


def found(
    before: pd.DataFrame,
    after: pd.DataFrame,
    rng: np.random.Generator,
    sigma2: float = 25,
    specs: tuple[ReleaseSpec, ReleaseSpec] = (about("2025"), about("2026")),
) -> Changed:
    """What is said of two tables, each with noise."""
    one, two = (
        (of, period(table, of, sigma2=sigma2, rng=rng).estimator)
        for table, of in zip((before, after), specs, strict=True)
    )
    return compared(one, two, measurements="0" * 64)


def test_a_planted_change_is_told_with_its_cells_and_what_may_be_unseen() -> None:
    said = found(TABLE, HIRED, np.random.default_rng(1))
    assert said.changed == ("employed",)
    assert (said.release, said.earlier_period, said.period) == ("homes-2025", "2025", "2026")
    truth = HIRED["employed"].mean() - TABLE["employed"].mean()
    (rose,) = (one for one in said.cells if one.cell == "true")
    assert rose.told == "rose"
    assert 0 < rose.low <= truth <= rose.high
    assert {one.told for one in said.cells if one.cell == "false"} == {"fell"}
    assert all(0 < one.unseen < one.seen_from < 2.01 * one.unseen for one in said.tables)
    words = " ".join(changes_in_words(said))
    assert "these columns changed beyond the noise: employed." in words
    assert "That does not mean that nothing changed" in words
    assert "no change" not in words


def test_findings_without_a_change_are_as_rare_as_is_said(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "_HALF", 0.9)  # together 80 %, so that there is something to count
    rng, times = np.random.default_rng(2), 60
    wrong = sum(bool(found(TABLE, TABLE, rng, 100).changed) for _ in range(times))
    assert binom.sf(wrong - 1, times, 0.2) > 1e-4
    assert wrong > 0


def test_a_change_from_where_it_is_to_be_seen_is_seen_as_often_as_is_said() -> None:
    """A change of one cell, as large as the first report says would be seen."""
    rng, times = np.random.default_rng(3), 60
    quiet = found(TABLE, TABLE, rng)
    (employed,) = (one for one in quiet.tables if one.column == "employed")
    rows = int(np.ceil(employed.seen_from * len(TABLE)))
    more = TABLE.copy()
    more.loc[more.index[more["employed"] == 0][:rows], "employed"] = 1
    seen = sum("employed" in found(TABLE, more, rng).changed for _ in range(times))
    assert binom.cdf(seen, times, CONFIDENCE) > 1e-4
    half = more.copy()
    half.loc[half.index[TABLE["employed"] == 0][: rows - rows // 3], "employed"] = 0
    assert sum("employed" in found(TABLE, half, rng).changed for _ in range(20)) < 20


def test_nothing_is_said_of_no_change() -> None:
    said = found(TABLE, TABLE, np.random.default_rng(4), 1e4)
    assert said.changed == ()
    words = " ".join(changes_in_words(said))
    assert "no change of a column was told apart from the noise" in words
    assert "smaller ones may be there" in words
    assert "unchanged" not in words


def test_what_cannot_be_compared_is_named_with_the_reason() -> None:
    finer = about(
        "2025",
        since={"cells": 5},
        region={"categories": {"01": "north", "02": "south", "03": "mid", "07": "east"}},
    )
    rng = np.random.default_rng(5)
    split = TABLE.assign(region=np.where(TABLE["age"] > 50, TABLE["region"], "03"))
    said = found(split, TABLE, rng, specs=(finer, about("2026")))
    assert {one.column for one in said.untold} == {"since"}
    (region,) = (one for one in said.tables if one.column == "region")
    assert region.not_compared == "region = mid"
    words = " ".join(changes_in_words(said))
    assert "Not compared at all: since; whether they changed is not known." in words
    assert "Of region, some cells are not compared" in words


def test_only_releases_of_a_series_are_compared(tmp_path: Path) -> None:
    now = Estimator((), 10)
    assert changed(spec(), now, tmp_path) is None
    first = changed(about("2026"), now, None)
    assert first is not None
    assert "there is no release of this series about an earlier period yet" in first.why_not
    assert not first.tables
    kept = changed(about("2026"), None, tmp_path)
    assert kept is not None
    assert "are not published" in kept.why_not
    for one in (first, kept):
        (words,) = changes_in_words(one)
        assert words.startswith("Nothing is compared")


def test_a_map_of_codes_makes_them_the_same() -> None:
    codes = {"01": "north", "021": "mid", "022": "south", "07": "east"}
    before, now = about("2025", region={"categories": codes}), about("2026").content()
    now["series"] |= {"recode": {"region": {"021": "02", "022": "02"}}}
    after = ReleaseSpec.model_validate(now)
    rng = np.random.default_rng(6)
    halves = np.where(TABLE["age"] % 2 == 0, "021", "022")
    finer = TABLE.assign(region=TABLE["region"].where(TABLE["region"] != "02", halves))
    said = found(finer, TABLE, rng, specs=(before, after))
    (region,) = (one for one in said.tables if one.column == "region")
    assert (region.cells, region.not_compared) == (3, "")
    assert said.changed == ()
    assert any("codes of region became those of this period" in note for note in said.notes)
    without = replace_recode(after)
    told = found(finer, TABLE, rng, specs=(before, without))
    (region,) = (one for one in told.tables if one.column == "region")
    assert region.cells == 2


def replace_recode(of: ReleaseSpec) -> ReleaseSpec:
    assert of.series is not None
    return of.model_copy(update={"series": of.series.model_copy(update={"recode": {}})})
