"""The doctor: each check finds what is right, and fires where it is not."""

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.approvals import Waiting
from hallmark.schemas.documents.approver_keys import plain_text
from hallmark.tasks.doctor import Finding, examined, house, machine, ok, server
from hallmark.tasks.installation import key_register
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.progress import announce
from hallmark.tasks.installation.signing_command import public_key_in
from hallmark.tasks.installation.workspace import Workspace, ledger_url, private_folder
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.runs import about, came_to, run_logged
from tests import example
from tests.flows.people import introduce
from tests.flows.services import free_port
from tests.serving import Handler, serving
from tests.tasks.statements import write_profile
from tests.tasks.test_runs import published_in


def said(findings: Iterator[Finding]) -> list[tuple[str, str]]:
    """Verdict and words; whoever is told of a fault is told a fix, by an error of ours itself."""
    found = list(findings)
    by_themselves = ("ledger", "signing key")
    assert all(f.mend or f.verdict == "ok" or f.check in by_themselves for f in found)
    return [(finding.verdict, finding.says) for finding in found]


def only(findings: Iterator[Finding]) -> tuple[str, str]:
    (found,) = said(findings)
    return found


# The machine


def test_this_python_is_supported_and_an_old_one_is_not() -> None:
    assert only(machine.python())[0] == "ok"
    assert only(machine.python("3.9.1"))[0] == "wrong"


def test_packages_are_those_of_the_constraints(tmp_path: Path) -> None:
    pins = tmp_path / "constraints.txt"
    pins.write_text(f"# pinned\nNumPy=={version('numpy')}\nnot-installed==1\nfree>1\n")
    assert only(machine.packages(pins)) == ("ok", "all versions are those of constraints.txt")
    assert only(machine.packages(tmp_path / "none"))[0] == "ok"


def test_another_version_than_was_tested_is_told(tmp_path: Path) -> None:
    pins = tmp_path / "constraints.txt"
    pins.write_text("numpy==0.1\n")
    told = f"versions that were not tested: numpy {version('numpy')}, not 0.1"
    assert only(machine.packages(pins)) == ("warn", told)


def test_a_version_that_installs_and_does_not_work_is_wrong(tmp_path: Path) -> None:
    breaking = {"numpy": ("<0.1", "nothing counts")}
    verdict, words = only(machine.packages(tmp_path / "none", breaking))
    assert verdict == "wrong"
    assert "with <0.1 only, else nothing counts" in words


def test_a_package_that_hallmark_asks_for_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "requires", lambda _: ["absent>=1", "numpy", "x; extra == 'dev'"])
    verdict, words = only(machine.packages(Path("none")))
    assert (verdict, words) == ("wrong", "not installed: absent")


def test_a_home_that_others_may_enter_is_wrong(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "home")
    assert only(machine.home_folder(folder))[0] == "ok"
    folder.chmod(0o750)
    assert only(machine.home_folder(folder))[0] == "wrong"
    assert only(machine.home_folder(tmp_path / "later"))[0] == "ok"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_home_of_somebody_else_is_wrong(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "home")
    os.chown(folder, 12345, -1)
    assert only(machine.home_folder(folder)) == (
        "wrong", f"{folder} belongs to another user, or cannot be written to",
    )  # fmt: skip


def test_a_disk_without_room_is_told(tmp_path: Path) -> None:
    later = tmp_path / "later"
    assert only(machine.disk(later, wrong_below=0, warn_below=0))[0] == "ok"
    assert only(machine.disk(later, wrong_below=0, warn_below=2**70))[0] == "warn"
    assert only(machine.disk(later, wrong_below=2**70))[0] == "wrong"


# The house


def wait_at_the_plan(days: int, role: str = "methodologist") -> None:
    waits = Waiting(
        release="r", title="x", gate="plan", since=datetime.now(UTC) - timedelta(days=days),
        required=(role,), spec="/s", folder="/", out="/",
    )  # fmt: skip
    (Workspace.of("r").path / "waiting.json").write_text(waits.model_dump_json())


def test_a_profile_is_valid_or_wrong(home: Path) -> None:
    assert only(house.profile_read()) == ("ok", "valid; people who may approve: 0")
    write_profile(home, phone="112")
    verdict, words = only(house.profile_read())
    assert verdict == "wrong"
    assert "agency.phone" in words


def test_a_profile_that_lists_one_key_under_two_names_is_wrong(home: Path) -> None:
    keys = introduce(home / "keys", home)
    content = YAML().load(home / "profile.yaml")
    assert only(house.profile_read()) == ("ok", f"valid; people who may approve: {len(keys)}")
    content["approvers"][1]["key"] = content["approvers"][0]["key"]
    YAML().dump(content, home / "profile.yaml")
    verdict, words = only(house.profile_read())
    assert verdict == "wrong"
    assert "is also the key of Ada" in words


