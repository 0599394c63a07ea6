"""Looks at a private table that no draw paid for: what counts, for which table, and how often."""

import os
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from hallmark.tasks.installation.operator import ordered, ordering
from hallmark.tasks.installation.workspace import Workspace, private_folder, rehearsal_home
from hallmark.tasks.planning import looks
from hallmark.tasks.planning.looks import (
    LooksUsedUp,
    allow_more,
    answered,
    looking,
    looks_at_table_of,
)
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.private_tables import note
from hallmark.tasks.sources import SourceError
from tests import example


def prepared(folder: Path, release: str, source: Path | None = None) -> Prepared:
    spec = example.write(folder, 5, release=release, **example.only(folder, "age", "region"))
    if source is not None:
        spec.write_text(spec.read_text().replace(str(folder / "table.csv"), str(source)))
    return prepare(spec)


REFUSED = SourceError("refused")


def look(one: Prepared, ends_with: BaseException | None = REFUSED) -> None:
    """What a run does about its look; it is refused, fails in another way, or is answered."""
    workspace = Workspace.of(one.spec.release)
    note(workspace, one.spec, one.folder, None)
    with looking(workspace, one.spec, one.folder, one.source):
        if ends_with is not None:
            raise ends_with
    answered(workspace)


def refused(one: Prepared, ends_with: BaseException = REFUSED) -> None:
    with pytest.raises(type(ends_with)):
        look(one, ends_with)


@pytest.mark.parametrize(
    ("ends_with", "counted"),
    [(REFUSED, 1), (KeyError("lost"), 1), (KeyboardInterrupt(), 1), (None, 0)],
)
def test_every_end_counts_but_an_answer(
    ends_with: BaseException | None, counted: int, home: Path, tmp_path: Path
) -> None:
    one = prepared(tmp_path, "one")
    refused(one, ends_with) if ends_with else look(one, None)
    assert looks_at_table_of("one").counted == counted
    look(one, None)  # which pays for itself alone
    assert looks_at_table_of("one").counted == counted


def test_a_look_of_a_run_that_was_killed_counts(home: Path, tmp_path: Path) -> None:
    one = prepared(tmp_path, "one")
    looking(Workspace.of("one"), one.spec, one.folder, one.source).__enter__()
    look(one, None)
    (left,) = looks_at_table_of("one").uncharged
    assert (left.release, left.is_open) == ("one", False)


Way = Callable[[Path, Path], Path]
TABLES: dict[str, tuple[Way, int]] = {
    # what the second spec names, and how many looks at it are known after one by each
    "the same file": (lambda table, _: table, 2),
    "a link to it": (lambda table, new: new.symlink_to(table) or new, 2),
    "a hard link": (lambda table, new: os.link(table, new) or new, 2),
    "a copy under another name": (lambda table, new: Path(shutil.copyfile(table, new)), 2),
    "another table": (lambda _, new: new.write_text("age\n1\n") and new, 1),
    "one that is not there": (lambda _, new: new, 1),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_known_under_any_name_and_in_any_release(
    name: str, home: Path, tmp_path: Path
) -> None:
    way, count = TABLES[name]
    first = prepared(tmp_path / "one", "one")
    other = prepared(tmp_path / "two", "two", way(tmp_path / "one/table.csv", tmp_path / "x.csv"))
    refused(first)
    refused(other)
    assert looks_at_table_of("one").counted == looks_at_table_of("two").counted == count


def test_orders_of_the_desk_end_at_the_limit_and_go_on_where_more_is_allowed(
    home: Path, tmp_path: Path
) -> None:
    (private_folder(home) / "profile.yaml").write_text("uncharged_looks: 2\n")
    one, other = (prepared(tmp_path, release) for release in ("one", "other"))
    refused(one)
    refused(one)
    with ordering("other", "ada") as number, ordered(number, "other"):
        for _ in range(2):
            with pytest.raises(LooksUsedUp, match=r"2 runs .* the profile allows 2.* page of one"):
                look(other)
        assert looks_at_table_of("other").counted == 2  # nothing was read
        allow_more("one", "root")
        refused(other)
        assert looks_at_table_of("one").counted == 1
        refused(other)
        refused(other, LooksUsedUp())
    refused(other)  # not ordered at the desk: by whoever has the machine, and counted alike
    assert (looks_at_table_of("one").counted, len(looks_at_table_of("one").uncharged)) == (3, 5)


def test_looks_are_forgotten_after_some_days(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = prepared(tmp_path, "one")
    refused(one)
    monkeypatch.setattr(looks, "RECENT", timedelta(0))
    assert looks_at_table_of("one").uncharged == []


def test_in_a_rehearsal_nothing_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = prepared(tmp_path, "one")
    monkeypatch.setenv("HALLMARK_HOME", str(rehearsal_home(tmp_path / "rehearsal")))
    refused(one)
    assert looks_at_table_of("one").uncharged == []
