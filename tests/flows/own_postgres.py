"""A PostgreSQL server of a test's own, which it may archive, destroy and put back."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.local.database import create_databases, of, postgres_programs
from tests.flows.services import free_port, wait_until

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


def archive_command(folder: Path) -> str:
    """The command that the docs have the server call to archive a file, for this folder."""
    (found,) = re.findall(r"archive_command = '([^']*)'", PAGE.read_text())
    return found.replace("/media/elsewhere/wal", str(folder))


@dataclass(frozen=True)
class Server:
    """A server whose data, archive and base backup lie in one folder."""

    folder: Path
    port: int
    owner: str | None  # who runs it; None: whoever runs the tests
    programs: Path

    @property
    def data(self) -> Path:
        return self.folder / "postgres"

    @property
    def archive(self) -> Path:
        return self.folder / "wal"

    @property
    def base(self) -> Path:
        return self.folder / "base"

    @property
    def ledger(self) -> str:
        """URL of the ledger's database."""
        return of(self._url, "ledger")

    def make(self) -> None:
        """Make a server that archives, with an empty database for the ledger."""
        self._run("initdb", "-U", "hallmark", "-A", "trust", "-E", "UTF8")
        self.archive.mkdir(mode=0o700)
        if self.owner:
            shutil.chown(self.archive, self.owner)
        self.start()
        command = archive_command(self.archive)
        self.sql(
            "ALTER SYSTEM SET archive_mode = on", f"ALTER SYSTEM SET archive_command = '{command}'"
        )
        self.stop()
        self.start()
        create_databases(self._url)

    def start(self) -> None:
        options = f"-c port={self.port} -c unix_socket_directories={self.folder}"
        log = self.folder / "server.log"
        self._run("pg_ctl", "start", "-w", "-l", log, "-o", options)

    def stop(self) -> None:
        """Stop it; it archives what it has not yet."""
        self._run("pg_ctl", "stop", "-m", "fast")

    def sql(self, *statements: str) -> str:
        """What these statements answer."""
        each = [part for one in statements for part in ("-c", one)]
        return self._run("psql", "-AtX", *each)

    def back_up(self) -> None:
        """Take the base backup."""
        self._run("pg_basebackup", "-D", self.base, "-c", "fast")

    def restore(self, **targets: str) -> None:
        """Start from the base backup, with what was archived since; the server must be stopped.

        Args:
            targets: settings that say where to end, and how; none: after all that was archived.
        """
        self._run("rm", "-rf", self.data)
        self._run("cp", "-a", self.base, self.data)
        settings = {
            "restore_command": f"cp {self.archive}/%f %p",
            "recovery_target_action": "promote",
            **targets,
        }
        with (self.data / "postgresql.auto.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
        self._run("touch", self.data / "recovery.signal")
        self.start()
        if settings["recovery_target_action"] == "promote":
            self.wait_until_restored()

    def wait_until_restored(self) -> None:
        """Return as soon as it takes writers."""
        wait_until(lambda: self.sql("SELECT pg_is_in_recovery()") == "f", "it is restored")

    @property
    def _url(self) -> str:
        return f"postgresql://hallmark@127.0.0.1:{self.port}/hallmark"

    def _run(self, *command: str | Path) -> str:
        settings = {
            "PGDATA": str(self.data), "PGHOST": "127.0.0.1", "PGPORT": str(self.port),
            "PGUSER": "hallmark", "PGDATABASE": "postgres",
            "PATH": f"{self.programs}:{os.environ['PATH']}",
        }  # fmt: skip
        with tempfile.TemporaryFile("w+") as said:  # not a pipe, which the server would keep open
            done = subprocess.run(
                command,
                env=os.environ | settings,
                cwd=self.folder,
                stdout=said,
                stderr=subprocess.STDOUT,
                user=self.owner,
                group=self.owner,
            )
            said.seek(0)
            text = said.read().strip()
        assert done.returncode == 0, f"{command}: {text}"
        return text


@contextmanager
def own_postgres() -> Iterator[Server]:
    """A server that archives; skips the test where PostgreSQL's programs are missing."""
    programs = postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    owner = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
    # Not in pytest's own folder, which another user cannot enter, and too deep for a socket.
    with tempfile.TemporaryDirectory(prefix="hallmark-postgres-", dir="/tmp") as folder:
        if owner:
            shutil.chown(folder, owner)
        server = Server(Path(folder), free_port(), owner, programs)
        try:
            server.make()
            yield server
        finally:
            if (server.data / "postmaster.pid").exists():
                server.stop()
