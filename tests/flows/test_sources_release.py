"""Whole releases from a database and into one, on worker processes, beside people who write."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from tests import example
from tests.flows.house import House
from tests.flows.story import violations

pytestmark = pytest.mark.service

USAGE, DATA = 2, 3  # exit statuses


@pytest.fixture
def server(postgres: str) -> Iterator[psycopg.Connection]:
    """A database of the test's own, with the example's table in it."""
    with psycopg.connect(postgres.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE people (id int, age int, income float8, region text, employed int, "
            "since date, person text)"
        )
        connection.execute("CREATE SCHEMA open_data")
        table = example.table()
        with (
            connection.cursor() as cursor,
            cursor.copy("COPY people FROM STDIN (FORMAT csv)") as copy,
        ):
            copy.write(table.to_csv(header=False))
        yield connection


def built(folder: Path, server: psycopg.Connection, settings: dict[str, str], **spec: Any) -> House:
    """A house whose private table is in the database, and whose release goes into it too."""
    url = f"postgresql://{server.info.host}:{server.info.port}/{server.info.dbname}"
    what = {"table": "public.people", "ignore": ["id", "person"]}
    changes = spec.pop("data", {})
    data = {"source": url, "expected_rows": 3000, "record": "one person"} | (
        changes if "query" in changes else what | changes
    )
    output = {"formats": ["csv"], "table": {"url": url, "name": "open_data.people"}}
    login = {
        f"HALLMARK_{purpose}_{key}": value
        for purpose in ("SOURCE", "OUTPUT")
        for key, value in (("USER", server.info.user), ("PASSWORD", server.info.password))
        if value
    }
    return House.build(folder, settings=settings | login, data=data, output=output, **spec)


@pytest.mark.slow
def test_a_release_reads_one_state_of_a_table_and_ends_in_a_table(
    tmp_path: Path, server: psycopg.Connection, prefect_server: str
) -> None:
    cluster = {"local": {"processes": 2}}
    house = built(
        tmp_path, server, {"PREFECT_API_URL": prefect_server}, cluster=cluster,
        data={"partition_column": "id", "expected_rows": 3_000_000},  # in three parts
        privacy={**example.spec(tmp_path)["privacy"], "large_delta": "for the test"},
    )  # fmt: skip
    # The profile names another cluster, and the spec wins.
    (house.home / "profile.yaml").write_text("cluster: {address: 'tcp://127.0.0.1:1'}\n")
    run = house.start()
    run.wait_until(lambda: (house.workspace / "validation.json").exists())
    workers = [child for child in run.children() if "spawn_main" in " ".join(child.cmdline())]
    assert len(workers) == 2
    # After the validation: rows that break the spec, and fewer of them
    server.execute("UPDATE people SET age = 1000")
    server.execute("DELETE FROM people WHERE id % 2 = 0")
    run.wait_until(lambda: house.state() == "reserved" and len(house.coded()) >= 3)
    rows = sum(np.load(file).shape[0] for file in house.coded())
    assert run.finish() == 0, run.said
    assert rows == 3000
    assert violations(house) == []

    loaded = server.execute("SELECT count(*), min(age), max(age) FROM open_data.people").fetchone()
    assert loaded is not None
    assert (loaded[0], loaded[1] >= 0, loaded[2] <= 99) == (3000, True, True)

    server.execute("DROP TABLE open_data.people")  # as if the run had ended before it loaded
    status, said = house.release()
    assert (status, "published before" in said) == (0, True)
    assert server.execute("SELECT count(*) FROM open_data.people").fetchone() == (3000,)
    assert violations(house) == []


def test_a_release_is_refused_before_anything_is_spent_where_its_table_is_taken(
    tmp_path: Path, server: psycopg.Connection, prefect_server: str
) -> None:
    house = built(tmp_path, server, {"PREFECT_API_URL": prefect_server})
    server.execute("CREATE TABLE open_data.people (somebody_elses int)")
    status, said = house.release()
    assert (status, house.state()) == (USAGE, None)
    assert "open_data.people exists in the database" in said


def test_a_wrong_cluster_and_a_query_that_fails_at_a_row_give_the_budget_back_and_tell_no_value(
    tmp_path: Path, server: psycopg.Connection, prefect_server: str
) -> None:
    server.execute("UPDATE people SET region = 'canary-73193' WHERE id = 2999")
    query = "SELECT age, income, region::int::text AS region, employed, since FROM people"
    house = built(
        tmp_path, server, {"PREFECT_API_URL": prefect_server}, data={"query": query}
    )  # fmt: skip
    profile = house.home / "profile.yaml"
    profile.write_text("cluster: {class: os.system, options: {command: 'touch called'}}\n")
    status, said = house.release()
    assert (status, house.state()) == (USAGE, "cancelled")
    assert "cluster.class: os.system is not a class of Dask clusters" in said
    assert not list(house.folder.rglob("called"))

    profile.unlink()
    status, said = house.release()
    assert (status, house.state()) == (DATA, "cancelled")
    assert "invalid text representation" in said
    told = [said, *(p.read_text(errors="replace") for p in house.workspace.rglob("*.log"))]
    assert not any("canary" in text for text in told)
