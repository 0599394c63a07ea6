"""A ledger that lacks what it held is noticed, wherever that was written down, and not drawn on."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import DiscreteGaussian
from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.schemas.documents.manifest import MANIFEST_FILE, RECORD_FILE, Manifest
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.ledger.anchors import (
    AnchorsDamaged,
    anchor_of,
    anchors_file,
    open_ledger,
    read,
    signed,
    write,
)
from hallmark.tasks.ledger.rollback import (
    LedgerRolledBack,
    from_releases,
    refuse_rolled_back,
)
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.reserve import reserve
from tests import example
from tests.tasks.cut import ACCOUNT, cut, opened
from tests.tasks.released import Released


def refuse(out: Path | None = None) -> None:
    refuse_rolled_back(open_ledger(ledger_url()), ACCOUNT, out)


def draw(call: str = "c") -> None:
    event = DiscreteGaussian(l2_squared=2, sigma2=Fraction(1000), unit_moves=2)
    book = open_ledger(ledger_url())
    book.record("test-release", call, "r", [event], b"noise", lambda standing: None)


def test_a_ledger_that_holds_all_that_was_anchored_passes(home: Path) -> None:
    refuse()  # nothing is known of it
    opened()
    draw()
    refuse()


@pytest.mark.parametrize("left", [2, 1, 0])
def test_a_chain_that_was_cut_off_is_refused_though_it_is_whole(left: int, home: Path) -> None:
    book = opened()
    draw()
    cut(ledger_url(), left)
    if left:
        book.verify(ACCOUNT)  # nothing in the database tells
    with pytest.raises(LedgerRolledBack, match=f"ends at entry {left}, and lacks entry 3 that the"):
        refuse()


def test_a_chain_that_was_rewritten_and_is_longer_is_refused(home: Path) -> None:
    book = opened()
    draw("the first of many")
    cut(ledger_url(), 2)
    for number in range(3):
        draw(f"another {number}")
    book.verify(ACCOUNT)
    assert len(book.entries(ACCOUNT)) > 3
    with pytest.raises(LedgerRolledBack, match="lacks entry 3"):
        refuse()


def test_another_account_of_the_ledger_is_not_concerned(home: Path) -> None:
    opened()
    cut(ledger_url(), 1)
    refuse_rolled_back(open_ledger(ledger_url()), "others")


def test_no_budget_is_reserved_on_it_and_nothing_is_entered(home: Path, tmp_path: Path) -> None:
    prepared = prepare(example.write(tmp_path, 5))
    example.open_account()
    reserve.fn(prepared, ledger_url(), tmp_path / "out", resume=False)
    draw()
    cut(ledger_url(), 1)  # so the same call would be drawn again
    for resume in (False, True):
        with pytest.raises(LedgerRolledBack, match="with fresh noise, so nothing was entered"):
            reserve.fn(prepared, ledger_url(), tmp_path / "out", resume=resume)
    assert len(open_ledger(ledger_url()).entries(ACCOUNT)) == 1


def test_an_account_that_is_gone_is_not_taken_for_one_that_was_never_there(
    home: Path, tmp_path: Path
) -> None:
    opened()
    cut(ledger_url(), 0)
    with pytest.raises(LedgerRolledBack, match="ends at entry 0"):
        reserve.fn(prepare(example.write(tmp_path, 5)), ledger_url(), tmp_path, resume=False)


@pytest.mark.parametrize("of_all", [False, True])
def test_an_anchor_that_was_changed_after_signing_is_refused(of_all: bool, home: Path) -> None:
    book = opened()
    cut(ledger_url(), 1)
    if of_all:  # entered by somebody who can use the installation, after the change
        book.set_cap(ACCOUNT, Budget(epsilon=Fraction(2)), by="Eve", reason="to be the newest")
    forged = book.entries(ACCOUNT)[0]
    lines = anchors_file().read_text().splitlines()
    changed = json.loads(lines[1])
    changed["anchor"]["head"] |= {"entries": 1, "hash": forged.hash}
    anchors_file().write_text("\n".join([lines[0], json.dumps(changed), *lines[2:]]) + "\n")
    assert len(lines) == (3 if of_all else 2)
    with pytest.raises(AnchorsDamaged, match="was changed after it was signed"):
        refuse()


def test_nothing_is_reserved_or_asked_on_an_account_with_a_changed_outcome(
    home: Path, tmp_path: Path
) -> None:
    opened()
    draw()
    with create_engine(ledger_url()).begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER ledger_measurements_update")
        connection.exec_driver_sql("UPDATE ledger_measurements SET outcome = CAST('x' AS BLOB)")
    refuse()  # its chain has all that was anchored
    prepared = prepare(example.write(tmp_path, 5, release="another"))
    with pytest.raises(LedgerError, match="the outcome that it charges was changed"):
        reserve.fn(prepared, ledger_url(), tmp_path, resume=False)


def test_what_was_given_up_with_a_reason_is_not_missed_again(home: Path) -> None:
    book = opened()
    lost = book.entries(ACCOUNT)[-1]
    cut(ledger_url(), 1)
    head = book.entries(ACCOUNT)[-1].head
    given_up = anchor_of(head, lost=[lost.hash], by="Ada", reason="the disk was lost")
    write(signed(given_up, None), anchors_file())
    refuse()
    assert read(anchors_file())[-1].anchor.reason == "the disk was lost"


def test_a_release_has_the_account_s_head_in_its_signed_manifest(run: Released) -> None:
    manifest = Manifest.model_validate_json((run.folder / MANIFEST_FILE).read_bytes())
    last = open_ledger(run.ledger).entries(ACCOUNT)[-1]
    assert manifest.ledger is not None
    told = manifest.ledger
    assert (told.account, told.entries, told.hash) == (ACCOUNT, last.seq, last.hash)
    assert last.kind == "publish"
    assert last.hides


def test_published_releases_tell_of_what_was_cut_off(elsewhere: Path) -> None:
    refuse(elsewhere)
    cut(ledger_url(), 1)
    refuse()  # there are no anchors here
    with pytest.raises(LedgerRolledBack, match=r"that release test-release in .*/out/test-release"):
        refuse(elsewhere)


def without_head(folder: Path) -> None:
    """As releases of earlier versions were: the record alone names entries."""
    path = folder / MANIFEST_FILE
    manifest = Manifest.model_validate_json(path.read_bytes())
    earlier = manifest.model_copy(update={"ledger": None})
    path.write_bytes(earlier.canonical_bytes())
    assert b'"ledger"' not in path.read_bytes()


def test_releases_of_earlier_versions_tell_by_the_entries_of_their_record(elsewhere: Path) -> None:
    without_head(elsewhere / "test-release")
    refuse(elsewhere)
    cut(ledger_url(), 1)
    with pytest.raises(LedgerRolledBack, match="lacks an entry that release test-release"):
        refuse(elsewhere)


def no_json(folder: Path) -> None:
    (folder / MANIFEST_FILE).write_text("nothing of ours")


def no_record(folder: Path) -> None:
    without_head(folder)
    (folder / RECORD_FILE).write_text("[]")


@pytest.mark.parametrize("spoil", [no_json, no_record])
def test_folders_that_are_no_releases_tell_nothing(
    spoil: Callable[[Path], None], elsewhere: Path
) -> None:
    spoil(elsewhere / "test-release")
    assert list(from_releases(elsewhere, ACCOUNT)) == []


def test_a_release_on_another_account_tells_nothing_of_this_one(elsewhere: Path) -> None:
    assert list(from_releases(elsewhere, "others")) == []
    without_head(elsewhere / "test-release")
    assert list(from_releases(elsewhere, "others")) == []
