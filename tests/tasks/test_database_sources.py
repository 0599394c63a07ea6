"""Reading tables and queries of a real PostgreSQL server: one snapshot, text, and no row told."""

import math
import os
import pickle
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import psycopg
import pytest

from hallmark.schemas.columns.recoding import Recode
from hallmark.schemas.loading import load_spec
from hallmark.tasks import reading
from hallmark.tasks.code_files import Drafts
from hallmark.tasks.discretize import truncated
from hallmark.tasks.installation import databases
from hallmark.tasks.installation.databases import DatabaseRefused
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.reading import compare, read_part
from hallmark.tasks.sources import (
    DatabaseTable,
    Source,
    SourceError,
    batches,
    consistent,
    parts,
    source_digest,
)
from hallmark.tasks.sources import database as reader
from hallmark.tasks.sources.parts import Recoded
from tests import example
from tests.flows.services import postgres

__all__ = ["postgres"]

SECRET = "73193-canary"
COLUMNS = ("id", "amount", "ratio", "born", "seen", "employed", "name")


@pytest.fixture
def server(postgres: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[psycopg.Connection]:
    """A connection to a database of the test's own; its user is in the environment."""
    url = postgres.replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as connection:
        monkeypatch.setenv("HALLMARK_SOURCE_USER", connection.info.user)
        if connection.info.password:
            monkeypatch.setenv("HALLMARK_SOURCE_PASSWORD", connection.info.password)
        yield connection


def url_of(server: psycopg.Connection) -> str:
    return f"postgresql://{server.info.host}:{server.info.port}/{server.info.dbname}"


def filled(server: psycopg.Connection, rows: int = 2000) -> None:
    """A table with a column of each kind, and nulls."""
    server.execute(
        "CREATE TABLE persons (id int, amount numeric(9,2), ratio float8, born date, "
        "seen timestamp, employed boolean, name text, secret text)"
    )
    server.execute(
        "INSERT INTO persons SELECT i, i / 7.0, i / 4.0, date '1970-01-01' + i, "
        "timestamp '2020-02-29 23:30' + i * interval '1 day', i %% 2 = 0, "
        "E'n\"o,\\n' || i, 'never read' FROM generate_series(1, %s) AS i",
        [rows],
    )


def source(server: psycopg.Connection, **changes: object) -> Source:
    names = DatabaseTable.__dataclass_fields__
    inner = {key: value for key, value in changes.items() if key in names}
    outer = {key: value for key, value in changes.items() if key not in names}
    if "query" not in inner:
        inner.setdefault("table", "public.persons")
    fields: dict[str, object] = {
        "location": url_of(server),
        "null_markers": ("-",),
        "columns": COLUMNS,
        "ignored": ("secret",),
        "database": DatabaseTable(**({"expected_rows": 2000} | inner)),  # type: ignore[arg-type]
    }
    return Source(**(fields | outer))  # type: ignore[arg-type]


def frame(of: Source) -> pd.DataFrame:
    with consistent(of) as fixed:
        return pd.concat([b for part in parts(fixed) for b in batches(part)], ignore_index=True)


def rows(of: Source) -> list[list[str | None]]:
    table = frame(of).astype(object)
    return table.where(table.notna(), None).to_numpy().tolist()


def test_values_arrive_as_the_codecs_read_them(server: psycopg.Connection) -> None:
    filled(server, 0)
    server.execute(
        "INSERT INTO persons VALUES (3, 1.50, 3.0, '2020-12-31', '2020-12-31 23:59', true, ' a ')"
    )
    server.execute("INSERT INTO persons VALUES (4, 'NaN', 'NaN', NULL, NULL, false, '-')")
    server.execute("INSERT INTO persons (name) VALUES ('')")
    assert rows(source(server)) == [
        ["3", "1.50", "3", "2020-12-31", "2020-12-31", "true", "a"],
        ["4", None, None, None, None, "false", None],
        [None, None, None, None, None, None, ""],
    ]


def test_a_column_of_nothing_but_nulls_keeps_its_rows(server: psycopg.Connection) -> None:
    filled(server, 0)
    server.execute("INSERT INTO persons (id) VALUES (NULL), (NULL), (7)")
    assert rows(source(server, columns=("id",), others_ignored=True)) == [[None], [None], ["7"]]


def test_codes_are_recoded_as_in_files(server: psycopg.Connection) -> None:
    filled(server, 0)
    server.execute(
        "INSERT INTO persons (id, name) VALUES (7, '01067'), (8, ' 01'), (9, '1'), (7, NULL)"
    )
    rule, codes = Recode(first=2), Recode.model_validate({"codes": {"7": "a", "8": "a"}})
    recodes = (Recoded("id", codes, "??"), Recoded("name", rule, "???"))
    found = rows(source(server, columns=("id", "name"), others_ignored=True, recodes=recodes))
    assert found == [["a", "01"], ["a", "01"], ["??", "???"], ["a", None]]


def test_an_empty_table_has_no_batch(server: psycopg.Connection) -> None:
    filled(server, 0)
    with consistent(source(server)) as fixed:
        assert [b for part in parts(fixed) for b in batches(part)] == []


def test_quotes_commas_and_newlines_belong_to_the_cell(server: psycopg.Connection) -> None:
    filled(server, 2)
    assert [row[-1] for row in rows(source(server))] == ['n"o,\n1', 'n"o,\n2']


def test_pages_of_a_table_are_parts_that_hold_every_row_once(
    server: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "PART_PAGES", 3)
    monkeypatch.setattr(reader, "BATCH_ROWS", 100)
    filled(server)
    server.execute("DELETE FROM persons WHERE id % 3 = 0")
    with consistent(source(server)) as fixed:
        assert len(parts(fixed)) > 3
    assert Counter(frame(source(server))["id"]) == Counter(str(i) for i in range(1, 2001) if i % 3)


def test_pages_of_a_partitioned_table_hold_every_row_of_every_partition_once(
    server: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "PART_PAGES", 3)
    server.execute("CREATE TABLE cut (id int, name text) PARTITION BY RANGE (id)")
    server.execute("CREATE TABLE cut_0 PARTITION OF cut FOR VALUES FROM (0) TO (1500)")
    server.execute("CREATE TABLE cut_1 PARTITION OF cut FOR VALUES FROM (1500) TO (9999)")
    server.execute("INSERT INTO cut SELECT i, repeat('x', 30) FROM generate_series(1, 2000) AS i")
    of = source(server, table="public.cut", columns=("id", "name"))
    with consistent(of) as fixed:
        assert len(parts(fixed)) > 2
    assert Counter(frame(of)["id"]) == Counter(map(str, range(1, 2001)))


@pytest.mark.parametrize("of", [{}, {"query": "SELECT * FROM persons WHERE id > 10 OR id IS NULL"}])
def test_stretches_of_a_column_hold_every_row_once(
    server: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, of: dict[str, str]
) -> None:
    monkeypatch.setattr(reader, "PART_ROWS", 300)
    filled(server)
    server.execute("INSERT INTO persons (id) VALUES (NULL), (-500), (NULL), (2147483647)")
    of |= {"partition_column": "id"}
    with consistent(source(server, **of)) as fixed:
        assert len(parts(fixed)) == math.ceil(2000 / 300)
    read = frame(source(server, **of))["id"]
    missing = set(map(str, range(1, 11))) | {"-500"} if "query" in of else set()
    there = Counter({*map(str, range(1, 2001)), "-500", "2147483647"} - missing)
    assert Counter(read.dropna()) == there
    assert read.isna().sum() == 2


def test_a_query_and_a_view_are_one_part_each(server: psycopg.Connection) -> None:
    filled(server, 30)
    server.execute("CREATE VIEW young AS SELECT * FROM persons WHERE id > 20")
    for of in (
        source(server, table="public.young"),
        source(server, query="SELECT * FROM persons -- all\nWHERE id > 20 AND name LIKE '%n%'"),
        source(server, query="WITH p AS (SELECT * FROM persons) SELECT * FROM p WHERE id > 20"),
    ):
        with consistent(of) as fixed:
            assert len(parts(fixed)) == 1
        assert len(frame(of)) == 10


def test_all_parts_show_the_snapshot_that_was_there_first(
    server: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "PART_PAGES", 3)
    filled(server)
    with consistent(source(server)) as fixed:
        pieces = parts(fixed)
        first = pd.concat(list(batches(pieces[0])))
        server.execute("UPDATE persons SET id = id + 100000")
        server.execute("DELETE FROM persons WHERE random() < 0.5")
        rest = [batch for piece in pieces[1:] for batch in batches(piece)]
        seen = pd.concat([first, *rest])
        assert Counter(seen["id"]) == Counter(map(str, range(1, 2001)))
        again = pd.concat([b for piece in parts(fixed) for b in batches(piece)])
        assert Counter(again["id"]) == Counter(map(str, range(1, 2001)))
    assert min(map(int, frame(source(server))["id"])) > 100_000


def test_a_snapshot_that_is_gone_is_told(server: psycopg.Connection) -> None:
    filled(server, 10)
    with consistent(source(server)) as fixed:
        pieces = parts(fixed)
    with pytest.raises(SourceError, match=r"table public.persons cannot be read \(.*SQLSTATE"):
        list(batches(pieces[0]))


def test_parts_travel_to_other_processes_and_tell_no_value(
    server: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "PART_ROWS", 500)
    monkeypatch.setenv("HALLMARK_SOURCE_USER", server.info.user)
    monkeypatch.setenv("HALLMARK_SOURCE_PASSWORD", SECRET)
    filled(server)
    server.execute("UPDATE persons SET id = id + 73193000")
    with consistent(source(server, partition_column="id")) as fixed:
        pieces = parts(fixed)
        assert "7319" not in repr(pieces)
        sent = pickle.dumps(pieces)
        assert SECRET.encode() not in sent
        assert sum(len(b) for p in pickle.loads(sent) for b in batches(p)) == 2000


REFUSED: list[tuple[dict[str, object], str]] = [
    ({"table": "public.nobody"}, 'data.table: the database says: relation "public.nobody" does'),
    ({"query": "SELECT nothing FROM persons"}, 'column "nothing" does not exist'),
    ({"query": "SELECT 1) AS x; DROP TABLE persons; SELECT (1"}, "multiple commands"),
    ({"query": "WITH x AS (DELETE FROM persons RETURNING *) SELECT * FROM x"}, "WITH clause"),
    ({"query": "SELECT id FROM persons"}, "data.query: it lacks the columns amount, ratio"),
    ({"query": "SELECT *, id FROM persons"}, "has the columns id more than once"),
    ({"ignored": ()}, "it has the columns secret, which the spec does not name"),
    ({"partition_column": "name"}, "data.partition_column: name is no column of whole numbers"),
    ({"partition_column": "nobody"}, "data.partition_column: nobody is no column"),
    (
        {"query": "SELECT id, amount, ratio, born, seen AT TIME ZONE 'UTC' AS seen, employed, name "
         "FROM persons"},
        "columns.seen: is a timestamp with time zone",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_a_wrong_table_or_query_is_refused_and_changes_nothing(
    server: psycopg.Connection, changes: dict[str, object], message: str
) -> None:
    filled(server, 5)
    with consistent(source(server, **changes)) as fixed, pytest.raises(SourceError) as caught:
        parts(fixed)
    assert message in str(caught.value)
    assert server.execute("SELECT count(*) FROM persons").fetchone() == (5,)


@pytest.mark.parametrize(
    "writes",
    [
        "SELECT writes(id) AS id FROM persons",
        "SELECT set_config('transaction_read_only', 'off', true)::int AS id FROM persons",
    ],
)
def test_a_query_that_calls_what_writes_is_refused(server: psycopg.Connection, writes: str) -> None:
    filled(server, 5)
    server.execute(
        "CREATE FUNCTION writes(int) RETURNS int LANGUAGE sql AS 'DELETE FROM persons; SELECT 1'"
    )
    with (
        consistent(source(server, query=writes, columns=("id",))) as fixed,
        pytest.raises(SourceError, match="cannot be read"),
    ):
        list(batches(parts(fixed)[0]))
    assert server.execute("SELECT count(*) FROM persons").fetchone() == (5,)


def test_no_message_quotes_a_row(server: psycopg.Connection) -> None:
    filled(server, 5)
    server.execute("UPDATE persons SET name = %s", [SECRET])
    query = "SELECT name::int AS id FROM persons"
    with (
        consistent(source(server, query=query, columns=("id",))) as fixed,
        pytest.raises(SourceError, match="invalid text representation, SQLSTATE 22P02") as caught,
    ):
        list(batches(parts(fixed)[0]))
    told = f"{caught.value!r} {caught.value.__context__!r} {caught.value.__cause__!r}"
    assert SECRET not in told


def test_a_foreign_table_is_refused(server: psycopg.Connection) -> None:
    try:
        server.execute("CREATE EXTENSION file_fdw")
    except psycopg.Error:
        pytest.skip("the server has no file_fdw")
    server.execute("CREATE SERVER files FOREIGN DATA WRAPPER file_fdw")
    server.execute("CREATE FOREIGN TABLE far (id int) SERVER files OPTIONS (filename '/dev/null')")
    with (
        consistent(source(server, table="public.far", columns=("id",))) as fixed,
        pytest.raises(SourceError, match="is a foreign table"),
    ):
        parts(fixed)


# Who may read


@pytest.fixture
def reading_role(server: psycopg.Connection) -> Iterator[str]:
    name = f"reader_{os.getpid()}"
    server.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{SECRET}'")
    yield name
    server.execute(f"DROP OWNED BY {name}")
    server.execute(f"DROP ROLE {name}")


def test_a_role_without_rights_is_told_so(
    server: psycopg.Connection, reading_role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(server, 5)
    monkeypatch.setenv("HALLMARK_SOURCE_USER", reading_role)
    monkeypatch.setenv("HALLMARK_SOURCE_PASSWORD", SECRET)
    with (
        consistent(source(server)) as fixed,
        pytest.raises(SourceError, match="insufficient privilege, SQLSTATE 42501"),
    ):
        list(batches(parts(fixed)[0]))
    server.execute(f"GRANT SELECT ON persons TO {reading_role}")
    assert len(frame(source(server))) == 5


def test_a_role_that_is_unknown_is_not_named(
    server: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALLMARK_SOURCE_USER", SECRET)
    with pytest.raises(DatabaseRefused) as caught, consistent(source(server)):
        pass
    assert "does not exist" in str(caught.value) or "authentication" in str(caught.value)
    assert SECRET not in f"{caught.value!r} {caught.value.__context__!r} {caught.value.__cause__!r}"


def test_a_server_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DatabaseRefused, match="Connection refused"):
        databases.connected(
            "postgresql://127.0.0.1:1/none", where="data.source", purpose="SOURCE", credentials=None
        )


def test_libpqs_own_variables_serve_where_ours_are_not_set(
    server: psycopg.Connection, reading_role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HALLMARK_SOURCE_USER")
    monkeypatch.setenv("PGUSER", reading_role)
    monkeypatch.setenv("PGPASSWORD", SECRET)
    with databases.connected(
        url_of(server), where="data.source", purpose="SOURCE", credentials=None
    ) as connection:
        assert connection.info.user == reading_role


def test_a_secret_block_holds_user_and_password(
    server: psycopg.Connection, reading_role: str, prefect: None
) -> None:
    from prefect.blocks.system import Secret

    login = {"user": reading_role, "password": SECRET}
    Secret(value=login).save("reader", overwrite=True)  # type: ignore[arg-type]
    filled(server, 5)
    server.execute(f"GRANT SELECT ON persons TO {reading_role}")
    read: list[int] = []
    # as on a Dask worker: in a thread without an event loop, outside of any flow
    thread = threading.Thread(
        target=lambda: read.append(len(frame(source(server, credentials="reader"))))
    )
    thread.start()
    thread.join()
    assert read == [5]
    Secret(value=SECRET).save("reader", overwrite=True)  # type: ignore[arg-type]
    for block in ("reader", "nobody"):
        with pytest.raises(DatabaseRefused, match=f"Secret block '{block}'") as caught:
            frame(source(server, credentials=block))
        assert SECRET not in f"{caught.value!r} {caught.value.__context__!r}"


# Digests and truncation


def test_a_digest_follows_the_rows_and_not_their_order(
    server: psycopg.Connection, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(server, 50)
    before = source_digest(source(server))
    server.execute("CREATE TABLE sorted AS SELECT * FROM persons ORDER BY id DESC")
    assert source_digest(source(server, table="public.sorted")) == before
    server.execute("UPDATE persons SET secret = 'other'")  # a column that is never read
    assert source_digest(source(server)) == before
    with consistent(source(server)) as fixed:
        server.execute("UPDATE persons SET born = born + 1 WHERE id = 7")
        assert source_digest(fixed) == before
    assert source_digest(source(server)) != before
    monkeypatch.setenv("HALLMARK_HOME", str(tmp_path / "another-home"))
    assert source_digest(source(server, table="public.sorted")) != before


def coded(of: Source, spec_file: Path, folder: Path) -> Sequence[Path]:
    folder.mkdir()
    columns = load_spec(spec_file).columns
    with consistent(of) as fixed:
        return [
            file
            for i, part in enumerate(parts(fixed))
            for file in read_part(part, columns, "person", drafts=Drafts(folder, i)).files
        ]


def test_the_second_opinion_needs_the_first_rows_alone_and_leaves_the_rest_unread(
    server: psycopg.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_COMPARED", 20)
    file, table = example.write(tmp_path), example.table(300)
    names = tuple(load_spec(file).columns)
    server.execute(
        "CREATE TABLE rows (age int, income float8, region text, employed int, since date)"
    )
    rows = table[list(names)].astype(object).where(table[list(names)].notna(), None)
    server.cursor().executemany(
        "INSERT INTO rows VALUES (%s, %s, %s, %s, %s)", rows.to_numpy().tolist()
    )
    with consistent(source(server, table="public.rows", columns=names)) as fixed:
        for part in parts(fixed):
            compare(part, load_spec(file).columns, None)
        assert sum(len(batch) for part in parts(fixed) for batch in batches(part)) == 300


def test_where_rows_lie_does_not_decide_which_records_of_a_person_are_kept(
    server: psycopg.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "PART_PAGES", 1)
    file, table = example.write(tmp_path), example.table(300)
    table["person"] = [f"p{i % 40}" for i in range(300)]
    names = tuple(load_spec(file).columns)
    server.execute(
        "CREATE TABLE rows (age int, income float8, region text, employed int, since date, "
        "person text)"
    )
    kept = {}
    others = table[table["person"] != "p3"]
    for name, version in {
        "one": table,
        "other": table.sample(frac=1, random_state=3),
        "less": others.sample(frac=1, random_state=4),
    }.items():
        server.execute("TRUNCATE rows")
        with server.cursor() as cursor, cursor.copy("COPY rows FROM STDIN (FORMAT csv)") as copy:
            copy.write(version.to_csv(index=False, header=False))
        of = source(server, table="public.rows", columns=(*names, "person"))
        files = truncated(coded(of, file, tmp_path / name), 2)
        kept[name] = Counter(map(tuple, np.concatenate([np.load(f) for f in files]).tolist()))
    assert kept["one"] == kept["other"]
    assert sum(kept["one"].values()) == 80
    assert sum((kept["one"] - kept["less"]).values()) == 2
    assert not kept["less"] - kept["one"]
    everything = TableCodec.of(load_spec(file).columns).encode(frame(of).reset_index(drop=True))
    assert not kept["less"] - Counter(map(tuple, everything.tolist()))


@pytest.mark.usefixtures("home")
def test_an_optional_column_is_read_where_it_is_there(server: psycopg.Connection) -> None:
    filled(server, 3)
    others = tuple(name for name in (*COLUMNS, "secret") if name not in ("id", "employed"))
    some = source(server, columns=("id",), ignored=others, optional=("nowhere", "employed"))
    assert frame(some).sort_values("id").to_numpy().tolist() == [
        ["1", "false"],
        ["2", "true"],
        ["3", "false"],
    ]
    assert source_digest(some) == source_digest(source(server, columns=("id",), optional=("name",)))
