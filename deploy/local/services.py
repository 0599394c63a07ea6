"""The processes of server mode, with the settings of each."""

import json
import os
import secrets
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from deploy import certificates as tls_files
from deploy.local import database
from hallmark.flows.door import DEVICE_HEADER
from hallmark.flows.quiet import OFFLINE, SERVER_LOG
from hallmark.tasks.installation.secret_files import kept_secret
from hallmark.tasks.installation.server_mode import DESK_URL, DEVICE, POOL, RELEASES
from hallmark.tasks.installation.signing import KEY_FILE_VARIABLE

LOOPBACK = "127.0.0.1"

# Dask's processes have web servers, which listen on all addresses even without any page.
_HTTP = ("--no-dashboard", "--dashboard-address", f"{LOOPBACK}:0")
_HEALTH_ALONE = '["distributed.http.health"]'  # no paths, logs or metrics


@dataclass(frozen=True)
class Ports:
    """Ports on the loopback address, following the dashboard's."""

    dashboard: int

    @property
    def desk(self) -> int:
        """The desk's port."""
        return self.dashboard + 1

    @property
    def scheduler(self) -> int:
        """The Dask scheduler's port."""
        return self.dashboard + 2


@dataclass(frozen=True)
class Service:
    """A process that is kept running.

    Attributes:
        yields: whether it computes, and lets those go first that answer people or watch over runs.
    """

    name: str
    command: tuple[str, ...]
    yields: bool = False


def settings(home: Path, ports: Ports, server: str, releases: Path) -> dict[str, str]:
    """The environment of all processes, and of a shell that works with them.

    Args:
        releases: absolute path of the folder to publish in.
    """
    orchestrator = database.of(server, "prefect")
    auth, device = _password(home, "dashboard-password"), _token(home, "device")
    kept = {name: os.environ[name] for name in (KEY_FILE_VARIABLE,) if name in os.environ}
    return {
        **OFFLINE,
        **SERVER_LOG,
        **kept,
        "HALLMARK_HOME": str(home),
        "HALLMARK_LEDGER": database.of(server, "ledger"),
        RELEASES: str(releases),
        DESK_URL: f"http://localhost:{ports.desk}",  # a name, which passkeys need
        DEVICE: device,
        "PREFECT_CLIENT_CUSTOM_HEADERS": json.dumps({DEVICE_HEADER: device}),
        "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": _HEALTH_ALONE,
        "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": _HEALTH_ALONE,
        "PREFECT_HOME": str(home / "prefect"),
        "PREFECT_API_URL": f"http://{LOOPBACK}:{ports.dashboard}/api",
        "PREFECT_API_AUTH_STRING": auth,
        "PREFECT_SERVER_API_AUTH_STRING": auth,
        "PREFECT_SERVER_UI_API_URL": f"http://{LOOPBACK}:{ports.dashboard}/api",
        "PREFECT_API_DATABASE_CONNECTION_URL": orchestrator.replace(
            "postgresql://", "postgresql+asyncpg://"
        ),
        "PREFECT_WORKER_QUERY_SECONDS": "1",  # somebody waits at the desk for a run to begin
        # Where a disk is slow, a commit takes longer than the server would wait by itself.
        "PREFECT_SERVER_DATABASE_TIMEOUT": "60",
        "PREFECT_SERVER_DATABASE_CONNECTION_TIMEOUT": "60",
    }


def services(home: Path, ports: Ports, workers: int) -> tuple[Service, ...]:
    """The services, in the order in which they are started."""
    files = _certificates(home)
    tls = ("--tls-ca-file", files["ca"], "--tls-cert", files["cert"], "--tls-key", files["key"])
    keys = tuple(map(str, tls))
    address = f"tls://{LOOPBACK}:{ports.scheduler}"
    python = (sys.executable, "-m")
    dask_workers = tuple(
        Service(
            f"dask-worker-{number}",
            (
                *python,
                "distributed.cli.dask_worker",
                address,
                *keys,
                "--nthreads",
                "1",
                "--host",
                LOOPBACK,
                *_HTTP,
                "--local-directory",
                str(home / "tmp"),
            ),
            yields=True,
        )
        for number in range(1, workers + 1)
    )
    return (
        Service(
            "dashboard",
            (*python, "deploy.dashboard", *_at(ports.dashboard)),
        ),
        Service(
            "dask-scheduler",
            (
                *python,
                "distributed.cli.dask_scheduler",
                "--host",
                address,
                *keys,
                *_HTTP,
            ),
        ),
        *dask_workers,
        Service(
            "worker",
            (*python, "prefect", "worker", "start", "--pool", POOL, "--type", "process"),
        ),
        Service(
            "desk",
            (
                *python,
                "uvicorn",
                "hallmark.flows.desk:desk",
                "--no-proxy-headers",  # anybody who may state a request's origin could guess on
                *_at(ports.desk),
                "--log-level",
                "warning",
                "--timeout-graceful-shutdown",  # pages keep streams open that do not end at once
                "5",
            ),
        ),
    )


def _at(port: int) -> tuple[str, ...]:
    return ("--host", LOOPBACK, "--port", str(port))


def profile_cluster(home: Path, ports: Ports) -> str:
    """The profile section that makes releases run on these workers."""
    files = _certificates(home)
    return (
        "cluster:\n"
        f"  address: tls://{LOOPBACK}:{ports.scheduler}\n"
        "  tls:\n"
        f"    ca_file: {files['ca']}\n"
        f"    cert_file: {files['cert']}\n"
        f"    key_file: {files['key']}\n"
    )


def workers_by_default() -> int:
    """The default number of Dask workers, one per core."""
    return os.cpu_count() or 1


def _password(folder: Path, name: str) -> str:
    """The `user:password` of a service, made if missing."""
    made = f"operator:{secrets.token_urlsafe(24)}"
    return kept_secret(folder / name, made.encode).decode()


def _token(folder: Path, name: str) -> str:
    """A secret that only programs use, made if missing."""
    return kept_secret(folder / name, lambda: secrets.token_urlsafe(24).encode()).decode()


def _certificates(folder: Path) -> dict[str, Path]:
    """Paths of `ca`, `cert` and `key` in PEM, with which Dask's processes authenticate."""
    return tls_files.certificates(folder, (socket.gethostname(), "localhost", "127.0.0.1"))
