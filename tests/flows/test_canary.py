"""Planted values: whatever a run leaves behind outside the restricted files, none of them is in it.

The canaries are drawn anew for each session, so that nothing else on the machine can hold them.
Left out of the search are the private table itself and those files of the restricted workspace
that are private by design: coded records, findings and the values that break rules, the internal
review, details of failures.
"""

import base64
import gzip
import logging
import os
import pickle
import secrets
import sqlite3
import tempfile
import time
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import LogFilter, LogFilterTimestamp
from prefect.settings import PREFECT_API_URL, temporary_settings

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.guard import StageFailed, guarded
from tests import example
from tests.flows.conftest import Hallmark
from tests.flows.house import House
from tests.flows.search import Canary, found
from tests.flows.services import dask_cluster
from tests.flows.story import violations

DATA = 3  # exit status
ROWS, NORTHERN = 11_000, 10_657  # the true count of a category, which no log may tell
LOUD = {"PREFECT_LOGGING_LEVEL": "DEBUG", "PREFECT_SERVER_LOGGING_LEVEL": "DEBUG"}

_INSIDE = 50 + secrets.randbelow(10**9) / 10**7 + 1e-8  # within the public interval of incomes
_OUTSIDE = 70_000 + secrets.randbelow(10**8) / 10**4 + 1e-5
INSIDE = Canary("an income inside the public interval", repr(_INSIDE), _INSIDE)
OUTSIDE = Canary("an income that is clamped", repr(_OUTSIDE), _OUTSIDE)
CATEGORY = Canary("a region that goes to the catch-all", f"canary-{secrets.token_hex(8)}")
PERSON = Canary("a person", f"canary-{secrets.token_hex(8)}")
UNREADABLE = Canary("a text where a number belongs", f"canary-{secrets.token_hex(8)}")
SURPLUS = Canary("a field too many", f"canary-{secrets.token_hex(8)}")
COUNT = Canary("a true count", str(NORTHERN), count=NORTHERN)
ALL = [INSIDE, OUTSIDE, CATEGORY, PERSON, UNREADABLE, SURPLUS]


def planted(folder: Path, rows: int = 3000, **changes: Any) -> House:
    """A house whose private table holds the canaries that a valid table can hold."""
    columns = changes.pop("columns", None) or example.spec(folder / "table.csv")["columns"]
    columns["region"] |= {"outside": "catch_all", "other": "07"}
    house = House.build(folder, columns=columns, **changes)
    house.home.chmod(0o755)  # a run is to tighten it
    table = example.table(rows)
    table["region"] = np.where(np.arange(rows) < NORTHERN, "01", "02")
    table.loc[rows - 1, ["income", "region", "person"]] = [_INSIDE, CATEGORY.text, PERSON.text]
    table.loc[rows - 2, "income"] = _OUTSIDE
    table.to_csv(folder / "table.csv", index=False, na_rep="NA")
    return house


def leaks(house: House, began: float) -> set[str]:
    """Where a canary is that should not be, in the house and in the machine's temporary folder."""
    private = {house.workspace / n for n in ("codes", "validation.json", "internal-review.html")}
    private |= {house.workspace / "validation.html", house.workspace / "failures.log"}
    private |= {house.folder / "table.csv"}
    # Noisy and synthetic numbers may equal a true one by chance; logs have no such excuse.
    released = {house.home / "ledger.db", house.workspace, house.published}
    inside = found(house.folder, ALL, skip=frozenset(private))
    counted = found(house.folder, [COUNT], skip=frozenset(private | released))
    return inside | counted | strays(house, began)


def strays(house: House, began: float) -> set[str]:
    """Files with a canary that appeared since then in the temporary folder, outside the house."""
    told = set()
    for folder, inner, files in os.walk(tempfile.gettempdir()):
        inner[:] = [name for name in inner if Path(folder, name) != house.folder]
        for path in (Path(folder, name) for name in files):
            try:
                recent = path.is_file() and path.stat().st_mtime >= began
                if recent and any(canary.is_in(path.read_bytes()) for canary in ALL):
                    told.add(str(path))
            except OSError:  # of another process, and gone already
                continue
    return told


def open_to_others(folder: Path) -> list[Path]:
    """Files and folders that anybody but their owner may read, write or enter."""
    return [path for path in (folder, *folder.rglob("*")) if path.lstat().st_mode & 0o077]


@pytest.mark.service
def test_a_release_leaves_no_private_value_outside_the_restricted_files(tmp_path: Path) -> None:
    began = time.time()
    sections = example.only(tmp_path, "income", "region")
    sections["data"]["expected_rows"] = ROWS
    house = planted(tmp_path, ROWS, **sections)
    status, said = house.release()
    assert status == 0, said
    assert leaks(house, began) == set()
    assert violations(house) == []

    assert open_to_others(house.home) == []
    assert house.published.stat().st_mode & 0o777 == 0o755
    assert {path.stat().st_mode & 0o777 for path in house.published.iterdir()} == {0o644}
    assert not (house.workspace / "codes").exists()


