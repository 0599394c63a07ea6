"""One private table on two accounts is told to the operator, and to nobody else."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import DiscreteGaussian
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.installation.log import log_file
from hallmark.tasks.installation.workspace import Workspace, ledger_url
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.ledger.charged_twice import charged_twice, warn_if_charged_twice
from hallmark.tasks.planning.likeness import likeness
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.private_tables import note
from tests import example

RECORD = Adjacency(neighbours=Neighbours.REPLACE_ONE)
ONE = Budget(epsilon=Fraction(1))
DRAW = DiscreteGaussian(l2_squared=2, sigma2=Fraction(1000), unit_moves=2)


def noted(folder: Path, release: str, account: str, rows: int = 40) -> ReleaseSpec:
    """A release whose private table was read and noted."""
    spec = example.write(folder, rows, release=release, population={"account": account})
    prepared = prepare(spec)
    own = likeness(prepared.codec, prepared.source)
    note(Workspace.of(release), prepared.spec, prepared.folder, own)
    return prepared.spec


def charged(release: str, account: str, *, drawn: bool = True) -> None:
    book = open_ledger(ledger_url())
    book.open_account(account, cap=ONE, adjacency=RECORD, by="tests", reason="tests")
    book.reserve(account, release, ONE, adjacency=RECORD, binding="plan")
    if drawn:
        book.record(release, "c", "r", [DRAW], b"noise", lambda standing: None)


def test_a_table_that_another_account_was_charged_for_is_told(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    noted(tmp_path / "a", "first", "people")
    charged("first", "people")
    second = noted(tmp_path / "b", "second", "others")
    (told,) = charged_twice(second, ledger_url())
    assert "on account others, was also charged to people (by release first)" in told
    warn_if_charged_twice(second, ledger_url())
    assert capsys.readouterr().err == f"warning: {told}\n"
    (line,) = map(json.loads, log_file().read_text().splitlines())
    assert (line["event"], line["level"]) == ("charged-twice", "warning")
    assert line["accounts"] == ["people"]


@pytest.mark.parametrize(
    ("account", "rows", "drawn"),
    [("others", 40, True), ("people", 39, True), ("people", 40, False)],
    ids=["the same account", "a table with one record less", "nothing was drawn"],
)
def test_what_is_no_second_charge_of_the_table_is_not_told(
    account: str, rows: int, drawn: bool, home: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    noted(tmp_path / "a", "first", account, rows)
    charged("first", account, drawn=drawn)
    second = noted(tmp_path / "b", "second", "others")
    assert charged_twice(second, ledger_url()) == ()
    warn_if_charged_twice(second, ledger_url())
    assert capsys.readouterr().err == ""
    assert not log_file().exists()
