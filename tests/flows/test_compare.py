"""Two released folders compared, with the private tables gone, as a data user asks."""

import csv
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hallmark as package
from hallmark.schemas.documents.manifest import MANIFEST_FILE, MEASUREMENTS_FILE
from hallmark.tasks.notices import supersede, withdraw_published
from hallmark.tasks.verification.in_use import Withdrawn
from tests import example
from tests.flows.conftest import Hallmark
from tests.tasks.released import ROWS, Released


@pytest.fixture(scope="module")
def made(
    example_release: Released, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Path]]:
    """The example's release, and one of the next year, in which everybody of 30 to 70 works; while
    their private tables are gone."""
    from hallmark.flows.release import release

    base = tmp_path_factory.mktemp("next")
    spec = example.write(base, ROWS, release="next-release")
    table = example.table(ROWS, seed=8)
    table.loc[table["age"].between(30, 70), "employed"] = 1
    table.to_csv(base / "table.csv", index=False, na_rep="NA")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALLMARK_HOME", str(base / "home"))
        for elsewhere in ("HALLMARK_LEDGER", "HALLMARK_PROFILE"):
            patch.delenv(elsewhere, raising=False)
        example.open_account()
        published = release(str(spec), str(base / "out"))
    (base / "table.csv").unlink()
    own = example_release.prepared.path.with_name("table.csv")
    gone = own.rename(own.with_name("gone"))
    yield example_release.folder, Path(published.folder)
    gone.rename(own)


@pytest.fixture
def releases(made: tuple[Path, Path], hallmark: Hallmark) -> tuple[Path, Path]:
    """Both releases, beside a home that knows nothing of them."""
    return made


def test_two_releases_say_what_changed(
    releases: tuple[Path, Path], hallmark: Hallmark, tmp_path: Path
) -> None:
    question = "share of employed = true where age >= 30"
    shown = hallmark("compare", *releases, question)
    assert shown.code == 0, shown.err
    assert "change (95 % interval)" in shown.out
    assert "that tables are samples" in " ".join(shown.out.split())

    told = json.loads(hallmark("compare", *releases, question, "--json").out)
    assert told["releases"] == {"before": "test-release", "after": "next-release"}
    (one,) = told["changes"]
    assert one["change"] == pytest.approx(one["after"] - one["before"])
    assert one["low"] < one["change"] < one["high"]
    assert one["basis"] == "combined"
    rose = "rose by" if one["is_told"] else "no change can be told"
    assert one["in_words"].startswith(rose)
    rows = list(csv.DictReader(io.StringIO(hallmark("compare", *releases, question, "--csv").out)))
    assert float(rows[0]["change"]) == one["change"]

    comparison = package.compare(*releases)
    frame = comparison.query(question)
    assert frame["change"].to_list() == [one["change"]]
    assert frame.attrs["notes"] == tuple(told["notes"])

    both = json.loads(
        hallmark("compare", *releases, "count", question, "--simultaneous", "--json").out
    )
    assert both[1]["changes"][0]["high"] > one["high"]
    assert both[0]["changes"][0]["change"] == 0  # public totals, the same
    assert "count by region" in hallmark("compare", *releases, "count by region", "count").out

    found = hallmark("compare", *releases)
    assert found.code == 0, found.err
    assert "corrected together (Holm)" in " ".join(found.out.split())
    plain = json.loads(hallmark("compare", *releases, "--json", "--pairs").out)
    assert len(plain["tables"]) == 15
    rows = list(csv.DictReader(io.StringIO(hallmark("compare", *releases, "--csv").out)))
    assert {row["columns"] for row in rows} == {"age", "income", "region", "employed", "since"}

    codes = tmp_path / "codes.yaml"
    codes.write_text('region: {"03": "02"}\n')
    refused = hallmark("compare", *releases, "count by region", "--recode", codes)
    assert "none of the earlier release's codes" in refused.error
    assert refused.code == 2
    codes.write_text('ward: {"03": "02"}\n')
    refused = hallmark("compare", *releases, "count", "--recode", codes)
    assert "which is no column of the earlier release" in refused.error


