"""A house of a test's own: home, ledger, table and spec, with real `hallmark` processes in it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]  # it ships no types
from sqlalchemy import NullPool, create_engine, make_url, text

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from tests import example
from tests.flows.services import SECONDS, without_ours

HALLMARK = Path(sys.executable).with_name("hallmark")
RELEASE, ACCOUNT = "test-release", "test-people"
RECORD = Adjacency(neighbours=Neighbours.REPLACE_ONE)
CAP = Budget(epsilon=Fraction(3, 2), delta=Fraction(3, 200_000))


@dataclass
class Run:
    """One `hallmark` process with all its children, in a process group of its own."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        """What it printed so far, on both streams."""
        return self.log.read_text(errors="replace")

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def finish(self, seconds: float = SECONDS) -> int:
        """Its exit status, once it has ended by itself."""
        return self.process.wait(seconds)

    def children(self) -> list[psutil.Process]:
        """All processes that it started, and those that they started."""
        return list(psutil.Process(self.process.pid).children(recursive=True))

    def kill(self) -> None:
        """Kill it and its children as kill -9 does, in one blow; none of them is left."""
        assert not self.ended, f"it ended before it could be killed:\n{self.said}"
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(SECONDS)

    def wait_until(self, happened: Callable[[], object]) -> None:
        """Return as soon as something has happened; the process must live until then."""
        deadline = time.monotonic() + SECONDS
        while not happened():
            assert not self.ended, f"it ended too early:\n{self.said}"
            assert time.monotonic() < deadline, f"that never happened; it said:\n{self.said}"
            time.sleep(0.005)


@dataclass(frozen=True)
class House:
    """A folder with the private table, the spec, the home and what is published."""

    folder: Path
    ledger_url: str
    settings: Mapping[str, str] = field(default_factory=dict)  # of the environment
    within: tuple[str, ...] = ()  # what starts a process, such as `ip netns exec NAME`

    @classmethod
    def build(
        cls,
        folder: Path,
        *,
        ledger: str | None = None,
        settings: Mapping[str, str] | None = None,
        adjacency: Adjacency = RECORD,
        **spec: Any,
    ) -> "House":
        """The example's table and spec (`spec` replaces sections) with an account for 3/2 of it."""
        example.write(folder, **spec)
        (folder / "home").mkdir()
        url = ledger or f"sqlite:///{folder / 'home' / 'ledger.db'}"
        house = cls(
            folder, url, {**(settings or {}), **({"HALLMARK_LEDGER": url} if ledger else {})}
        )
        house.ledger.open_account(ACCOUNT, cap=CAP, adjacency=adjacency, by="tests", reason="tests")
        return house

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def workspace(self) -> Path:
        return self.home / "work" / RELEASE

    @property
    def published(self) -> Path:
        return self.folder / "out" / RELEASE

    @property
    def environment(self) -> dict[str, str]:
        """Of every process in the house; nothing of the tests' own orchestrator gets in."""
        return without_ours() | {"HALLMARK_HOME": str(self.home)} | dict(self.settings)

    def start(self, *options: str, spec: str = "spec.yaml", **settings: str) -> Run:
        """Start `hallmark release` with these options and additional environment."""
        log = self.folder / f"said-{len(list(self.folder.glob('said-*')))}.txt"
        with log.open("wb") as said:
            process = subprocess.Popen(
                [
                    *self.within,
                    HALLMARK,
                    "release",
                    self.folder / spec,
                    "--out",
                    self.folder / "out",
                    *options,
                ],
                env=self.environment | settings,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return Run(process, log)

    def release(self, *options: str, spec: str = "spec.yaml", **settings: str) -> tuple[int, str]:
        """Exit status and output of a whole run that nobody disturbs."""
        run = self.start(*options, spec=spec, **settings)
        return run.finish(), run.said

    # What the ledger and the workspace tell

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.ledger_url)

    def state(self, release: str = RELEASE) -> str | None:
        """What became of the reservation; None where there never was one."""
        reservation = self.ledger.reservation(release)
        return None if reservation is None else reservation.state

    def outcomes(self) -> list[tuple[Any, ...]]:
        """Every row of the measurement log, to the byte."""
        with create_engine(self.ledger_url, poolclass=NullPool).connect() as connection:
            query = text("SELECT * FROM ledger_measurements ORDER BY release, call")
            return [tuple(row) for row in connection.execute(query)]

    def coded(self) -> list[Path]:
        """Files of coded private records that are there now."""
        return sorted(self.workspace.glob("codes/*/[!.]*.npy"))

    @contextmanager
    def ledger_held(self, *, from_readers: bool = False) -> Iterator[None]:
        """Let no process write to the account (nor read it, on SQLite) meanwhile."""
        with create_engine(self.ledger_url, poolclass=NullPool).connect() as connection:
            if connection.dialect.name == "sqlite":
                driver = connection.connection.driver_connection
                assert driver is not None
                driver.isolation_level = None
                driver.execute("BEGIN EXCLUSIVE" if from_readers else "BEGIN IMMEDIATE")
            else:
                connection.execute(text("SELECT * FROM ledger_accounts FOR UPDATE"))
            yield
            connection.rollback()

    def waits_for_ledger(self, run: Run) -> bool:
        """Whether `run` is held up at the ledger right now, as while `ledger_held`."""
        if not self.ledger_url.startswith("sqlite"):
            return bool(self.lock_waiters())
        # Each transaction opens the file anew, so who has it open for long waits for the lock.
        process = psutil.Process(run.process.pid)
        for _ in range(20):
            if all(Path(file.path).name != "ledger.db" for file in process.open_files()):
                return False
            time.sleep(0.02)
        return True

    def lock_waiters(self) -> list[int]:
        """Connections to the PostgreSQL database that wait for a lock."""
        query = text(
            "SELECT pid FROM pg_stat_activity "
            "WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        with create_engine(self.ledger_url, poolclass=NullPool).connect() as connection:
            return list(connection.scalars(query))

    def terminate(self, connection: int) -> None:
        """Have the PostgreSQL server drop a connection."""
        with create_engine(self.ledger_url, poolclass=NullPool).connect() as own:
            own.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": connection})

    def close_database(self, *, closed: bool) -> None:
        """Drop the PostgreSQL connections that wait for a lock and let none in; or let them in."""
        name = make_url(self.ledger_url).database
        server = make_url(self.ledger_url).set(database="postgres")
        waiting = self.lock_waiters() if closed else []
        engine = create_engine(server, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {not closed}"))
            for pid in waiting:
                connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
