"""Orders: only the run that was ordered is somebody's."""

from pathlib import Path

import pytest

from hallmark.tasks.installation.operator import (
    OPERATOR_VARIABLE,
    OrderRefused,
    give_order,
    operator,
    order_number,
    ordered,
)


def test_a_run_on_somebodys_order_is_theirs(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(OPERATOR_VARIABLE, "whoever says so")
    number = give_order("mine", "ada")
    with ordered(number, "mine"):
        assert (operator(), order_number()) == ("ada", number)
    assert (operator(), order_number()) == ("whoever says so", None)
    with ordered(None, "mine"):
        assert operator() == "whoever says so"


@pytest.mark.parametrize("number", ["", "0" * 32, "../orders/x", "x" * 32, "0" * 31 + "\n"])
def test_what_is_no_order_is_refused(number: str, home: Path):
    give_order("mine", "ada")
    with pytest.raises(OrderRefused, match="there is no such order"), ordered(number, "mine"):
        pass


def test_an_order_is_about_one_release(home: Path):
    number = give_order("mine", "ada")
    with pytest.raises(OrderRefused, match="it is about release 'mine'"), ordered(number, "yours"):
        pass
    (file,) = (home / "orders").iterdir()
    assert file.stat().st_mode & 0o077 == 0
