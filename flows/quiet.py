"""Settings under which the orchestrator runs in this process: quiet, offline, inside our home.

Prefect reads its settings when it is first imported, so `configure` comes before that. What an
operator has set already is kept, so that the same command runs against a Prefect server.
"""

import logging
import os
import tempfile
from contextlib import suppress
from signal import SIG_BLOCK, SIGINT, pthread_sigmask
from threading import Thread

from tasks.workspace import home, private_folder

OFFLINE = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "GX_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_UI_V2_ENABLED": "false",  # the other dashboard calls out from the browser
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
}
_QUIET = {
    "PREFECT_LOGGING_LEVEL": "CRITICAL",  # the command line reports failures itself
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
}


def configure(*, verbose: bool = False) -> None:
    """Set what is not set; call before Prefect or Dask is imported."""
    os.umask(0o077)  # whatever a library writes on the way is for its owner alone
    settings = OFFLINE | ({} if verbose else _QUIET) | {"PREFECT_HOME": str(home() / "prefect")}
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    os.environ["TMPDIR"] = tempfile.tempdir = str(private_folder(home() / "tmp"))
    if not verbose:
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        logging.getLogger("great_expectations").setLevel(logging.CRITICAL)


def start_orchestrator() -> Thread:
    """Start Prefect's own server in the background, unless a standing one is configured.

    It needs some seconds, which the rest of the program spends on imports and on the plan. Prefect
    finds it running; wait for the thread before running a flow.
    """
    starting = Thread(target=_start_server, name="orchestrator", daemon=True)
    starting.start()
    return starting


def _start_server() -> None:
    from prefect.server.api.server import SubprocessASGIServer
    from prefect.settings import PREFECT_API_URL

    # Ctrl-C is for the release, which ends in order; its server stays until then.
    pthread_sigmask(SIG_BLOCK, {SIGINT})  # of this thread, and so of the process that it starts
    if not PREFECT_API_URL.value():
        # Where it cannot start, the flow tries again itself and tells why.
        with suppress(Exception):
            SubprocessASGIServer().start()
