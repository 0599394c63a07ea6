"""A series from its first period to a revision: notices, the check of the whole, forged links."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hallmark.flows.cli.app import app
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.manifest import RECORD_FILE, SPEC_FILE
from hallmark.schemas.documents.notice import notice_file
from hallmark.tasks.installation.signing import DEMO_KEY_FILE
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.notices import withdraw_published
from hallmark.tasks.verification import SeriesVerification, verify_release, verify_series
from hallmark.tasks.verification.chain import NoSeries
from tests.flows.conftest import Done, Hallmark, Killed
from tests.flows.series import MonthlySeries
from tests.flows.test_series_approval import die, said

FIRST, SECOND, THIRD = "2026-09", "2026-10", "2026-11"
REASON = "regions were coded by the old list"
NAMES = [f"acs-{FIRST}", f"acs-{SECOND}", f"acs-{SECOND}-r1", f"acs-{THIRD}"]


def in_process(*arguments: str | Path) -> Done:
    ran = CliRunner().invoke(app, [*map(str, arguments)])
    return Done(ran.exit_code, ran.output, repr(ran.exception))


@pytest.fixture(scope="module")
def installation(
    prefect: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MonthlySeries]:
    """Three months, the second of which was revised before the third."""
    folder = tmp_path_factory.mktemp("series")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALLMARK_HOME", str(folder / "home"))
        patch.delenv("HALLMARK_LEDGER", raising=False)
        series = MonthlySeries(in_process, folder, folder / "home")
        for month, *options in ((FIRST,), (SECOND,), (SECOND, "--revision", REASON), (THIRD,)):
            done = series.run(month, *options)
            assert done.code == 0, done
        yield series


@pytest.fixture
def out(installation: MonthlySeries, tmp_path: Path) -> Path:
    """A copy of the folder of its releases, to be spoilt."""
    return Path(shutil.copytree(installation.out, tmp_path / "releases"))


def check(out: Path, names: list[str] | None = None) -> SeriesVerification:
    return verify_series([out / name for name in names or NAMES])


def detail(found: SeriesVerification, name: str) -> str:
    return next(one.detail for one in found.checks if one.name == name)


def wrong(found: SeriesVerification) -> dict[str, str]:
    return {one.name: one.detail for one in found.checks if not one.ok}


def edited(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Change the record of a release."""
    record = json.loads((folder / RECORD_FILE).read_bytes())
    edit(record)
    (folder / RECORD_FILE).write_text(json.dumps(record))


def test_a_revision_supersedes_by_a_signed_notice_and_the_chain_holds(
    installation: MonthlySeries, out: Path
):
    before = verify_release(installation.out / NAMES[1], notices=[installation.out])
    assert before.ok
    (notice,) = (one.detail for one in before.checks if one.name == "superseded")
    assert notice.startswith(f"superseded by {NAMES[2]} on ")
    assert REASON in notice
    record = json.loads((out / NAMES[3] / RECORD_FILE).read_bytes())
    assert [one["release"] for one in record["post_processing"]["earlier"]] == [NAMES[0], NAMES[2]]

    found = check(out, [NAMES[3], NAMES[0], NAMES[2], NAMES[1]])
    assert found.ok, wrong(found)
    assert list(found.releases) == NAMES
    assert detail(found, "series") == "3 months, 2026-09 to 2026-11; revised: 2026-10"
    # The third from the first and the revision, the others from the first.
    assert detail(found, "earlier releases") == "all 4 references are to the releases that lie here"
    assert f"as {NAMES[3]} has them of its account" in detail(found, "charges")
    ran = in_process("verify", "--series", *(out / name for name in NAMES))
    assert ran.code == 0
    assert "The series is what it claims." in ran.out


def test_what_is_not_there_is_told(out: Path):
    found = check(out, [NAMES[0], NAMES[3]])
    assert found.ok, wrong(found)
    assert "missing: 2026-10" in detail(found, "series")
    assert f"not here: {NAMES[2]}" in detail(found, "earlier releases")
    assert "taken by periods that are not here: 2026-10" in detail(found, "charges")