def test_what_cannot_be_compared_is_refused_in_words(
    releases: tuple[Path, Path], hallmark: Hallmark, tmp_path: Path
) -> None:
    refused = hallmark("compare", releases[0], releases[0], "count")
    assert "both folders are release test-release" in refused.error
    assert refused.code == 2
    refused = hallmark("compare", *releases, "cuont")
    assert refused.code == 2
    assert "is not a statistic" in " ".join(refused.err.split())
    assert "between 0 and 1" in hallmark("compare", *releases, "count", "--confidence", "2").error
    assert "between 0 and 1" in hallmark("compare", *releases, "--confidence", "2").error
    assert "within 3" in hallmark("compare", *releases, "--within", "3").error
    for wrong in (
        ("count", "--pairs"),
        ("--simultaneous",),
        ("count", "--csv", "--json"),
        ("count", "count by region", "--csv"),
    ):
        assert hallmark("compare", *releases, *wrong).code == 2

    changed = tmp_path / "changed"
    shutil.copytree(releases[1], changed)
    with (changed / "data.csv").open("a") as file:
        file.write("\n")
    refused = hallmark("compare", releases[0], changed, "count")
    assert "data.csv was changed after signing" in refused.error
    assert refused.code == 6
    (changed / MANIFEST_FILE).unlink()
    assert "is not as it was signed" in hallmark("compare", releases[0], changed, "count").error


def test_what_became_of_a_release_is_told_by_whatever_reads_it(
    releases: tuple[Path, Path], hallmark: Hallmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = (Path(shutil.copytree(one, tmp_path / one.name)) for one in releases)
    with monkeypatch.context() as agency:
        agency.setenv("HALLMARK_HOME", str(releases[1].parents[1] / "home"))
        supersede(after, before, reason="regions were coded by the old list")
    why = "next-release was superseded by test-release on "
    told = [
        json.loads(hallmark("compare", before, after, "count", "--json").out)["notes"],
        json.loads(hallmark("compare", before, after, "--json").out)["notes"],
        json.loads(hallmark("query", after, "count", "--json").out)["notes"],
        package.compare(before, after).query("count").attrs["notes"],
        package.open(after).query("count").attrs["notes"],
    ]
    for notes in told:
        (said,) = (note for note in notes if note.startswith(why))
        assert said.endswith("regions were coded by the old list")
    assert why in " ".join(hallmark("compare", before, after, "count").out.split())

    with monkeypatch.context() as agency:
        agency.setenv("HALLMARK_HOME", str(releases[1].parents[1] / "home"))
        withdraw_published(after, reason="half of the records were of another year")
    for asked in (("compare", before, after), ("query", after, "count"), ("smooth", after, before)):
        out = ("--out", tmp_path / "out.csv") if asked[0] == "smooth" else ()
        refused = hallmark(*asked, *out)
        assert refused.code == 6
        assert "must not be used: it was withdrawn on" in refused.error
        assert "half of the records were of another year" in refused.error
    for refusing in (package.open, lambda one: package.compare(before, one)):
        with pytest.raises(Withdrawn, match="half of the records"):
            refusing(after)


def test_releases_of_the_same_noise_are_refused(
    releases: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hallmark.tasks import compared
    from hallmark.tasks.changes import NotComparable

    assert (releases[0] / MEASUREMENTS_FILE).exists()
    real = compared.OpenRelease.measurements

    class Copied(compared.OpenRelease):
        @property
        def measurements(self) -> Any:
            return real.func(compared.OpenRelease.of(releases[0]))

    monkeypatch.setattr(compared, "OpenRelease", Copied)
    with pytest.raises(NotComparable, match="made from the same noisy tables"):
        package.compare(*releases)
