"""Orders: only the run that was ordered is somebody's."""

from pathlib import Path

import pytest

from hallmark.tasks.installation.operator import (
    OPERATOR_VARIABLE,
    OrderRefused,
    end_standing_order,
    operator,
    order_number,
    ordered,
    ordering,
    standing_order,
    standing_orders,
)


def test_a_run_on_somebodys_order_is_theirs(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(OPERATOR_VARIABLE, "whoever says so")
    with ordering("mine", "ada") as number:
        pass
    with ordered(number, "mine"):
        assert (operator(), order_number()) == ("ada", number)
    assert (operator(), order_number()) == ("whoever says so", None)
    with ordered(None, "mine"):
        assert operator() == "whoever says so"


@pytest.mark.parametrize("number", ["", "0" * 32, "../orders/x", "x" * 32, "0" * 31 + "\n"])
def test_what_is_no_order_is_refused(number: str, home: Path):
    with ordering("mine", "ada"):
        pass
    with pytest.raises(OrderRefused, match="there is no such order"), ordered(number, "mine"):
        pass


def test_an_order_is_about_one_release(home: Path):
    with ordering("mine", "ada") as number:
        pass
    with pytest.raises(OrderRefused, match="it is about release 'mine'"), ordered(number, "yours"):
        pass
    (file,) = (home / "orders").iterdir()
    assert file.stat().st_mode & 0o077 == 0


def test_an_order_stands_until_its_run_begins_or_could_not_be_started(home: Path):
    assert standing_order("mine") is None
    with ordering("mine", "ada"):
        pass
    standing = standing_order("mine")
    assert standing is not None
    assert (standing.by, standing.begins) == ("ada", None)
    assert standing_orders() == {"mine": standing}
    end_standing_order("mine")
    assert standing_order("mine") is None
    with pytest.raises(OSError, match="no server"), ordering("mine", "ada"):
        raise OSError("no server")
    assert standing_order("mine") is None
    assert standing_orders() == {}
    end_standing_order("never-heard-of")
    assert [folder.name for folder in (home / "work").iterdir()] == ["mine"]
