"""Fresh ledger databases, on SQLite and on PostgreSQL."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL, NullPool, create_engine, make_url, text
from sqlalchemy.exc import OperationalError

from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from tests.losses import own_grid

POSTGRES = os.environ.get(
    "HALLMARK_TEST_POSTGRES", "postgresql+psycopg://postgres@127.0.0.1:5432/postgres"
)


@pytest.fixture(scope="module", autouse=True)
def own_grid_of_losses() -> Iterator[None]:
    """The core is tested on the grid of the product."""
    with own_grid():
        yield


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture(scope="module")
def postgres_database() -> Iterator[URL]:
    """A database of the test module's own, dropped afterwards."""
    server = create_engine(
        POSTGRES,
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
        connect_args={"connect_timeout": 3},
    )
    name = f"hallmark_test_{uuid.uuid4().hex}"
    try:
        with server.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
    except OperationalError:
        pytest.skip("no PostgreSQL server answers; set HALLMARK_TEST_POSTGRES to the URL of one")
    yield make_url(POSTGRES).set(database=name)
    with server.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture
def postgres_url(postgres_database: URL) -> str:
    """An empty schema in it."""
    schema = f"ledger_{uuid.uuid4().hex}"
    with create_engine(postgres_database, poolclass=NullPool).begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    url = postgres_database.update_query_dict({"options": f"-csearch_path={schema}"})
    return url.render_as_string(hide_password=False)


@pytest.fixture(params=["sqlite", "postgres"])
def ledger_url(request: pytest.FixtureRequest) -> str:
    """Each test runs on both databases."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def ledger(ledger_url: str) -> Ledger:
    return Ledger(ledger_url)
