"""`hallmark ledger verify`, `anchor` and `restored`, as their users meet them."""

import getpass
import json
from datetime import datetime, timedelta, tzinfo
from fractions import Fraction
from pathlib import Path

import pytest

from hallmark.flows.cli.exits import ExitCode
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger import rows
from hallmark.schemas.documents.manifest import RECORD_FILE
from hallmark.tasks.doctor import house
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.ledger.anchors import anchors_file, open_ledger, read
from tests import example
from tests.flows.conftest import Hallmark
from tests.tasks.authority import authority
from tests.tasks.cut import ACCOUNT, cut, opened

VERIFY = ("ledger", "verify", ACCOUNT)


def test_verify_says_which_anchor_it_compared_with_and_how_old_it_is(hallmark: Hallmark) -> None:
    opened()
    told = hallmark(*VERIFY).out
    assert "the chain is intact," in told
    assert "(0 minutes ago) and covers all entries up to 2, signed by this installation. " in told
    assert "It is the last" in told


def test_verify_says_what_it_cannot_see_where_there_is_no_anchor(hallmark: Hallmark) -> None:
    opened()
    anchors_file().unlink()
    done = hallmark(*VERIFY)
    assert done.code == 0
    assert "No anchor of the account is known here" in done.out
    assert f"hallmark ledger anchor {ACCOUNT}" in done.out


@pytest.mark.parametrize("left", [1, 0])
def test_a_chain_that_was_cut_off_exits_with_4_and_nothing_is_entered(
    left: int, hallmark: Hallmark
) -> None:
    opened()
    cut(ledger_url(), left)
    command = ("cap", ACCOUNT) if left else ("open", ACCOUNT, "--delta", "1e-4")
    for arguments in (VERIFY, ("ledger", *command, "--epsilon", "3", "--reason", "x")):
        done = hallmark(*arguments)
        assert done.code == ExitCode.BUDGET
        assert f"ends at entry {left}, and lacks entry 2" in done.error
        assert f"hallmark ledger restored {ACCOUNT} --reason WHY" in done.error


def test_an_anchor_that_was_kept_elsewhere_tells_what_the_home_no_longer_does(
    hallmark: Hallmark, tmp_path: Path
) -> None:
    opened()
    kept = tmp_path / "kept.jsonl"
    assert f"Added entry 2 of {ACCOUNT}" in hallmark("ledger", "anchor", ACCOUNT, "-o", kept).out
    anchors_file().unlink()
    assert f"{kept}: The newest anchor is from" in hallmark(*VERIFY, "--anchor", kept).out
    cut(ledger_url(), 1)
    done = hallmark(*VERIFY, "--anchor", kept)
    assert done.code == ExitCode.BUDGET
    assert f"lacks entry 2 that {kept} records" in done.error


def test_an_anchor_on_the_screen_is_a_line_of_a_file_of_anchors(
    hallmark: Hallmark, tmp_path: Path
) -> None:
    opened()
    (tmp_path / "kept").write_text(hallmark("ledger", "anchor", ACCOUNT).out)
    (line,) = read(tmp_path / "kept")
    assert line == read(anchors_file())[-1]


def test_an_anchor_gets_a_time_stamp_that_is_checked(hallmark: Hallmark, tmp_path: Path) -> None:
    opened()
    with authority(tmp_path / "tsa") as url:
        roots = ("--tsa-ca", tmp_path / "tsa" / "root.pem")
        done = hallmark("ledger", "anchor", ACCOUNT, "--tsa", url, *roots)
    assert done.code == 0, done
    assert "has a time stamp from" in hallmark(*VERIFY).out
    assert "by an authority that was not checked" in hallmark(*VERIFY).out
    assert "root.pem vouches for" in hallmark(*VERIFY, *roots).out


def test_a_time_stamp_that_cannot_be_had_leaves_no_anchor(hallmark: Hallmark) -> None:
    opened()
    before = anchors_file().read_bytes()
    done = hallmark("ledger", "anchor", ACCOUNT, "--tsa", "http://127.0.0.1:9")
    assert done.code == ExitCode.FAILED
    assert "http://127.0.0.1:9 gives no time stamp" in done.error
    assert anchors_file().read_bytes() == before


