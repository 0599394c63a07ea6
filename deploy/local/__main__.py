"""Start server mode on this machine, and keep it running until Ctrl-C.

    python -m deploy.local [--port 4200] [--workers N] [--spec SPEC ...] [--calendar CALENDAR]
                           [--out FOLDER]

PostgreSQL stores the ledger and the orchestrator's state; Prefect's server with the dashboard, a
worker that runs flows, a Dask scheduler with worker processes (TLS), and the desk are
separate processes, all on the loopback address. A process that dies is started again.
"""

import argparse
import fcntl
import getpass
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from deploy.local import database
from deploy.local.processes import running
from deploy.local.services import (
    LOOPBACK,
    Ports,
    profile_cluster,
    services,
    settings,
    workers_by_default,
)
from deploy.registration import commands
from hallmark.tasks.installation.server_mode import DESK_URL, RELEASES
from hallmark.tasks.installation.workspace import home as installation
from hallmark.tasks.installation.workspace import private_folder
from hallmark.tasks.people import directory
from hallmark.tasks.people.actions import Actor
from hallmark.tasks.people.rights import Right, Role


def main() -> int:
    """Start all services, register what can be run, and keep the services running."""
    parser = argparse.ArgumentParser(prog="python -m deploy.local", description=__doc__)
    parser.add_argument(
        "--port", type=int, default=4200, help="port of the dashboard; the others follow"
    )
    parser.add_argument(
        "--workers", type=int, default=workers_by_default(), help="number of Dask workers"
    )
    parser.add_argument("--spec", nargs="*", default=[], help="specs to offer as forms")
    parser.add_argument("--calendar", help="recurring releases")
    parser.add_argument("--out", default="releases", help="folder in which releases are published")
    asked = parser.parse_args()
    os.umask(0o077)  # whatever processes write is readable only by its owner
    home, ports = installation(), Ports(asked.port)
    private_folder(home / "tmp")
    # The system releases the lock when this process ends, even if it is killed.
    lock = (home / "up.lock").open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"error: server mode is already running in {home}; stop it first", file=sys.stderr)
        return 1
    if taken := _taken(ports):
        print(f"error: port in use: {taken}; choose others with --port", file=sys.stderr)
        return 1
    try:
        _tell("Starting PostgreSQL (the first time its folder is made)")
        server = database.server(home)
        database.create_databases(server)
    except database.DatabaseMissing as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    environment = settings(home, ports, server, Path(asked.out).resolve())
    _write_environment(home, environment)
    _write_profile(home, ports)
    try:
        dashboard, *others, desk = services(home, ports, asked.workers)
        with running(home, environment) as processes:
            _tell("Starting the server of Prefect (the first time its tables are made: a minute)")
            processes.start(dashboard)
            processes.await_answer(dashboard, f"{environment['PREFECT_API_URL']}/health")
            _tell(f"Starting the worker, Dask with {asked.workers} processes, and the desk")
            for service in (*others, desk):
                processes.start(service)
            processes.await_answer(desk, f"{environment['HALLMARK_DESK_URL']}/health")
            _register(environment, asked.spec, asked.calendar)
            print(_where(home, environment), flush=True)
            processes.watch()
    except KeyboardInterrupt:
        print("Stopping.", flush=True)
    finally:
        database.stop(home)
    return 0


def _tell(step: str) -> None:
    """Say what is being done, since a first start takes minutes."""
    print(f"{step} ...", flush=True)


def _taken(ports: Ports) -> str:
    """The ports that other processes listen on, in words; empty where all are free."""
    taken = []
    for name in ("dashboard", "desk", "scheduler"):
        try:
            socket.create_server((LOOPBACK, getattr(ports, name))).close()
        except OSError:
            taken.append(f"{getattr(ports, name)} ({name})")
    return ", ".join(taken)


def _register(environment: dict[str, str], specs: Sequence[str], calendar: str | None) -> None:
    """Register what can be run with the server, which updates earlier registrations."""
    registering = commands(calendar, specs, environment[RELEASES])
    for number, command in enumerate(registering, 1):
        _tell(f"Registering what can be run, {number} of {len(registering)} (some ten seconds)")
        done = subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"error: {' '.join(command[2:])}:\n{done.stdout}{done.stderr}")


def _write_environment(home: Path, environment: dict[str, str]) -> None:
    """Write the file that a shell sources to work with this installation."""
    file = home / "environment"
    file.touch(mode=0o600)
    lines = (f"export {name}={shlex.quote(value)}" for name, value in environment.items())
    file.write_text("\n".join(lines) + "\n")


def _write_profile(home: Path, ports: Ports) -> None:
    """Write a profile that names the local cluster, unless the agency has one."""
    file = home / "profile.yaml"
    if not file.exists():
        file.write_text("hallmark_profile: 1\n" + profile_cluster(home, ports))


def _where(home: Path, environment: dict[str, str]) -> str:
    """The one address to open, and where things are on this machine."""
    address = environment[DESK_URL]
    if (secret := _first_invitation()) is not None:
        address += f"/invitation/{secret}   (works once; you are its administrator)"
    return (
        f"Hallmark     {address}\n"
        f"Releases     {environment[RELEASES]}\n"
        f"Shell        . {home}/environment\n"
        f"Profile      {home}/profile.yaml\n"
        f"Logs         {home}/logs\n"
        "Ctrl-C stops everything; nothing is lost."
    )


def _first_invitation() -> str | None:
    """An invitation for whoever starts this, as long as nobody can log in."""
    known = directory.people()
    if any(one.ready for one in known):
        return None
    by = Actor(getpass.getuser(), "command line")
    login = next((one.login for one in known if Right.MANAGE in one.rights), None)
    if login is None:
        roles = [Role.ADMINISTRATOR, Role.OPERATOR, Role.STEWARD]
        login = directory.add("administrator", "First administrator", roles, by=by).login
    return directory.invite(login, by=by)


if __name__ == "__main__":
    sys.exit(main())
