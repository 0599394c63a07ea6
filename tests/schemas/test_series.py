"""The period that a release of a series is about, and the names of its siblings."""

from pathlib import Path
from typing import Any

import pytest

from hallmark.mechanisms.privacy.presence import LENGTHS, period
from hallmark.schemas.loading import SpecError, load_spec
from hallmark.schemas.release_spec import ReleaseSpec
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


PUBLISHED = ["age", "region", "employed"]
FACES = {"columns": ["region"], "least": 2}
TOTAL = {"count": 5, "where": "region_before = 01", "reference": "a table"}
PANEL = {"begins": "2025", "columns": ["region", "age"], "constant": ["employed"]}


def refused(tmp_path: Path, *, of: str = "2026", **changes: Any) -> str:
    """What is said of a spec with a panel; nothing where it is sound."""
    sections: dict[str, Any] = {
        "release": f"homes-{of}",
        "series": {"period": of, "panel": PANEL},
        **changes,
    }
    try:
        load_spec(example.write(tmp_path, 5, **sections))
    except SpecError as error:
        return str(error)
    return ""


def panel(**changes: Any) -> dict[str, Any]:
    return {"series": {"period": "2026", "panel": {**PANEL, **changes}}}


def test_a_panel_adds_columns_about_the_period_before(tmp_path: Path) -> None:
    sections = {"release": "homes-2026", **panel(back=2)}
    spec = load_spec(example.write(tmp_path, 5, **sections))
    added = ["region_before", "age_before", "region_before_2", "age_before_2"]
    assert list(spec.columns)[-4:] == added
    assert spec.series is not None
    assert [spec.series.lagged[name].held for name in added] == ["region", "age", *added[:2]]
    region = spec.columns["region_before"]
    assert region.nulls
    assert region.levels == spec.columns["region"].levels
    # What is published of the spec, and what digests are made of, says the same when it is read.
    again = ReleaseSpec.model_validate_json(spec.canonical_json())
    assert again.digest() == spec.digest()
    assert refused(tmp_path, of="2025") == ""
    begun = load_spec(
        example.write(
            tmp_path, 5, release="homes-2025", series={**sections["series"], "period": "2025"}
        )
    )
    assert not begun.series.lagged
    assert "region_before" not in begun.columns


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (panel(begins="2027"), "series.panel.begins: is 2027, and the release is about 2026"),
        (panel(begins="2025-01"), "as long as this one"),
        (panel(begins="soon"), "series.panel.begins: is 'soon', which is no period"),
        (panel(columns=["income", "region"]), "put a column without nulls first"),
        (panel(columns=["regoin"]), "there is no column regoin; did you mean region"),
        (panel(constant=["region"]), "names region twice"),
        (panel(columns=["region"], constant=["age"]), "whose cells hold several values"),
        (panel(grows={"employed": 1}, constant=[]), "is no column of whole numbers"),
        ({"output": {"rows": 100}}, "output.rows: does not go with series.panel"),
        ({"output": {"columns": [*PUBLISHED, "age_before"]}}, "leaves out region_before"),
        ({"output": {"face_privacy": FACES}}, "output.face_privacy: does not go"),
        ({"output": {"replicates": {"number": 20}}}, "output.replicates: does not go"),
        ({"constraints": [{"rule": "age >= age_before", "source": "time"}]}, "names age_before"),
        ({"public_totals": [TOTAL]}, "names region_before, whose values"),
    ],
)  # fmt: skip
def test_a_panel_suits_its_spec(changes: dict[str, Any], says: str, tmp_path: Path) -> None:
    assert says in refused(tmp_path, **changes)


def test_a_panel_has_no_column_that_histories_add(tmp_path: Path) -> None:
    columns = example.spec(Path("table.csv"))["columns"]
    columns["period"] = columns["region"]
    said = refused(tmp_path, columns=columns)
    assert "columns.period: has a name that histories of a panel have for their own" in said


def test_a_column_about_the_period_before_is_that_column(tmp_path: Path) -> None:
    own = example.spec(Path("table.csv"))["columns"]
    for column, says in (
        ({**own["region"], "nulls": True}, ""),
        (own["region"], "is not region with nulls: true"),
        ({**own["employed"], "nulls": True}, "is not region with nulls: true"),
    ):
        columns = {**own, "region_before": column}
        assert says in refused(tmp_path, columns=columns)
        assert bool(says) == bool(refused(tmp_path, columns=columns))


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