def test_a_loss_that_somebody_answers_for_is_recorded_and_told_ever_after(
    hallmark: Hallmark,
) -> None:
    opened()
    cut(ledger_url(), 1)
    done = hallmark("ledger", "restored", ACCOUNT, "--reason", "the disk was lost; board, 3 May")
    assert done.code == 0, done
    assert "continues with 1 entries, and 1 known heads are lost" in done.out
    assert f"hallmark ledger cap {ACCOUNT}" in done.out
    told = hallmark(*VERIFY)
    assert told.code == 0
    assert "lacks 1 known heads: the disk was lost; board, 3 May" in told.out
    again = hallmark("ledger", "restored", ACCOUNT, "--reason", "once more")
    assert "has all entries that are known here;" in again.out


def test_a_release_is_refused_until_somebody_answers_for_the_loss_and_then_says_so(
    hallmark: Hallmark, tmp_path: Path
) -> None:
    book = opened()
    spec = example.write(tmp_path, 300, release="next", **example.only(tmp_path, "age", "region"))
    book.cancel("test-release", by="tests", reason="unused")
    cut(ledger_url(), 1)
    release = ("release", spec, "--out", tmp_path / "out")
    done = hallmark(*release)
    assert done.code == ExitCode.BUDGET
    assert "lacks entry 3" in done.error
    assert len(book.entries(ACCOUNT)) == 1
    assert hallmark("ledger", "restored", ACCOUNT, "--reason", "a flood in May").code == 0
    assert hallmark(*release).code == 0
    record = json.loads((tmp_path / "out" / "next" / RECORD_FILE).read_bytes())
    told = [fact for fact in record["guarantee"]["unprotected"] if "lacks entries" in fact["fact"]]
    assert [fact["why"] for fact in told] == [f"as {getpass.getuser()} says: a flood in May"]
    again = next(w for w in record["trust"]["weaknesses"] if "drawn again" in w["weakness"])
    assert again["applies"] == "in part"


def test_an_account_that_was_dropped_can_be_given_up_and_opened_anew(hallmark: Hallmark) -> None:
    opened()
    cut(ledger_url(), 0)
    assert hallmark("ledger", "restored", ACCOUNT, "--reason", "the disk was lost").code == 0
    opening = ("ledger", "open", ACCOUNT, "--epsilon", "1", "--reason", "anew")
    assert hallmark(*opening).code == 0
    assert hallmark(*VERIFY).code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("verify", ACCOUNT, "--anchor", "missing"), "missing does not exist"),
        (("verify", ACCOUNT, "--anchor", "others.jsonl"), "says nothing about account"),
        (("verify", ACCOUNT, "--anchor", "."), "cannot be relied on"),
        (("anchor", ACCOUNT, "--tsa-ca", "root.pem"), "name an authority with --tsa"),
        (("restored", ACCOUNT, "--reason", " "), "give a reason"),
    ],
)
def test_what_cannot_be_meant_exits_with_2(
    arguments: tuple[str, ...], told: str, hallmark: Hallmark, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    opened()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "others.jsonl").touch()
    done = hallmark("ledger", *arguments)
    assert done.code == ExitCode.USAGE
    assert told in " ".join(done.err.split())


def test_a_file_that_holds_no_anchors_exits_with_3(hallmark: Hallmark, tmp_path: Path) -> None:
    opened()
    (tmp_path / "notes.txt").write_text("nothing of ours\n")
    done = hallmark(*VERIFY, "--anchor", tmp_path / "notes.txt")
    assert done.code == ExitCode.DATA
    assert "notes.txt, line 1: is not an anchor" in done.error


def test_a_clock_that_was_set_back_is_told_by_doctor_and_ledger(
    hallmark: Hallmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Back(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) - timedelta(days=400)

    example.open_account()
    assert "A clock was wrong" not in hallmark(*VERIFY).out
    with monkeypatch.context() as patch:
        patch.setattr(rows, "datetime", Back)
        book = open_ledger(ledger_url())
        book.set_cap(ACCOUNT, Budget(epsilon=Fraction(5)), by="tests", reason="at a wrong time")
    (found,) = house.clock()
    assert found.verdict == "warn"
    assert "entry 2 of account test-people is dated" in found.says
    told = hallmark(*VERIFY)
    assert (told.code, "A clock was wrong: entry 2" in told.out) == (0, True)