def test_a_role_that_is_waited_for_and_nobody_has_is_wrong(home: Path) -> None:
    wait_at_the_plan(days=0, role="oracle")
    verdict, words = only(house.profile_read())
    assert verdict == "wrong"
    assert "is waiting for oracle, but no approver has that role" in words


def test_a_key_of_the_agency_s_own_is_asked_for(home: Path, tmp_path: Path) -> None:
    assert only(house.signing({}))[0] == "warn"
    assert not list(home.glob("*.pem")), "to look makes no key"
    broken = {"HALLMARK_SIGNING_KEY_FILE": str(tmp_path / "absent.pem")}
    assert only(house.signing(broken))[0] == "wrong"


def test_a_key_that_others_may_read_is_told(home: Path, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    file = tmp_path / "key.pem"
    key = Ed25519PrivateKey.generate()
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    named = {"HALLMARK_SIGNING_KEY_FILE": str(file)}
    file.chmod(0o600)
    assert only(house.signing(named))[0] == "ok"
    file.chmod(0o644)
    assert only(house.signing(named))[0] == "warn"


def test_a_key_that_cannot_sign_or_has_ended_is_told(home: Path, tmp_path: Path) -> None:
    file, public = tmp_path / "key.pem", tmp_path / "key.pub"
    for arguments in (
        ["genpkey", "-algorithm", "ed25519", "-out", file],
        ["pkey", "-in", file, "-pubout", "-out", public],
    ):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
    file.chmod(0o600)
    broken = {
        "HALLMARK_SIGNING_COMMAND": "false",
        "HALLMARK_SIGNING_PUBLIC_KEY_FILE": str(public),
    }
    verdict, words = only(house.signing(broken))
    assert (verdict, "the command false ended with exit code 1" in words) == ("wrong", True)

    named = {"HALLMARK_SIGNING_KEY_FILE": str(file)}
    text = plain_text(public_key_in(public).public_bytes_raw())
    key_register.add(text, person=None, since=datetime(2020, 1, 1, tzinfo=UTC))
    assert only(house.signing(named))[0] == "ok"
    (entry,) = key_register.key_register().signing
    key_register.retire(entry.fingerprint, until=datetime(2021, 1, 1, tzinfo=UTC))
    verdict, words = only(house.signing(named))
    assert (verdict, "was retired on 2021-01-01" in words) == ("wrong", True)
    key_register.register_file().write_text("{")
    verdict, words = only(house.signing(named))
    assert (verdict, "is no register of keys" in words) == ("wrong", True)


def test_a_ledger_is_whole_or_wrong(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert only(house.ledger())[1].startswith("none yet")
    assert not (home / "ledger.db").exists(), "to look makes no ledger"
    example.open_account()
    assert only(house.ledger()) == (
        "ok",
        "it answers; the chains of all 1 accounts are intact, and have all anchored entries",
    )
    monkeypatch.setenv("HALLMARK_LEDGER", "sqlite:////dev/null/ledger.db")
    assert only(house.ledger())[0] == "wrong"


def spoil(home: Path, statement: str) -> None:
    """Change the ledger as somebody does who goes round its triggers."""
    with closing(sqlite3.connect(home / "ledger.db")) as database, database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            database.execute(f"DROP TRIGGER {name}")
        database.execute(statement)


def test_a_chain_that_was_tampered_with_is_wrong(home: Path) -> None:
    example.open_account()
    other = Adjacency(neighbours=Neighbours.REPLACE_ONE)
    cap = Budget(epsilon=Fraction(1), delta=Fraction(0))
    Ledger(ledger_url()).open_account("whole", cap=cap, adjacency=other, by="t", reason="t")
    spoil(home, "UPDATE ledger_entries SET payload = replace(payload, 'tests', 'others') ")
    verdict, words = only(house.ledger())
    assert verdict == "wrong"
    assert "test-people" in words


def test_a_ledger_from_the_future_tells_of_a_wrong_clock(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert only(house.clock())[0] == "ok"
    example.open_account()
    assert only(house.clock())[0] == "ok"
    monkeypatch.setattr(house, "APART", timedelta(days=-1))
    assert only(house.clock())[0] == "wrong"


def test_who_waits_too_long_is_named(home: Path) -> None:
    wait_at_the_plan(days=10)
    assert only(house.waiting(days=14)) == (
        "ok", "none of 1 waiting releases has waited over 14 days",
    )  # fmt: skip
    verdict, words = only(house.waiting(days=7))
    assert verdict == "warn"
    assert words.startswith("release r has been waiting at the plan gate since 20")


def test_a_run_that_was_killed_is_found_and_one_that_lives_is_not(
    home: Path, tmp_path: Path
) -> None:
    prepared = prepare(example.write(tmp_path / "data", rows=10))
    workspace = Workspace.of("test-release")
    with run_logged():
        with workspace.held():
            about(prepared.spec)
            announce("discretize")
            (workspace.codes / "0.npy").touch()
            assert only(house.interrupted()) == ("ok", "no run was killed")
        assert only(house.interrupted())[0] == "warn"  # its status says that it still runs
        (workspace.codes / "0.npy").touch()  # as a kill leaves them
        verdict, words = only(house.interrupted())
    assert verdict == "warn"
    assert "coded private records are still there" in words


# The server, as far as one stands in for servers that cannot be run here


@contextmanager
def standin(
    *, runs: str, ahead: timedelta = timedelta(0), status: int = 200
) -> Iterator[dict[str, str]]:
    """Answers as a Prefect server of some version, to everybody or to nobody."""

    class Answers(Handler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found: dict[str, Any] = {"/api/admin/version": f'"{runs}"'}
            text = found.get(self.path, "[]").encode()
            code = 404 if self.path == "/api/work_pools/hallmark" else status
            self.send_response(code)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = answer

        def date_time_string(self, timestamp: float | None = None) -> str:
            then = datetime.now(UTC) + ahead
            return then.strftime("%a, %d %b %Y %H:%M:%S GMT")

    with serving(Answers) as url:
        yield {"PREFECT_API_URL": f"{url}/api", "HALLMARK_DESK_URL": url}


def test_a_published_release_whose_folder_is_gone_is_found(home: Path, tmp_path: Path) -> None:
    prepared = prepare(example.write(tmp_path / "data", rows=10))
    with run_logged():
        about(prepared.spec)
        announce("publish")
        came_to(published_in(tmp_path / "out"))
    assert only(house.published()) == ("ok", "all 1 releases are where they were published")
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    verdict, says = only(house.published())
    assert verdict == "wrong"
    assert f"release test-release was published in {tmp_path}/out/test-release on 20" in says
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")  # as the fix says
    assert only(house.published())[0] == "ok"


def test_a_server_is_told_where_to_publish(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = {"PREFECT_API_URL": "http://127.0.0.1:9/api"}
    monkeypatch.delenv("HALLMARK_RELEASES", raising=False)
    assert only(house.publishing({}))[0] == "ok"
    assert only(house.publishing(server))[0] == "warn"
    (tmp_path / "a-file").touch()
    for folder, verdict in (("releases", "wrong"), ("a-file", "wrong"), ("new/folder", "ok")):
        named = folder if folder == "releases" else str(tmp_path / folder)
        monkeypatch.setenv("HALLMARK_RELEASES", named)
        assert only(house.publishing(server))[0] == verdict, folder


def test_without_a_server_releases_run_on_their_own() -> None:
    assert only(server.prefect_server({}))[0] == "ok"
    assert only(server.desk({}))[0] == "ok"


def test_a_server_that_does_not_answer_is_wrong() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    named = {"PREFECT_API_URL": f"{url}/api", "HALLMARK_DESK_URL": url}
    assert only(server.prefect_server(named))[0] == "wrong"
    assert only(server.desk(named))[0] == "wrong"


def test_a_server_of_another_version_is_wrong() -> None:
    with standin(runs="3.0.0") as named:
        assert said(server.prefect_server(named))[0] == (
            "wrong",
            f"{named['PREFECT_API_URL']} runs Prefect 3.0.0, but this installation has "
            f"{version('prefect')}",
        )


def test_a_server_that_asks_for_no_password_is_told() -> None:
    with standin(runs=version("prefect")) as named:
        found = said(server.prefect_server(named))
        assert "asks for no password" in found[0][1]
        assert [verdict for verdict, _ in found] == ["warn", "warn", "wrong"]  # nothing is there
        assert "is not the desk" in only(server.desk(named))[1]  # which lets nobody in


def test_a_desk_that_does_not_answer_under_its_address_is_wrong() -> None:
    with standin(runs="3", status=421) as named:
        verdict, says = only(server.desk(named))
        assert (verdict, says) == (
            "wrong", f"the desk does not answer as {named['HALLMARK_DESK_URL']}",
        )  # fmt: skip


def test_a_server_that_does_not_let_us_in_is_wrong() -> None:
    with standin(runs="3", status=401) as named:
        assert only(server.prefect_server(named))[0] == "wrong"
        assert only(server.desk(named))[0] == "wrong"


def test_clocks_that_are_apart_are_told() -> None:
    with standin(runs=version("prefect"), ahead=timedelta(minutes=10)) as named:
        found = said(server.prefect_server(named))
    assert any("clocks of this machine and the server differ" in words for _, words in found)


# All of it


def fail(error: Exception) -> Iterator[Finding]:
    raise error
    yield


def test_a_check_that_fails_is_a_finding_and_the_others_are_made() -> None:
    checks: dict[str, Any] = {
        "safe": lambda: fail(SafeError("mend it")),
        "other": lambda: fail(KeyError("x")),
        "good": lambda: [ok("good", "well")],
    }
    found = list(examined(checks))
    assert [finding.verdict for finding in found] == ["wrong", "wrong", "ok"]
    assert [finding.says for finding in found][:2] == [
        "mend it", "it could not be checked: KeyError: 'x'",
    ]  # fmt: skip
