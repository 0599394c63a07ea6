"""A ledger put back from a copy: what releases prove is entered again, and the rest is given up."""

import json
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.ledger import BudgetRefused, LedgerError
from hallmark.schemas.documents.manifest import MANIFEST_FILE, RECORD_FILE
from hallmark.tasks.audit import audit_release
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.ledger.rollback import LedgerRolledBack, mark_put_back, refuse_rolled_back
from hallmark.tasks.lost_charges import ProofRefused, Restored, account_for
from tests import example
from tests.tasks.cut import ACCOUNT, cut

RECORD = Adjacency(neighbours=Neighbours.REPLACE_ONE)


def restored(elsewhere: Path, **more: object) -> Restored:
    book = open_ledger(ledger_url())
    return account_for(book, ACCOUNT, [elsewhere], by="Ada", reason="a flood", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("left", [1, 2], ids=["nothing", "a reservation"])
def test_what_a_release_proves_is_entered_and_no_draw_of_it_comes_back(
    left: int, elsewhere: Path
) -> None:
    book = open_ledger(ledger_url())
    whole = book.account(ACCOUNT)
    cut(ledger_url(), left)
    with pytest.raises(LedgerRolledBack):
        refuse_rolled_back(book, ACCOUNT, elsewhere)
    done = restored(elsewhere)
    assert [proof.release for proof in done.entered] == ["test-release"]
    assert done.lost == 1
    now = book.account(ACCOUNT)
    assert (now.spent, now.remaining) == (whole.spent, whole.remaining)
    record = json.loads((elsewhere / "test-release" / RECORD_FILE).read_bytes())
    assert len(book.events("test-release")) == len(record["mechanism"]["events"])
    with pytest.raises(LedgerError, match="nothing more may be drawn"):
        book.record("test-release", "c", "r", book.events("test-release"), b"", lambda s: None)
    refuse_rolled_back(book, ACCOUNT, elsewhere)
    audited = audit_release(elsewhere / "test-release", None, ledger_url())
    assert audited.ok, audited
    again = restored(elsewhere)
    assert (again.entered, again.lost) == ((), 0)


def test_a_release_whose_draws_are_all_there_is_not_entered_again(elsewhere: Path) -> None:
    book = open_ledger(ledger_url())
    whole = book.account(ACCOUNT)
    cut(ledger_url(), 3)  # but for the entry that it is about to be published
    done = restored(elsewhere)
    assert (done.entered, done.lost) == ((), 1)
    assert book.account(ACCOUNT).spent == whole.spent
    refuse_rolled_back(book, ACCOUNT, elsewhere)


def test_a_release_whose_name_has_drawn_anew_is_counted_besides(elsewhere: Path) -> None:
    book = open_ledger(ledger_url())
    whole = book.account(ACCOUNT)
    own = book.events("test-release")
    cut(ledger_url(), 1)
    book.set_cap(ACCOUNT, Budget(epsilon=Fraction(3), delta=whole.cap.delta), by="t", reason="t")
    budget = Budget(epsilon=whole.spent[0], delta=whole.spent[1])
    book.reserve(ACCOUNT, "test-release", budget, adjacency=RECORD, binding="plan")
    book.record("test-release", "again", "r", own, b"fresh noise", lambda standing: None)
    (entered,) = restored(elsewhere).entered
    assert entered.release.startswith("test-release, as published in ")
    assert book.account(ACCOUNT).spent == (2 * whole.spent[0], 2 * whole.spent[1])
    assert book.lookup("test-release", "again", "r") == b"fresh noise"
    assert restored(elsewhere).entered == ()
    book.verify(ACCOUNT)


def test_an_account_that_was_put_back_waits_until_somebody_answers(elsewhere: Path) -> None:
    book = open_ledger(ledger_url())
    refuse_rolled_back(book, ACCOUNT)
    mark_put_back([ACCOUNT, "others"], datetime(2026, 5, 3, 12, tzinfo=UTC))
    with pytest.raises(LedgerRolledBack, match="from a backup of 2026-05-03 12:00 UTC"):
        refuse_rolled_back(book, ACCOUNT)
    assert restored(elsewhere).entered == ()
    refuse_rolled_back(book, ACCOUNT)
    with pytest.raises(LedgerRolledBack):
        refuse_rolled_back(book, "others")


def test_an_intact_ledger_is_left_as_it_is(elsewhere: Path) -> None:
    book = open_ledger(ledger_url())
    entries = book.entries(ACCOUNT)
    done = restored(elsewhere)
    assert (done.entered, done.lost, done.entries) == ((), 0, len(entries))
    assert book.entries(ACCOUNT) == entries


def test_charges_that_were_given_up_before_can_still_be_entered(
    elsewhere: Path, tmp_path: Path
) -> None:
    """Somebody said that they are lost, and found the releases afterwards."""
    cut(ledger_url(), 1)
    (tmp_path / "empty").mkdir()
    restored(elsewhere)
    cut(ledger_url(), 1)  # and the copy was put back once more
    done = restored(elsewhere)
    assert [proof.release for proof in done.entered] == ["test-release"]


def test_a_release_that_does_not_verify_proves_nothing(elsewhere: Path) -> None:
    cut(ledger_url(), 1)
    data = elsewhere / "test-release" / "data.csv"
    data.write_bytes(data.read_bytes() + b"more\n")
    with pytest.raises(ProofRefused, match=r"does not verify .*; nothing was entered"):
        restored(elsewhere)
    assert len(open_ledger(ledger_url()).entries(ACCOUNT)) == 1
    with pytest.raises(LedgerRolledBack):
        refuse_rolled_back(open_ledger(ledger_url()), ACCOUNT, elsewhere)


def test_a_cap_that_was_raised_since_is_told_with_it(elsewhere: Path) -> None:
    book = open_ledger(ledger_url())
    cut(ledger_url(), 1)
    whole = book.account(ACCOUNT).cap
    small = Budget(epsilon=Fraction(1, 2), delta=whole.delta)
    book.set_cap(ACCOUNT, small, by="tests", reason="as it was then")
    with pytest.raises(BudgetRefused, match="spent all the same, so the cap was higher"):
        restored(elsewhere)
    with pytest.raises(LedgerRolledBack):  # nothing was given up either
        refuse_rolled_back(book, ACCOUNT, elsewhere)
    restored(elsewhere, cap=(whole, None))
    assert book.account(ACCOUNT).cap == whole
    assert book.account(ACCOUNT).spent[0] == 1


def test_an_account_that_is_gone_is_opened_anew_and_then_charged(elsewhere: Path) -> None:
    cut(ledger_url(), 0)
    assert restored(elsewhere) == Restored((), 1, 0)
    example.open_account()
    assert [proof.release for proof in restored(elsewhere).entered] == ["test-release"]
    refuse_rolled_back(open_ledger(ledger_url()), ACCOUNT, elsewhere)


def test_releases_on_other_accounts_and_other_folders_prove_nothing_here(elsewhere: Path) -> None:
    (elsewhere / "notes").mkdir()
    (elsewhere / "notes" / MANIFEST_FILE).write_text("nothing of ours")
    book = open_ledger(ledger_url())
    book.open_account(
        "others", cap=Budget(epsilon=Fraction(1)), adjacency=RECORD, by="t", reason="t"
    )
    assert account_for(book, "others", [elsewhere], by="Ada", reason="r") == Restored((), 0, 1)