@pytest.mark.service
def test_a_loud_release_of_persons_on_worker_processes_leaves_none_either(tmp_path: Path) -> None:
    began = time.time()
    unit = {"person": "person", "max_records": 2}
    privacy = {"neighbours": "replace_one", "unit": unit, "epsilon": "1", "delta": "1e-5"}
    data = example.spec(tmp_path / "table.csv")["data"] | {"ignore": []}
    adjacency = Adjacency(neighbours=Neighbours.REPLACE_ONE, records=2, person="person")
    output = {"formats": ["csv", "parquet"], "replicates": {"number": 20}}
    house = planted(tmp_path, privacy=privacy, data=data, adjacency=adjacency, output=output)
    status, said = house.release("--processes", "2", "--verbose", **LOUD)
    assert status == 0, said
    assert "DEBUG" in said, "the orchestrator's log was to be loud"
    assert leaks(house, began) == set()
    assert open_to_others(house.home) == []
    assert violations(house) == []


@pytest.mark.slow
def test_workers_of_a_standing_cluster_keep_none_in_their_logs_and_folders(tmp_path: Path) -> None:
    began = time.time()
    house = planted(tmp_path)
    settings = {"HALLMARK_HOME": str(house.home)}
    with dask_cluster(tmp_path / "dask", settings) as address:
        status, said = house.release("--scheduler", address, "--verbose", **LOUD)
        assert status == 0, said
        assert leaks(house, began) == set()
    assert leaks(house, began) == set()
    assert violations(house) == []


def spoil_cells(table: Path) -> None:
    """Put texts where numbers and dates belong."""
    read = pd.read_csv(table, dtype=str, keep_default_na=False)
    read.loc[0, ["age", "since", "employed"]] = UNREADABLE.text
    read.to_csv(table, index=False)


def add_a_field(table: Path) -> None:
    """Add a row with a field too many."""
    with table.open("a") as lines:
        lines.write(f"1,2,01,1,2001-01-01,{PERSON.text},{SURPLUS.text}\n")


SPOILED: list[tuple[Callable[[Path], None], tuple[str, ...]]] = [
    # what is wrong with the table, and what is said of it
    (spoil_cells, tuple(f"columns.{name}" for name in ("age", "since", "employed"))),
    (add_a_field, ("Expected 6 columns, got 7",)),
]


