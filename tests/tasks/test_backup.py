"""An installation in one file, put back on another machine, and files that are no such thing."""

import io
import json
import shutil
import sqlite3
import stat
import tarfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.tasks.backup import BackupRefused, back_up, put_back
from hallmark.tasks.installation.key_register import add, register_file
from hallmark.tasks.installation.operator import Order, numbered, operator, ordered
from hallmark.tasks.installation.workspace import Workspace, ledger_url, private_folder
from hallmark.tasks.ledger.anchors import anchors_file, open_ledger
from hallmark.tasks.ledger.rollback import LedgerRolledBack, mark_put_back, refuse_rolled_back
from hallmark.tasks.people import directory
from hallmark.tasks.people.actions import Actor, check, exported, record
from hallmark.tasks.people.rights import Role
from hallmark.tasks.planning.places import specs_folder
from hallmark.tasks.planning.recurring import recurring_calendars, scheduled_by, scheduling
from tests.passkeys import Passkey
from tests.tasks.cut import ACCOUNT, opened

MONTHLY = {"period": "month", "cron": "0 2 1 * *", "budget": {"epsilon": "1"}}


@pytest.fixture
def kept(home: Path, tmp_path: Path) -> Path:
    """A backup of a ledger with an entry, a workspace, and a history."""
    opened()
    workspace = Workspace.of("test-release")
    (workspace.staging / "data.csv").write_text("a,b\n")
    (workspace.codes / "0000").write_bytes(b"coded private records")
    for name in ("scratch/spilled", "offending/0/0.json", "validation.html", "failures.log"):
        private_folder((workspace.path / name).parent)
        (workspace.path / name).write_bytes(b"private")
    (home / "prefect").mkdir(exist_ok=True)
    with sqlite3.connect(home / "prefect" / "prefect.db") as history:
        history.execute("CREATE TABLE runs (name TEXT)")
        history.execute("INSERT INTO runs VALUES ('a run')")
    back_up(tmp_path / "kept.tar", work=True)
    return tmp_path / "kept.tar"


