"""PostgreSQL goes back to a moment before three releases: nothing of them is forgotten.

On a server of the tests' own, which archives as docs/operations.md says. It takes a minute or
two: `make test-services`.
"""

import shutil
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from hallmark.flows.cli.exits import ExitCode
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.costs import Cost
from hallmark.mechanisms.privacy.ledger.ledger import (
    AccountState,
    BudgetRefused,
    Entry,
    Ledger,
    LedgerError,
)
from hallmark.tasks.ledger.anchors import open_ledger
from tests import example
from tests.flows.conftest import Hallmark
from tests.flows.own_postgres import Server, own_postgres
from tests.tasks.cut import ACCOUNT

pytestmark = pytest.mark.service

RECORD = Adjacency(neighbours=Neighbours.REPLACE_ONE)
CAP = Budget(epsilon=Fraction(1), delta=Fraction(1, 10**4))
MORE = Budget(epsilon=Fraction(2), delta=Fraction(1, 10**4))
LATER = ("april", "may", "june")


@dataclass(frozen=True)
class History:
    """A server on which four releases were made, and what its ledger held.

    Attributes:
        moment: when the first release was published, and no other begun.
        then: the account's entries at that moment.
        whole: its entries in the end.
    """

    server: Server
    folder: Path
    moment: str
    then: list[Entry]
    whole: list[Entry]
    state: AccountState

    @property
    def out(self) -> Path:
        return self.folder / "out"


def spec(folder: Path, name: str) -> Path:
    """The spec of a small release."""
    privacy = {"neighbours": "replace_one", "unit": "record", "epsilon": "0.3", "delta": "1e-5"}
    return example.write(
        folder / name, 300, release=name, privacy=privacy, mechanism={"name": "mst"}
    )


