"""The public map between two periods: what of it counts, and where it does not fit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hallmark.schemas.columns.recoding import CodeMap
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.changes.periods import (
    about_the_tables,
    misfit,
    new_cells,
    period_of,
    recoding_between,
)
from tests import example

FINE = {"01": "north", "021": "mid", "022": "south", "07": "east"}
MAP = {"021": "02", "022": "02"}


def of(period: str, codes: Any = None, recode: Any = None, **changes: Any) -> ReleaseSpec:
    given = example.spec(Path("table.csv"))
    given |= {"release": f"homes-{period}", "series": {"period": period}, **changes}
    if codes is not None:
        given["columns"]["region"] |= {"categories": codes}
    if recode is not None:
        given["series"] |= {"recode": {"region": recode}}
    return ReleaseSpec.model_validate(given)


def test_a_map_counts_for_earlier_releases_of_the_series_that_have_other_codes() -> None:
    now = of("2026", recode=MAP | {"08": "07"})
    assert recoding_between(of("2025", FINE), now) == {"region": CodeMap(MAP)}
    older = of("2025", FINE, series=None)  # than series are
    assert recoding_between(older, now) == {"region": CodeMap(MAP)}
    assert period_of(older, now) == "2025"
    assert period_of(of("2025", release="flats-2025"), now) is None
    assert recoding_between(of("2025"), now) == {}
    assert recoding_between(of("2025", FINE), of("2026")) == {}
    assert recoding_between(of("2025", FINE, release="flats-2025"), now) == {}


def test_codes_whose_meanings_were_exchanged_are_told_apart_by_their_labels() -> None:
    swapped = {"01": "south", "02": "north", "07": "east"}
    now = of("2026", recode={"01": "02", "02": "01"})
    before = of("2025", swapped)
    cells = new_cells("region", before, now, recoding_between(before, now))
    np.testing.assert_array_equal(cells, [1, 0, 2])
    assert not recoding_between(of("2025"), now)


def test_every_cell_of_the_earlier_release_has_one_in_the_later() -> None:
    before, now = of("2025", FINE), of("2026", recode=MAP)
    cells = new_cells("region", before, now, recoding_between(before, now))
    assert cells is not None
    np.testing.assert_array_equal(cells, [0, 1, 1, 2])


@pytest.mark.parametrize(
    ("codes", "recode"),
    [
        ({"01": "north", "021": "mid", "07": "east"}, MAP),  # fine: 02 is reached
        ({"01": "north", "03": "south"}, {"03": "02"}),  # what 07 was counted as is not known
    ],
)
def test_a_code_that_no_earlier_one_became_leaves_the_column_out(
    codes: Any, recode: dict[str, str]
) -> None:
    before, now = of("2025", codes), of("2026", recode=recode)
    cells = new_cells("region", before, now, recoding_between(before, now))
    assert (cells is None) == ("03" in codes)


@pytest.mark.parametrize(
    ("recode", "why"),
    [
        (MAP, None),
        ({"021": "02"}, "says nothing of '022', which homes-2025 has"),
        (MAP | {"023": "02"}, "has '023' on the left, which is none of the codes of homes-2024"),
        (MAP | {"04": "07"}, None),  # only the release before has it, which is not read
    ],
)
def test_a_map_that_does_not_fit_earlier_codes_is_told_why(
    recode: dict[str, str], why: str | None
) -> None:
    earlier = {
        "homes-2024": of("2024", {"01": "north", "04": "west"}),
        "homes-2025": of("2025", FINE),
    }
    found = misfit(of("2026", recode=recode), earlier, {"homes-2025"})
    assert (found is None) if why is None else (found is not None and why in found)
    assert misfit(of("2026", recode=recode), {}, set()) is None


def test_a_map_fits_releases_that_have_the_codes_already() -> None:
    earlier = {"homes-2024": of("2024", FINE), "homes-2025": of("2025")}
    assert misfit(of("2026", recode=MAP), earlier, {"homes-2025"}) is None


def test_other_limits_of_a_persons_records_are_told() -> None:
    person = {"unit": {"person": "person", "max_records": 3}}
    data = example.spec(Path("table.csv"))["data"] | {"ignore": []}
    privacy = example.spec(Path("table.csv"))["privacy"] | person
    limited = of("2026", privacy=privacy, data=data)
    told = list(about_the_tables(of("2025"), limited))
    assert len(told) == 2
    assert "at most 1 records count in the earlier table and 3 in the later" in told[1]
