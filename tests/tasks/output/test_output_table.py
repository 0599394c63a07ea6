"""Loading a release into a real PostgreSQL server: typed, whole, once, and nobody else's table."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from hallmark.mechanisms.compute import SERIAL
from hallmark.mechanisms.contract import SyntheticMeasure
from hallmark.schemas.documents.manifest import MANIFEST_FILE
from hallmark.tasks.generate import SyntheticFile
from hallmark.tasks.installation.databases import DatabaseRefused
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.output import finalise
from hallmark.tasks.output.output_table import (
    TableNotLoaded,
    TableRefused,
    _load_into,
    load_into_database,
    refuse_occupied,
)
from hallmark.tasks.output.released import released_values
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import Prepared
from tests import example
from tests.flows.services import postgres

__all__ = ["postgres"]

FORMATS = [["csv"], ["parquet"]]


@pytest.fixture
def server(postgres: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[psycopg.Connection]:
    """A connection to a database of the test's own; its user is in the environment."""
    with psycopg.connect(postgres.replace("+psycopg", ""), autocommit=True) as connection:
        monkeypatch.setenv("HALLMARK_OUTPUT_USER", connection.info.user)
        if connection.info.password:
            monkeypatch.setenv("HALLMARK_OUTPUT_PASSWORD", connection.info.password)
        yield connection


def prepared(server: psycopg.Connection, folder: Path, **output: Any) -> Prepared:
    url = f"postgresql://{server.info.host}:{server.info.port}/{server.info.dbname}"
    table = {"url": url, "name": "public.open"} | output.pop("table", {})
    columns = example.spec(folder)["columns"]
    columns["since"]["format"] = "%d.%m.%Y"
    columns["employed"]["nulls"] = True
    columns["income"]["step"] = "0.05"
    columns["age"]["description"] = "in years"
    return prepare(
        example.write(folder / "spec", rows=3, columns=columns, constraints=[],
                      output={"table": table, **output})
    )  # fmt: skip


def published(of: Prepared, folder: Path, seed: int = 3) -> Path:
    """A folder with the data files of a release and a manifest, as far as loading reads them."""
    rng, workspace = np.random.default_rng(seed), Workspace.of(of.spec.release)
    codes = np.column_stack([rng.integers(0, size, 400) for size in of.codec.domain.shape])
    file = SyntheticFile(workspace.path / "synthetic.npy")
    file.save(SyntheticMeasure(codes=codes.astype(np.int32)))
    final = finalise.staged(
        finalise.written(of.spec, file, workspace, SERIAL, in_batches=False), workspace
    )
    folder.mkdir()
    for data in final.files:
        data.rename(folder / data.name)
    (folder / MANIFEST_FILE).write_text(f"manifest {seed}")
    return folder


def load(of: Prepared, folder: Path) -> None:
    assert of.spec.output.table is not None
    _load_into.fn(of.spec.output.table, of.spec, folder)


@pytest.mark.parametrize("formats", FORMATS)
def test_every_released_record_is_in_the_table_with_its_type(
    server: psycopg.Connection, home: Path, tmp_path: Path, formats: list[str]
) -> None:
    of = prepared(server, tmp_path, formats=formats)
    folder = published(of, tmp_path / "out")
    load(of, folder)
    rows = server.execute("SELECT * FROM open").fetchall()
    values = released_values(of.spec, folder / f"data.{formats[0]}").astype(object)
    expected = values.where(values.notna(), None)
    expected["income"] = [wage and Decimal(f"{wage:.2f}") for wage in expected["income"]]
    expected["since"] = [day.date() for day in expected["since"]]
    expected["employed"] = expected["employed"].map({"1": True, "0": False, None: None})
    assert rows == [tuple(row) for row in expected.to_numpy().tolist()]
    assert {type(row[4]) for row in rows} == {date}
    assert {type(row[3]) for row in rows} == {bool, type(None)}
    types = server.execute(
        "SELECT column_name, data_type, is_nullable FROM information_schema.columns "
        "WHERE table_name = 'open' ORDER BY ordinal_position"
    ).fetchall()
    assert types == [
        ("age", "bigint", "NO"), ("income", "numeric", "YES"), ("region", "text", "NO"),
        ("employed", "boolean", "YES"), ("since", "date", "NO"),
    ]  # fmt: skip


