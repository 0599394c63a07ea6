"""The period that a release of a series is about, and the names of its siblings."""

from pathlib import Path

import pytest

from hallmark.mechanisms.privacy.presence import LENGTHS, period
from hallmark.schemas.loading import SpecError, load_spec
from hallmark.schemas.series import PERIODS, length_of, siblings
from tests import example


@pytest.mark.parametrize("length", PERIODS)
def test_an_example_is_of_its_length_for_the_ledger_too(length: str) -> None:
    assert tuple(PERIODS) == LENGTHS
    _, name = PERIODS[length]
    assert length_of(name) == length == period(name).length


@pytest.mark.parametrize(
    "name",
    ["", "26", "2026-1", "2026-13", "2026-q5", "2026-W01", "May 2026", "2026-02-30", "2025-w53"],
)
def test_what_is_no_period_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no period; write it like 2026-11-21, 2026-w47"):
        length_of(name)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("homes-2025-north", ("2025", None)),
        ("homes-2025-north-r2", ("2025", "2")),
        ("homes-2026-north", ("2026", None)),
        ("homes-2025-north-r0", None),
        ("homes-2025-north-more", None),
        ("homes-2025-05-north", None),
        ("homes-2025", None),
        ("my-homes-2025-north", None),
    ],
)
@pytest.mark.parametrize("of", ["homes-2026-north", "homes-2026-north-r1"])
def test_siblings_have_the_same_name_but_for_the_period(
    name: str, found: tuple[str, str | None] | None, of: str
) -> None:
    match = siblings(of, "2026").fullmatch(name)
    assert (None if match is None else (match["period"], match["revision"])) == found


def test_what_a_name_holds_is_no_pattern() -> None:
    assert siblings("a.b-2026", "2026").fullmatch("axb-2025") is None


@pytest.mark.parametrize(
    ("release", "period", "says"),
    [
        ("homes", "2026", "release: must hold the period that the release is about, 2026"),
        ("homes-2025", "2026", "release: must hold the period"),
        ("homes-2026", "May", "series.period: "),
        ("homes-2026-13", "2026-13", "which is no period; write it like"),
    ],
)
def test_a_release_names_its_period(release: str, period: str, says: str, tmp_path: Path) -> None:
    spec = example.write(tmp_path, 5, release=release, series={"period": period})
    with pytest.raises(SpecError) as refused:
        load_spec(spec)
    assert says in str(refused.value)
