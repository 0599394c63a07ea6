"""The period that a release of a series is about, and the names of its siblings."""

from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize(
    ("recode", "says"),
    [
        ({"nowhere": {"1": "2"}}, "series.recode.nowhere: is no column of this spec"),
        ({"age": {"1": "2"}}, "series.recode.age: has no list of codes; leave it out"),
        ({"region": {"021": "03"}}, "series.recode.region: makes codes '03', not among the"),
        ({"region": {}}, "series.recode.region: is empty; write {OLD: NEW, ...}"),
        ({"region": {"file": "codes.csv"}}, "names a file, but not its column"),
        ({"region": {"file": "codes.csv", "column": "then"}}, "codes.csv has no column then"),
    ],
)
def test_a_map_of_codes_makes_those_of_the_period(
    recode: dict[str, Any], says: str, tmp_path: Path
) -> None:
    (tmp_path / "codes.csv").write_text("code,now\n021,02\n022,02\n")
    series = {"period": "2026", "recode": recode}
    spec = example.write(tmp_path, 5, release="homes-2026", series=series)
    with pytest.raises(SpecError) as refused:
        load_spec(spec)
    assert says in str(refused.value)


def test_a_map_of_codes_is_read_from_a_public_file_and_published(tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text("code,now\n021,02\n022,02\n")
    series = {"period": "2026", "recode": {"region": {"file": "codes.csv", "column": "now"}}}
    path = example.write(tmp_path, 5, release="homes-2026", series=series)
    spec = load_spec(path)
    assert spec.series is not None
    assert spec.series.recode["region"].by_old == {"021": "02", "022": "02"}
    (file,) = spec.category_files
    assert file.path == ("series", "recode", "region")
    text = spec.with_categories(path.read_text())
    assert "codes.csv" not in text
    (tmp_path / "codes.csv").unlink()
    path.write_text(text)
    assert load_spec(path).digest() == spec.digest()


def test_a_spec_without_a_map_has_the_digest_that_it_had_before_there_were_maps(
    tmp_path: Path,
) -> None:
    path = example.write(tmp_path, 5, release="homes-2026", series={"period": "2026"})
    assert load_spec(path).content()["series"] == {"period": "2026", "learn": False}