def test_the_comments_say_what_the_table_and_its_columns_are(
    server: psycopg.Connection, home: Path, tmp_path: Path
) -> None:
    of = prepared(server, tmp_path)
    load(of, published(of, tmp_path / "out"))
    said = server.execute("SELECT obj_description('open'::regclass), col_description("
                          "'open'::regclass, 1)").fetchone()  # fmt: skip
    assert said is not None
    assert said[0].startswith("A table made up for the tests. Hallmark release test-release, ")
    assert said[1] == "in years"


def test_loading_again_changes_nothing(
    server: psycopg.Connection, home: Path, tmp_path: Path
) -> None:
    of = prepared(server, tmp_path)
    folder = published(of, tmp_path / "out")
    load(of, folder)
    before = server.execute("SELECT 'open'::regclass::oid, count(*) FROM open").fetchone()
    load(of, folder)
    assert server.execute("SELECT 'open'::regclass::oid, count(*) FROM open").fetchone() == before


def test_another_release_under_that_name_is_never_touched(
    server: psycopg.Connection, home: Path, tmp_path: Path
) -> None:
    of = prepared(server, tmp_path)
    load(of, published(of, tmp_path / "out"))
    other = published(of, tmp_path / "other", seed=4)
    with pytest.raises(TableNotLoaded, match=r"was not loaded \(it exists and holds something"):
        load(of, other)
    with pytest.raises(TableRefused, match=r"public\.open exists in the database"):
        refuse_occupied(of.spec)


def test_half_a_table_is_never_there(
    server: psycopg.Connection, home: Path, tmp_path: Path
) -> None:
    of = prepared(server, tmp_path, formats=["csv"])
    folder = published(of, tmp_path / "out")
    data = folder / "data.csv"
    data.write_text(data.read_text() + "many,1,01,1,01.01.2001\n")
    with pytest.raises(TableNotLoaded, match="invalid text representation") as caught:
        load(of, folder)
    assert "loads the table alone" in str(caught.value)
    assert server.execute("SELECT to_regclass('open')").fetchone() == (None,)
    refuse_occupied(of.spec)


REFUSED = [
    ({"name": "nowhere.open"}, "the database has no schema nowhere"),
    ({"name": "pg_catalog.pg_class"}, "pg_catalog.pg_class exists in the database"),
]


@pytest.mark.parametrize(("table", "message"), REFUSED)
def test_a_place_where_nothing_can_be_made_is_refused_beforehand(
    server: psycopg.Connection, home: Path, tmp_path: Path, table: dict[str, str], message: str
) -> None:
    with pytest.raises(TableRefused, match=message):
        refuse_occupied(prepared(server, tmp_path, table=table).spec)


def test_a_role_that_may_make_nothing_is_refused_beforehand(
    server: psycopg.Connection, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.execute("CREATE SCHEMA closed")
    server.execute("CREATE ROLE hallmark_test_loader LOGIN PASSWORD 'p'")
    try:
        monkeypatch.setenv("HALLMARK_OUTPUT_USER", "hallmark_test_loader")
        monkeypatch.setenv("HALLMARK_OUTPUT_PASSWORD", "p")
        with pytest.raises(TableRefused, match="grant CREATE on it"):
            refuse_occupied(prepared(server, tmp_path, table={"name": "closed.open"}).spec)
    finally:
        server.execute("DROP ROLE hallmark_test_loader")


def test_without_an_output_table_no_database_is_asked(home: Path, tmp_path: Path) -> None:
    of = prepare(example.write(tmp_path, rows=3))
    refuse_occupied(of.spec)
    load_into_database(of.spec, tmp_path)


def test_a_database_that_does_not_answer_is_told_beforehand(
    server: psycopg.Connection, home: Path, tmp_path: Path
) -> None:
    away = prepared(server, tmp_path, table={"url": "postgresql://127.0.0.1:1/none"})
    with pytest.raises(
        DatabaseRefused, match=r"output\.table\.url: no connection.*HALLMARK_OUTPUT"
    ):
        refuse_occupied(away.spec)