def test_a_withdrawn_release_is_told_and_fails(
    installation: MonthlySeries, out: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HALLMARK_HOME", str(installation.home))
    withdraw_published(out / NAMES[3], reason="it must not be used")
    found = check(out)
    assert not found.ok
    assert not found.releases[NAMES[3]].ok
    assert f"withdrawn: {NAMES[3]}" in detail(found, "series")


@pytest.fixture(scope="module")
def other(installation: MonthlySeries, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another release of the first month, sound and signed with the same key."""
    folder = tmp_path_factory.mktemp("other")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALLMARK_HOME", str(folder / "home"))
        patch.delenv("HALLMARK_LEDGER", raising=False)
        series = MonthlySeries(in_process, folder, folder / "home")
        shutil.copy(installation.home / DEMO_KEY_FILE, folder / "home" / DEMO_KEY_FILE)
        assert series.run(FIRST).code == 0
        return series.out / NAMES[0]


def test_a_swapped_earlier_release_is_found(out: Path, other: Path):
    shutil.rmtree(out / NAMES[0])
    shutil.copytree(other, out / NAMES[0])
    found = check(out)
    assert found.releases[NAMES[0]].ok
    told = wrong(found)["earlier releases"]
    for name in NAMES[1:]:
        assert f"{name} learned from another {NAMES[0]} than lies here" in told


def without_notice(out: Path) -> None:
    (out / notice_file(NAMES[1], "superseded")).unlink()


def cheaper(out: Path) -> None:
    def edit(record: dict[str, Any]) -> None:
        record["account"]["series"]["taken"]["2026-10"] = "1/1000"

    edited(out / NAMES[3], edit)


def understated(out: Path) -> None:
    def edit(record: dict[str, Any]) -> None:
        record["account"]["composed"] = "1/10"

    edited(out / NAMES[3], edit)


def from_the_future(out: Path) -> None:
    def edit(record: dict[str, Any]) -> None:
        record["post_processing"]["earlier"] = [{"release": NAMES[3], "measurements": "0" * 64}]

    edited(out / NAMES[0], edit)


def another_account(out: Path) -> None:
    spec = out / NAMES[0] / SPEC_FILE
    spec.write_text(spec.read_text().replace("account: test-people", "account: others"))


def under_embargo(out: Path) -> None:
    spec = out / NAMES[0] / SPEC_FILE
    spec.write_text(spec.read_text() + "embargo: 2999-01-01T09:00:00+00:00\n")


@pytest.mark.parametrize(
    ("forge", "name", "fault"),
    [
        (without_notice, "revisions", f"{NAMES[2]} revises {NAMES[1]}, and no signed notice"),
        (cheaper, "charges", "and acs-2026-11 says that 0.001 was taken for it"),
        (understated, "charges", "acs-2026-11 states epsilon 0.1 for all periods"),
        (from_the_future, "earlier releases", "which is not earlier"),
        (another_account, "series", "account is not the same in all releases"),
        (under_embargo, "embargoes", "may not be published before 2999-01-01"),
    ],
)
def test_a_forged_link_is_found(forge: Callable[[Path], None], name: str, fault: str, out: Path):
    forge(out)
    assert fault in wrong(check(out))[name]


def test_a_superseded_release_without_its_revision_is_found(out: Path):
    found = check(out, [NAMES[0], NAMES[1], NAMES[3]])
    assert f"superseded by {NAMES[2]}, which is not among these" in wrong(found)["revisions"]


def test_folders_of_no_one_series_are_refused(out: Path, tmp_path: Path):
    with pytest.raises(NoSeries, match="at least two"):
        check(out, [NAMES[0], NAMES[0]])
    copy = Path(shutil.copytree(out / NAMES[0], tmp_path / "copy"))
    with pytest.raises(NoSeries, match="is given twice"):
        verify_series([out / NAMES[0], copy])
    spec = copy / SPEC_FILE
    text, count = re.subn(r"^series:\n(  .*\n)+", "", spec.read_text(), flags=re.M)
    assert count == 1
    spec.write_text(text)
    with pytest.raises(NoSeries, match="about no period"):
        verify_series([out / NAMES[0], copy])
    assert in_process("verify", out / NAMES[0], out / NAMES[1]).code == 2
    assert in_process("verify", "--series", "--file", copy, copy, copy).code == 2


# The order of a revision


def test_a_revision_is_begun_once_and_only_of_what_is_published(
    hallmark: Hallmark, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    series = MonthlySeries(hallmark, tmp_path, home)
    refused = series.run(FIRST, "--revision", REASON)
    assert refused.code == 2
    assert "is not published in" in refused.error
    assert series.run(FIRST).code == 0
    assert "characters why" in series.run(FIRST, "--revision", " x ").error

    with monkeypatch.context() as patched:  # killed when it was published, before the notice
        patched.setattr("hallmark.flows.release.tell_superseded", die)
        with pytest.raises(Killed):
            series.run(FIRST, "--revision", REASON)
    first = series.out / f"acs-{FIRST}"
    notice = series.out / notice_file(first.name, "superseded")
    assert not notice.exists()
    before = Ledger(ledger_url()).entries("test-people")
    again = series.run(FIRST, "--revision", f"  {REASON} ")
    assert again.code == 0, again
    assert "published before" in said(again)
    assert notice.exists()
    assert Ledger(ledger_url()).entries("test-people") == before
    assert "superseded by acs-2026-09-r1" in said(series.hallmark("verify", first))

    with monkeypatch.context() as patched:
        patched.setattr("hallmark.flows.release._stage", die)
        with pytest.raises(Killed):
            series.run(FIRST, "--revision", "rounding was wrong")
    other = series.run(FIRST, "--revision", "yet another reason")
    assert other.code == 2
    assert "acs-2026-09-r2 was begun for another reason (rounding was wrong)" in other.error
    done = series.run(FIRST, "--revision", "rounding was wrong")
    assert done.code == 0, done
    assert (series.out / "acs-2026-09-r2").is_dir()
    assert "superseded by acs-2026-09-r2" in said(
        series.hallmark("verify", series.out / "acs-2026-09-r1")
    )
    withdrawn = series.hallmark(
        "withdraw", series.out / "acs-2026-09-r2", "--reason", "the table was of another month"
    )
    assert withdrawn.code == 0
    assert series.hallmark("verify", series.out / "acs-2026-09-r2").code == 6
    assert series.run(SECOND).code == 0
    record = json.loads((series.out / f"acs-{SECOND}" / RECORD_FILE).read_bytes())
    assert record["post_processing"]["earlier"] == []  # whose last revision is withdrawn


@pytest.mark.slow
def test_a_revision_has_an_embargo_of_its_own_and_supersedes_when_that_ends(
    hallmark: Hallmark, home: Path, tmp_path: Path
):
    series = MonthlySeries(hallmark, tmp_path, home)
    assert series.run(FIRST).code == 0
    series.schedule(embargo={"days": 3, "at": "09:00"})
    for _ in range(2):
        waits = series.run(FIRST, "--revision", REASON)
        assert waits.code == 7
        assert "acs-2026-09-r1 is complete and may be published from" in said(waits)
    assert not list(series.out.glob("*.superseded.json"))
    assert not (series.out / f"acs-{FIRST}-r1").exists()
