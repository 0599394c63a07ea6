"""The anchors file: every head is in it, signed, whatever was killed, and for its owner alone."""

import re
from pathlib import Path

import pytest

from hallmark.mechanisms.privacy.ledger.ledger import Head
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.ledger.anchors import (
    AnchorsDamaged,
    anchor_of,
    anchors_file,
    installation_key,
    open_ledger,
    read,
    signed,
    signer,
    write,
)
from tests import example
from tests.tasks.cut import opened

ROOT = Path(__file__).parents[3]
HEAD = Head(account="people", entries=3, hash="ab" * 32)


@pytest.fixture
def path(home: Path, tmp_path: Path) -> Path:
    return tmp_path / "kept.jsonl"


def test_every_head_is_written_down_signed_and_for_the_owner_alone(home: Path) -> None:
    book = opened()
    book.state("test-release", "request", {"gate": "plan"})
    lines = read(anchors_file())
    assert [line.anchor.head.hash for line in lines] == [
        entry.hash for entry in book.entries("test-people")
    ]
    key = installation_key()
    assert key is not None
    assert {signer(line) for line in lines} == {key.fingerprint}
    assert all(line.anchor.at.microsecond == 0 for line in lines)
    assert anchors_file().stat().st_mode & 0o777 == 0o600


def test_where_nothing_was_entered_nothing_is_written_down(home: Path) -> None:
    opened()
    before = anchors_file().read_bytes()
    opened()
    assert anchors_file().read_bytes() == before


def test_a_file_that_cannot_be_written_stops_no_charge_and_is_told(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home.mkdir()
    anchors_file().mkdir()  # in the way
    book = opened()
    assert book.account("test-people").reserved[0] == 1
    told = capsys.readouterr().err
    assert "warning: " in told
    assert "the head of ledger account test-people cannot be recorded" in told


def test_where_no_key_can_be_used_anchors_are_not_signed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALLMARK_SIGNING_KEY_FILE", str(home / "missing.pem"))
    opened()
    assert {signer(line) for line in read(anchors_file())} == {None}


def test_an_anchor_that_was_changed_is_no_longer_of_its_signer(path: Path) -> None:
    line = signed(anchor_of(HEAD), installation_key())
    assert signer(line) is not None
    changed = line.anchor.model_copy(update={"lost": ("cd" * 32,)})
    with pytest.raises(AnchorsDamaged, match="'people' at entry 3 was changed after it was signed"):
        signer(line.model_copy(update={"anchor": changed}))


@pytest.mark.parametrize("kept", [1, 40, -2])
def test_a_line_that_a_crash_cut_short_is_passed_over_by_readers_and_writers(
    kept: int, path: Path
) -> None:
    whole = signed(anchor_of(HEAD), None)
    write(whole, path)
    torn = path.read_bytes()
    path.write_bytes(torn + torn[:kept])
    assert read(path) == [whole]
    write(whole, path)
    assert read(path) == [whole, whole]


@pytest.mark.parametrize("line", [b"\n", b"{}\n", b"\xff\xfe\n", b'{"anchor": 1}\n'])
def test_a_line_that_is_no_anchor_is_told_with_its_number(line: bytes, path: Path) -> None:
    write(signed(anchor_of(HEAD), None), path)
    with path.open("ab") as file:
        file.write(line)
    with pytest.raises(AnchorsDamaged, match=r"kept\.jsonl, line 2: is not an anchor"):
        read(path)


def test_a_file_that_is_not_there_has_no_anchors(path: Path) -> None:
    assert read(path) == []


def test_all_that_writes_to_the_ledger_has_its_heads_written_down() -> None:
    opened = {
        str(file.relative_to(ROOT))
        for folder in ("flows", "tasks", "deploy")
        for file in (ROOT / folder).rglob("*.py")
        if re.search(r"(?<!\w)Ledger\(", file.read_text())
    }
    # The ledgers of a rehearsal and of attacks on made-up records are their own.
    assert opened == {
        "tasks/ledger/anchors.py", "tasks/gates/rehearsal.py", "tasks/privacy_audit.py",
    }  # fmt: skip


def test_the_default_ledger_is_opened_by_its_url(home: Path) -> None:
    example.open_account()
    assert open_ledger(ledger_url()).has_account("test-people")
    assert not open_ledger(ledger_url()).has_account("nobody")