@pytest.mark.parametrize(("spoil", "words"), SPOILED)
def test_a_table_that_breaks_its_spec_is_refused_without_showing_what_it_holds(
    spoil: Callable[[Path], None],
    words: tuple[str, ...],
    hallmark: Hallmark,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    began = time.time()
    house = planted(tmp_path)  # with the home that this process uses
    spoil(tmp_path / "table.csv")
    done = hallmark("release", tmp_path / "spec.yaml", "--out", tmp_path / "out", "--verbose")
    assert (done.code, house.state()) == (DATA, "cancelled")
    assert all(word in done.err for word in words)
    (tmp_path / "said").write_text(f"{done.out}{done.err}{caplog.text}")
    assert_refused_in_silence(house, spoil, done.err, began)


def assert_refused_in_silence(
    house: House, spoil: Callable[[Path], None], said: str, began: float
) -> None:
    """Only the steward's page, which the message names, has what is wrong with cells."""
    if spoil is spoil_cells:
        page = house.workspace / "validation.html"
        assert f"{page}" in "".join(said.split())  # whose long lines are broken
        assert UNREADABLE.is_in(page.read_bytes())
        assert found(house.home, [UNREADABLE], skip=frozenset({page})) == set()
    assert leaks(house, began) == set()
    assert open_to_others(house.home) == []


@pytest.mark.service
def test_a_loud_process_that_refuses_a_table_keeps_silent_of_what_it_holds(tmp_path: Path) -> None:
    for spoil, words in SPOILED:
        began = time.time()
        house = planted(tmp_path / spoil.__name__)
        spoil(house.folder / "table.csv")
        status, said = house.release("--verbose", **LOUD)
        assert (status, house.state()) == (DATA, "cancelled")
        assert all(word in said for word in words)
        assert_refused_in_silence(house, spoil, said, began)


@pytest.mark.service
@pytest.mark.parametrize("spoil", [None, spoil_cells])
def test_a_loud_process_logs_nothing_private_to_a_server(
    spoil: Callable[[Path], None] | None, tmp_path: Path, prefect_server: str
) -> None:
    house = planted(tmp_path)
    if spoil is not None:
        spoil(tmp_path / "table.csv")
    loud = LOUD | {
        "PREFECT_LOGGING_EXTRA_LOGGERS": "distributed",
        "PREFECT_API_URL": prefect_server,
    }
    began = datetime.now(UTC)
    status, said = house.release("--verbose", **loud)
    assert status == (0 if spoil is None else DATA), said
    assert "DEBUG" in said
    with (
        temporary_settings({PREFECT_API_URL: prefect_server}),
        get_client(sync_client=True) as server,
    ):
        logs = server.read_logs(LogFilter(timestamp=LogFilterTimestamp(after_=began)))
    assert {"prefect.flow_runs", "prefect.task_runs"} >= {log.name for log in logs} > set()
    assert min(log.level for log in logs) >= logging.INFO
    told = "\n".join(log.message for log in logs).encode()
    assert [canary.what for canary in ALL if canary.is_in(told)] == []
    assert str(NORTHERN) not in told.decode()


def refuse_unsafely() -> None:
    """Fail as a library does that quotes the record it stumbled over."""
    try:
        float(UNREADABLE.text)
    except ValueError as error:
        raise KeyError(UNREADABLE.text) from error


def test_a_failure_keeps_its_private_details_in_the_workspace(tmp_path: Path) -> None:
    with pytest.raises(StageFailed, match="stage validate failed with KeyError") as caught:
        guarded("validate", tmp_path, refuse_unsafely)()
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    assert not UNREADABLE.is_in(pickle.dumps(error) + repr(error).encode())
    assert found(tmp_path, [UNREADABLE]) == {f"failures.log: {UNREADABLE.what}"}
    assert open_to_others(tmp_path / "failures.log") == []


def test_an_error_that_was_written_to_be_shown_passes_the_guard(tmp_path: Path) -> None:
    def refuse() -> None:
        raise SafeError("columns.age: fix the data")

    with pytest.raises(SafeError, match=r"columns\.age: fix the data"):
        guarded("validate", tmp_path, refuse)()
    assert list(tmp_path.iterdir()) == []


def write_sqlite(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE log (message TEXT)")
        database.execute("INSERT INTO log VALUES (?)", [3900 * "." + UNREADABLE.text + 9000 * "."])
    database.close()


def in_base64(*, before: int) -> bytes:
    return base64.b64encode(before * b"." + PERSON.text.encode() + b"...")


PLANTS: dict[str, tuple[Canary, Callable[[Path], object]]] = {
    "text": (PERSON, lambda path: path.write_text(f"about {PERSON.text}.")),
    "UTF-16": (PERSON, lambda path: path.write_bytes(PERSON.text.encode("utf-16"))),
    "base64": (PERSON, lambda path: path.write_bytes(in_base64(before=0))),
    "base64 after a byte": (PERSON, lambda path: path.write_bytes(in_base64(before=1))),
    "base64 after two bytes": (PERSON, lambda path: path.write_bytes(in_base64(before=2))),
    "pickle of a number in base64": (
        INSIDE,
        lambda path: path.write_bytes(base64.b64encode(pickle.dumps({"income": _INSIDE}))),
    ),
    "zlib": (
        CATEGORY,
        lambda path: path.write_bytes(b"::" + zlib.compress(CATEGORY.text.encode())),
    ),
    "gzip": (CATEGORY, lambda path: path.write_bytes(gzip.compress(CATEGORY.text.encode()))),
    "array": (OUTSIDE, lambda path: np.save(path.open("wb"), np.array([1, _OUTSIDE]))),
    "Parquet": (OUTSIDE, lambda path: pd.DataFrame({"x": [_OUTSIDE]}).to_parquet(path)),
    "SQLite": (UNREADABLE, write_sqlite),
    "count in a log": (COUNT, lambda path: path.write_text(f"01: {NORTHERN} rows")),
    "pickled counts": (COUNT, lambda path: path.write_bytes(pickle.dumps(np.array([NORTHERN])))),
}


@pytest.mark.parametrize("form", PLANTS)
def test_the_search_finds_a_canary_that_was_let_out_as(form: str, tmp_path: Path) -> None:
    canary, write = PLANTS[form]
    (tmp_path / "innocent").write_text(f"{NORTHERN}5 files at 12:00:00.{NORTHERN}, and no canary")
    assert found(tmp_path, [*ALL, COUNT]) == set()
    write(tmp_path / "leak")
    assert found(tmp_path, [*ALL, COUNT]) == {f"leak: {canary.what}"}


def test_the_search_of_a_whole_house_can_fail(tmp_path: Path) -> None:
    house = planted(tmp_path)
    assert leaks(house, time.time()) == set()
    (house.home / "prefect").mkdir()
    (house.home / "prefect" / "log").write_text(f"{PERSON.text}, one of {NORTHERN}")
    (house.home / "prefect" / "log").chmod(0o644)
    assert leaks(house, time.time()) == {
        f"home/prefect/log: {PERSON.what}",
        f"home/prefect/log: {COUNT.what}",
    }
    assert house.home / "prefect" / "log" in open_to_others(house.home)