@pytest.fixture
def elsewhere(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of a new machine."""
    monkeypatch.setenv("HALLMARK_HOME", str(tmp_path / "elsewhere"))
    return tmp_path / "elsewhere"


def test_a_backup_is_for_its_owner_alone_and_has_no_private_records(kept: Path) -> None:
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with tarfile.open(kept) as archive:
        assert {member.mode for member in archive} == {0o600}
        assert archive.getnames() == [
            "backup.json",
            "ledger-anchors.jsonl",
            "ledger.jsonl",
            "orchestrator.db",
            "work/test-release/staging/data.csv",
        ]


def test_the_register_of_keys_is_kept_and_put_back(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened()
    add(Passkey().text, person="Ada", since=datetime.now(UTC))
    before = register_file().read_bytes()
    back_up(tmp_path / "kept.tar", work=False)
    monkeypatch.setenv("HALLMARK_HOME", str(tmp_path / "elsewhere"))
    put_back(tmp_path / "kept.tar")
    assert register_file().read_bytes() == before


def test_people_their_log_and_their_specs_are_kept_and_put_back(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened()
    by = Actor("the test", "command line")
    directory.add("ada", "Ada Lovelace", [Role.STEWARD], by=by)
    (specs_folder() / "mine.yaml").write_text("release: mine\n")
    number = numbered(Order(release="mine", by="ada", at=datetime.now(UTC)))
    with scheduling("visits", "release: visits-{period}\n", MONTHLY, "ada") as calendar:
        before = calendar.read_text()
    back_up(tmp_path / "with-people.tar", work=False)
    monkeypatch.setenv("HALLMARK_HOME", str(tmp_path / "elsewhere"))
    put_back(tmp_path / "with-people.tar")
    assert [one.name for one in directory.people()] == ["Ada Lovelace"]
    assert (specs_folder() / "mine.yaml").read_text() == "release: mine\n"
    with ordered(number, "mine"):
        assert operator() == "ada"
    (calendar,) = recurring_calendars()
    assert (calendar.read_text(), scheduled_by(calendar, "visits")) == (before, "ada")
    record(by, "log-exported")
    assert check(exported()) == 2  # all of it by one key
    assert put_back(tmp_path / "with-people.tar").kept.count("people.db") == 1


def test_workspaces_are_kept_where_that_is_asked_for(home: Path, tmp_path: Path) -> None:
    opened()
    (Workspace.of("test-release").staging / "data.csv").write_text("a,b\n")
    contents = back_up(tmp_path / "kept.tar", work=False)
    assert set(contents.files) == {"ledger-anchors.jsonl", "ledger.jsonl"}


def test_what_is_put_back_is_the_same_installation(home: Path, kept: Path, elsewhere: Path) -> None:
    before = {
        "state": open_ledger(f"sqlite:///{home / 'ledger.db'}").account(ACCOUNT),
        "anchors": (home / "ledger-anchors.jsonl").read_bytes(),
    }
    done = put_back(kept)
    assert done.kept == ()
    book = open_ledger(ledger_url())
    assert book.account(ACCOUNT) == before["state"]
    assert anchors_file().read_bytes() == before["anchors"]
    with pytest.raises(LedgerRolledBack, match="put back from a backup of"):
        refuse_rolled_back(book, ACCOUNT)
    mark_put_back([ACCOUNT], None)  # somebody answers for what was drawn since
    refuse_rolled_back(book, ACCOUNT)
    assert (Workspace.of("test-release").staging / "data.csv").read_text() == "a,b\n"
    with sqlite3.connect(elsewhere / "prefect" / "prefect.db") as history:
        assert history.execute("SELECT name FROM runs").fetchall() == [("a run",)]
    for path in elsewhere.rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_putting_it_back_again_leaves_everything_as_it_is(kept: Path, elsewhere: Path) -> None:
    put_back(kept)
    (Workspace.of("test-release").staging / "data.csv").write_text("newer")
    again = put_back(kept)
    assert again.kept == (
        "ledger.jsonl", "ledger-anchors.jsonl", "orchestrator.db", "work/test-release"
    )  # fmt: skip
    assert (Workspace.of("test-release").staging / "data.csv").read_text() == "newer"


def test_a_run_that_died_half_way_goes_on(kept: Path, elsewhere: Path) -> None:
    put_back(kept)
    anchors_file().unlink()
    shutil.rmtree(elsewhere / "work")
    assert put_back(kept).kept == ("ledger.jsonl", "orchestrator.db")
    assert anchors_file().exists()


def test_a_ledger_that_went_on_is_not_overwritten(home: Path, kept: Path) -> None:
    open_ledger(ledger_url()).cancel("test-release", by="tests", reason="unused")
    with pytest.raises(LedgerError, match="holds accounts already"):
        put_back(kept)


def test_anchors_that_are_newer_stay_and_tell_of_the_loss(home: Path, kept: Path) -> None:
    """The ledger's disk was lost, and the home was not."""
    open_ledger(ledger_url()).cancel("test-release", by="tests", reason="unused")
    (home / "ledger.db").unlink()
    assert "ledger-anchors.jsonl" in put_back(kept).kept
    mark_put_back([ACCOUNT], None)
    with pytest.raises(LedgerRolledBack, match="lacks entry 3 that the anchors file records"):
        refuse_rolled_back(open_ledger(ledger_url()), ACCOUNT)


def test_anchors_of_another_ledger_are_refused(kept: Path, elsewhere: Path) -> None:
    elsewhere.mkdir()
    (elsewhere / "ledger-anchors.jsonl").write_text("{}\n")
    with pytest.raises(BackupRefused, match="tells of another ledger"):
        put_back(kept)
    assert not open_ledger(ledger_url()).accounts()


def test_no_backup_is_overwritten(kept: Path, home: Path) -> None:
    content = kept.read_bytes()
    with pytest.raises(BackupRefused, match=r"exists, and no backup is overwritten"):
        back_up(kept, work=False)
    assert kept.read_bytes() == content


Members = dict[str, bytes]


def changed(members: Members) -> None:
    members["work/test-release/staging/data.csv"] = b"other"


def missing(members: Members) -> None:
    del members["ledger.jsonl"]


def added(members: Members) -> None:
    members["more"] = b"more"


def climbing(members: Members) -> None:
    renamed(members, "work/../../outside")


def absolute(members: Members) -> None:
    renamed(members, "/outside/a/b")


def renamed(members: Members, name: str) -> None:
    own = "work/test-release/staging/data.csv"
    members[name] = members.pop(own)
    contents = json.loads(members["backup.json"])
    contents["files"][name] = contents["files"].pop(own)
    members["backup.json"] = json.dumps(contents).encode()


def no_contents(members: Members) -> None:
    members["backup.json"] = b"{}"


@pytest.mark.parametrize("spoil", [changed, missing, added, climbing, absolute, no_contents])
def test_what_is_no_backup_or_was_changed_is_refused_whole(
    spoil: Callable[[Members], None], kept: Path, elsewhere: Path, tmp_path: Path
) -> None:
    with tarfile.open(kept) as archive:
        members = {m.name: archive.extractfile(m).read() for m in archive}  # type: ignore[union-attr]
    spoil(members)
    with tarfile.open(tmp_path / "spoilt.tar", "w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    with pytest.raises(BackupRefused):
        put_back(tmp_path / "spoilt.tar")
    assert not (elsewhere / "work").exists()
    assert not (elsewhere / "ledger.db").exists()
    assert not list(tmp_path.glob("outside*"))


def test_a_file_that_was_cut_short_is_refused(kept: Path, elsewhere: Path, tmp_path: Path) -> None:
    for length in (0, 100, len(kept.read_bytes()) // 2):
        (tmp_path / "short.tar").write_bytes(kept.read_bytes()[:length])
        with pytest.raises(BackupRefused, match="no backup of Hallmark, or was cut short"):
            put_back(tmp_path / "short.tar")
