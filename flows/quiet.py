"""Settings of the orchestrator in this process: quiet, offline, inside Hallmark's home folder.

Prefect reads its settings when it is first imported, so `configure` must be called before. Settings
of the operator are kept, so that the same command can run against a Prefect server.
"""

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from signal import SIG_BLOCK, SIGINT, pthread_sigmask
from threading import Thread

from hallmark.tasks.installation.workspace import copy_database, home, private_folder

OFFLINE = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "GX_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_UI_V2_ENABLED": "false",  # that dashboard makes the browser contact other hosts
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
}
SERVER_LOG = {
    "PREFECT_LOGGING_LEVEL": "INFO",
    "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
    "PREFECT_LOGGING_HANDLERS_API_LEVEL": "INFO",  # whatever levels single loggers have
    "PREFECT_LOGGING_EXTRA_LOGGERS": "",  # libraries may quote what they stumbled over
}
"""What runs and their workers log to the server, whatever their environment asks for."""
_QUIET = {
    "PREFECT_LOGGING_LEVEL": "CRITICAL",  # the command line reports failures itself
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
}


def configure(*, verbose: bool = False) -> None:
    """Set everything that is not set yet; call before Prefect or Dask is imported.

    However loud the terminal is to be, the server gets no more than `SERVER_LOG` lets it.
    """
    os.umask(0o077)  # whatever a library writes is readable only by its owner
    settings = OFFLINE | ({} if verbose else _QUIET) | {"PREFECT_HOME": str(home() / "prefect")}
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    for name in ("PREFECT_LOGGING_HANDLERS_API_LEVEL", "PREFECT_LOGGING_EXTRA_LOGGERS"):
        os.environ[name] = SERVER_LOG[name]
    os.environ["TMPDIR"] = tempfile.tempdir = str(private_folder(home() / "tmp"))
    if not verbose:
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        logging.getLogger("great_expectations").setLevel(logging.CRITICAL)


def start_orchestrator() -> Thread:
    """Start Prefect's own server in the background, unless a running one is configured.

    It takes a few seconds, during which the program does its imports and the plan. Flows belong
    into `orchestrated`, which waits for it.

    In a home that is new, making its database takes as long again. So an empty one is kept in the
    user's cache, by version of Prefect, and copied; the server still brings it up to date.
    """
    import prefect  # noqa: F401  # whole: its parts go round in circles if two threads import them

    starting = Thread(target=_start_server, name="orchestrator", daemon=True)
    starting.start()
    return starting


@contextmanager
def orchestrated(starting: Thread) -> Iterator[None]:
    """Wait until the server is up that `start_orchestrator` starts; flows meanwhile run on it.

    So do their tasks in other processes: Prefect passes its settings on to them, but not where the
    server is that it found running, and each process would start one of its own.
    """
    from prefect.server.api.server import SubprocessASGIServer
    from prefect.settings import PREFECT_API_URL, temporary_settings

    starting.join()
    server = SubprocessASGIServer()
    ours = {PREFECT_API_URL: server.api_url} if server.running else {}
    with temporary_settings(ours):
        yield


def _start_server() -> None:
    from prefect.server.api.server import SubprocessASGIServer
    from prefect.settings import PREFECT_API_URL

    # Ctrl-C is for the release, which ends in order; its server must run until then.
    pthread_sigmask(SIG_BLOCK, {SIGINT})  # for this thread, and so for the process that it starts
    if PREFECT_API_URL.value():
        return
    database, empty = Path(os.environ["PREFECT_HOME"]) / "prefect.db", _empty_database()
    is_new = not database.exists() and _DATABASE_VARIABLE not in os.environ
    # If it cannot start, the flow itself tries again and reports why.
    with suppress(Exception):
        if is_new and empty.exists():
            private_folder(database.parent)
            copy_database(empty, database)
        SubprocessASGIServer().start()
        if is_new and database.exists() and not empty.exists():
            private_folder(empty.parent)
            copy_database(database, empty)


_DATABASE_VARIABLE = "PREFECT_API_DATABASE_CONNECTION_URL"


def _empty_database() -> Path:
    """Where the database of a server that has run nothing is kept."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "hallmark" / f"prefect-{version('prefect')}.db"