@pytest.fixture(scope="module")
def history(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    from hallmark.flows.release import release

    folder = tmp_path_factory.mktemp("history")
    with own_postgres() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALLMARK_HOME", str(folder / "home"))
        patch.setenv("HALLMARK_LEDGER", server.ledger)
        book = open_ledger(server.ledger)
        book.open_account(
            ACCOUNT, cap=CAP, adjacency=RECORD, composition="zcdp", by="board", reason="law"
        )
        server.back_up()
        release(str(spec(folder, "march")), str(folder / "out"))
        then, moment = book.entries(ACCOUNT), server.sql("SELECT clock_timestamp()")
        for name in LATER:
            release(str(spec(folder, name)), str(folder / "out"))
        yield History(server, folder, moment, then, book.entries(ACCOUNT), book.account(ACCOUNT))


@pytest.fixture
def own_home(history: History, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the home in which the releases were made, with the ledger's anchors."""
    shutil.copytree(history.folder / "home", home)
    monkeypatch.setenv("HALLMARK_LEDGER", history.server.ledger)
    return home


def test_a_moment_before_three_releases(
    history: History, own_home: Path, hallmark: Hallmark, tmp_path: Path
) -> None:
    server, out = history.server, history.out
    book = open_ledger(server.ledger)
    server.stop()
    server.restore(recovery_target_time=history.moment, recovery_target_timeline="current")
    assert book.entries(ACCOUNT) == history.then  # by a process that saw the server go
    book.verify(ACCOUNT)  # a chain that was cut off is whole
    assert book.account(ACCOUNT).spent[0] == Fraction(3, 10)

    said = hallmark("ledger", "verify", ACCOUNT)
    assert said.code == ExitCode.BUDGET
    ends = f"ends at entry {len(history.then)}, and lacks entry {len(history.whole)}"
    assert ends in said.error
    assert ends in hallmark("doctor", "--json").out
    for name in ("next", "may"):
        refused = hallmark("release", spec(tmp_path, name), "--out", tmp_path / "x", "--resume")
        assert refused.code == ExitCode.BUDGET
        assert ends in refused.error
    assert book.entries(ACCOUNT) == history.then

    told = ("ledger", "restored", ACCOUNT, "--releases", out, "--reason", "the disk failed")
    done = hallmark(*told)
    assert done.code == 0
    names = ("march", *LATER)
    assert [f"Entered: {name} spent" in done.out for name in names] == [False, True, True, True]
    assert hallmark("ledger", "verify", ACCOUNT).code == 0
    assert "nothing was written" in hallmark(*told).out
    now = book.account(ACCOUNT)
    assert now.spent == history.state.spent
    assert now.composed == pytest.approx(history.state.composed)
    assert book.entries(ACCOUNT)[: len(history.then)] == history.then

    again = hallmark("release", history.folder / "may" / "spec.yaml", "--out", out)
    assert again.code == 0  # a run that starts late once more
    other = hallmark("release", spec(tmp_path, "june"), "--out", tmp_path / "x", "--resume")
    assert other.code == ExitCode.BUDGET
    assert "nothing more may be drawn" in other.error
    assert book.account(ACCOUNT) == now
    refuses_more_than_is_left(book)
    for name in names:
        assert hallmark("verify", out / name).code == 0


def test_the_very_end_after_a_moment_that_was_wrong(
    history: History, own_home: Path, hallmark: Hallmark
) -> None:
    server, book = history.server, open_ledger(history.server.ledger)
    told = ("ledger", "restored", ACCOUNT, "--releases", history.out, "--reason", "a mistake")
    server.stop()
    server.restore(recovery_target_time=history.moment, recovery_target_timeline="current")
    assert hallmark(*told).code == 0
    assert book.entries(ACCOUNT) != history.whole
    server.stop()
    server.restore(recovery_target_timeline="current")
    assert book.entries(ACCOUNT) == history.whole
    assert book.account(ACCOUNT) == history.state
    said = hallmark("ledger", "verify", ACCOUNT)  # what was entered after the first attempt is gone
    assert said.code == ExitCode.BUDGET
    done = hallmark(*told)
    assert "Entered" not in done.out
    assert "3 known heads are lost" in done.out
    assert book.entries(ACCOUNT) == history.whole
    assert hallmark("ledger", "verify", ACCOUNT).code == 0
    refuses_more_than_is_left(book)


def test_the_very_end_needs_nobody_to_answer(
    history: History, own_home: Path, hallmark: Hallmark
) -> None:
    history.server.stop()
    history.server.restore(recovery_target_timeline="current")
    assert open_ledger(history.server.ledger).entries(ACCOUNT) == history.whole
    assert hallmark("ledger", "verify", ACCOUNT).code == 0


def test_a_process_that_has_the_ledger_open_is_told_while_the_server_is_away(
    history: History, own_home: Path
) -> None:
    book = open_ledger(history.server.ledger)
    before = book.accounts()
    history.server.stop()
    try:
        with pytest.raises(LedgerError, match=r"does not answer: .*refused"):
            book.accounts()
    finally:
        history.server.start()
    assert book.accounts() == before


def test_a_server_that_is_still_being_restored_is_read_and_takes_no_entry(
    history: History, own_home: Path
) -> None:
    server = history.server
    server.stop()
    server.restore(
        recovery_target_time=history.moment,
        recovery_target_timeline="current",
        recovery_target_action="pause",
    )
    book = open_ledger(server.ledger)
    assert book.entries(ACCOUNT) == history.then
    with pytest.raises(LedgerError, match=r"does not answer: .*read-only transaction"):
        book.set_cap(ACCOUNT, MORE, by="board", reason="meanwhile")
    server.sql("SELECT pg_wal_replay_resume()")
    server.wait_until_restored()
    book.set_cap(ACCOUNT, MORE, by="board", reason="afterwards")
    assert len(book.entries(ACCOUNT)) == len(history.then) + 1


def refuses_more_than_is_left(book: Ledger) -> None:
    """Reserve as much as the account takes; together with what is there, it stays below the cap."""
    budget = Budget(epsilon=Fraction(3, 10), delta=Fraction(1, 10**5))
    given = {"adjacency": RECORD, "binding": "plan", "cost": Cost(pure=None, rho=Fraction(1, 200))}
    before = book.account(ACCOUNT)
    with pytest.raises(BudgetRefused):
        deque(book.reserve(ACCOUNT, f"more {number}", budget, **given) for number in range(100))
    full = book.account(ACCOUNT)
    assert full.composed is not None
    assert full.composed <= CAP.epsilon
    assert full.spent == before.spent
    book.verify(ACCOUNT)
