"""What is named as changed: what did, and of what did not no more than is said."""

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.tasks.changes import shifts as module
from hallmark.tasks.changes.shifts import shifts
from tests import example
from tests.tasks.changes.periods import period, spec

TABLE = example.table(600, 1)
HIRED = TABLE.assign(employed=np.where(TABLE["age"].between(30, 60), 1, TABLE["employed"]))


def told(before, after, **options):
    asked = {"confidence": 0.95, "within": 0.01, **options}
    return shifts(before, after, {}, **asked)


def test_a_planted_change_is_found_and_shown_with_its_cells():
    rng = np.random.default_rng(1)
    found = told(*(period(table, sigma2=25, rng=rng) for table in (TABLE, HIRED)))
    first, *others = found.tables
    assert first.columns == ("employed",)
    assert first.changed
    assert first.test.probability < 1e-6
    share = HIRED["employed"].mean() - TABLE["employed"].mean()
    (shift,) = (one for one in first.largest if one.cell == ("true",))
    assert shift.is_told
    assert shift.low <= share <= shift.high
    assert {one.columns for one in others} == {("age",), ("income",), ("region",), ("since",)}
    assert not any(one.changed for one in others)
    notes = " ".join(found.notes)
    assert "corrected together (Holm)" in notes
    assert "cannot tell a change of 1 percentage point" in notes


def test_without_change_tables_are_named_as_rarely_as_is_said():
    rng, times = np.random.default_rng(2), 60
    named = sum(
        any(one.changed for one in told(*releases, confidence=0.8).tables)
        for releases in ([period(TABLE, sigma2=100, rng=rng) for _ in "ab"] for _ in range(times))
    )
    assert binom.sf(named - 1, times, 0.2) > 1e-4
    assert named > 0


def test_pairs_are_looked_at_on_request():
    swapped = TABLE.assign(employed=TABLE["employed"].to_numpy()[::-1])
    one, other = period(TABLE, sigma2=4), period(swapped, sigma2=4)
    assert not any(found.changed for found in told(one, other).tables)
    found = told(one, other, pairs=True)
    changed = {table.columns for table in found.tables if table.changed}
    assert ("age", "employed") in changed
    assert ("region", "since") not in changed
    assert len(found.tables) == 15


def test_tables_that_cannot_be_looked_at_are_named_with_the_reason(monkeypatch):
    monkeypatch.setattr(module, "MOST_CELLS", 8)
    other = spec(region={"categories": {"01": "north", "02": "south"}}, since={"cells": 5})
    found = told(period(TABLE), period(TABLE[TABLE["region"] != "07"], other))
    why = dict(found.untold)
    assert "it has 10 cells" in why["age",]
    assert "counted in other cells" in why["since",]
    (region,) = (one for one in found.tables if one.columns == ("region",))
    assert region.cells == 2


def test_noise_that_hides_how_many_records_there_are_hides_their_shares():
    from dataclasses import replace

    noisy = period(TABLE, sigma2=1e8, rng=np.random.default_rng(3))
    private = replace(noisy, estimator=replace(noisy.estimator, total=None))
    found = told(private, private)
    assert not found.tables
    assert all("noise hides" in why for _, why in found.untold)
    assert len(found.untold) == 5
    assert found.notes == ()


@pytest.mark.parametrize("public", [True, False])
def test_a_table_that_grew_evenly_did_not_change(public):
    from dataclasses import replace

    import pandas as pd

    twice = pd.concat([TABLE, TABLE])
    releases = [period(table, sigma2=9) for table in (TABLE, twice)]
    if not public:
        releases = [replace(one, estimator=replace(one.estimator, total=None)) for one in releases]
    found = told(*releases)
    assert not any(one.changed for one in found.tables)
    assert all(one.test.statistic < 1e-9 for one in found.tables)
