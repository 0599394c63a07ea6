"""The commands of the containers, run as processes: with their secrets from files, and over TLS."""

import importlib.util
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import httpx
import psycopg
import pytest
from distributed import Client, Security
from sqlalchemy import make_url

from deploy import databases, secret_files
from deploy.certificates import certificates
from deploy.entrypoint import with_secrets
from deploy.healthy import healthy
from hallmark.flows.quiet import OFFLINE
from tests.deploy.stacks import DEPLOY, ROOT, Process, compose, compose_processes
from tests.flows.services import SECONDS, free_port, postgres, service, wait_until

PROCESSES = {one.name: one for one in compose_processes(compose())}
OURS = [one for one in PROCESSES.values() if one.name != "postgres"]

__all__ = ["postgres"]  # a fixture


@pytest.mark.parametrize("process", OURS, ids=lambda one: one.name)
def test_a_command_starts_a_module_that_there_is_with_options_that_it_knows(process: Process):
    assert faults(process.command) == []


def test_a_command_that_cannot_start_is_found():
    worker = PROCESSES["dask-worker"].command
    assert faults(("python", "-m", "distributed.cli.dask_werker")) == [
        "no module distributed.cli.dask_werker"
    ]
    assert faults((*worker, "--nany-port", "1")) == ["no option --nany-port"]
    assert faults((*PROCESSES["desk"].command, "hallmark.flows.desk:dest")) == [
        "no hallmark.flows.desk:dest"
    ]


def faults(command: Sequence[str]) -> list[str]:
    """What is wrong with a command, as the program that it starts would find."""
    assert command[:2] == ("python", "-m")
    module, *arguments = command[2:]
    if importlib.util.find_spec(module) is None:
        return [f"no module {module}"]
    options = [word for word in arguments if word.startswith("--")]
    words = [word for word in arguments[:2] if re.fullmatch(r"[a-z]+", word)]
    known = _options(module, *words) if options else ()
    found = [f"no option {one}" for one in options if one not in known]
    for target in (word for word in arguments if re.fullmatch(r"[a-z.]+:[a-z]+", word)):
        name, _, attribute = target.partition(":")
        if not hasattr(importlib.import_module(name), attribute):
            found.append(f"no {target}")
    return found


@cache
def _options(*command: str) -> list[str]:
    """Options that a module knows, as it says itself."""
    asked = [sys.executable, "-m", *command, "--help"]
    told = subprocess.run(asked, capture_output=True, text=True, cwd=ROOT).stdout
    return re.findall(r"--[a-z-]+", told)


def entered(secrets: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A process that was started by the entry point, and tells its environment."""
    tell = "import json, os; print(json.dumps([dict(os.environ), os.umask(0)]))"
    program = "import sys; from pathlib import Path; from deploy.entrypoint import main; "
    program += "main(sys.argv[2:], Path(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(secrets), sys.executable, "-c", tell]
    return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT)


def test_a_process_finds_its_secrets_in_its_environment(tmp_path: Path):
    (tmp_path / "HALLMARK_LEDGER").write_text("postgresql://ledger\n")
    (tmp_path / "HALLMARK_SIGNING_KEY").write_text("-----BEGIN\nof a key\n-----END\n")
    (tmp_path / "ca.pem").write_text("no variable")
    temporary = tmp_path / "volume" / "home" / "tmp"
    environment, umask = json.loads(entered(tmp_path, {"TMPDIR": str(temporary)}).stdout)
    assert environment["HALLMARK_LEDGER"] == "postgresql://ledger"
    assert environment["HALLMARK_SIGNING_KEY"] == "-----BEGIN\nof a key\n-----END"
    assert "ca.pem" not in environment
    assert umask == 0o077
    assert temporary.stat().st_mode & 0o777 == 0o700


def test_a_secret_that_is_set_twice_or_empty_stops_the_process(tmp_path: Path):
    (tmp_path / "HALLMARK_LEDGER").write_text("x")
    done = entered(tmp_path, {"HALLMARK_LEDGER": "y"})
    assert done.returncode == 1
    assert "HALLMARK_LEDGER is set, but so is the secret" in done.stderr
    (tmp_path / "HALLMARK_LEDGER").write_text("\n")
    assert "is empty" in entered(tmp_path, {}).stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_secret_that_cannot_be_read_stops_the_process(tmp_path: Path):
    (tmp_path / "HALLMARK_LEDGER").write_text("x")
    (tmp_path / "HALLMARK_LEDGER").chmod(0)
    with pytest.raises(SystemExit, match="Permission denied; let user"):
        with_secrets({}, tmp_path)


def test_secrets_are_made_once_and_anew_where_one_was_deleted(tmp_path: Path):
    folder = tmp_path / "secrets"
    make = [sys.executable, "-m", "deploy.secret_files", str(folder), "--database", "db:6432"]

    def made() -> dict[str, str]:
        files = [file for file in folder.rglob("*") if file.is_file()]
        assert all(file.stat().st_mode & 0o077 == 0 for file in files)
        return {str(file.relative_to(folder)): file.read_text() for file in files}

    subprocess.run(make, cwd=ROOT, check=True, capture_output=True)
    first = made()
    theirs = {"dask-ca": "tls/ca.pem", "dask-cert": "tls/cert.pem", "dask-key": "tls/key.pem"}
    named = {theirs.get(name, name) for one in PROCESSES.values() for name in one.secrets}
    assert first.keys() == named - {"HALLMARK_SIGNING_KEY"}
    assert first["PREFECT_API_AUTH_STRING"] == first["PREFECT_SERVER_API_AUTH_STRING"]
    assert make_url(first["HALLMARK_DATABASE"]).password == first["POSTGRES_PASSWORD"]
    assert make_url(first["HALLMARK_LEDGER"]).host == "db"
    secret_files.main(folder, "db:6432")
    assert made() == first
    (folder / "PREFECT_API_AUTH_STRING").unlink()
    secret_files.main(folder, "db:6432")
    second = made()
    changed = {name for name in first if first[name] != second[name]}
    assert changed == {"PREFECT_API_AUTH_STRING", "PREFECT_SERVER_API_AUTH_STRING"}


def test_each_database_has_a_role_that_sees_it_alone(
    postgres: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    administrator = make_url(postgres).set(drivername="postgresql")
    suffix = str(administrator.database).removeprefix("hallmark_test_")[:12]
    ledger, prefect = (
        make_url(f"postgresql+{driver}://{role}_{suffix}:word@h/{role}_{suffix}")
        for driver, role in (("psycopg", "ledger"), ("asyncpg", "prefect"))
    )
    server = administrator.render_as_string(hide_password=False)
    with psycopg.connect(server, autocommit=True) as connection:

        def asked(query: str, *names: str) -> object:
            row = connection.execute(query, names).fetchone()
            return row and row[0]

        def created(urls: dict[str, str]) -> str:
            for name, value in {"HALLMARK_DATABASE": server, **urls}.items():
                monkeypatch.setenv(name, value)
            databases.main()
            return "".join(capsys.readouterr())

        urls = {
            "HALLMARK_LEDGER": ledger.render_as_string(hide_password=False),
            "PREFECT_API_DATABASE_CONNECTION_URL": prefect.render_as_string(hide_password=False),
        }
        verifier = "SELECT rolpassword FROM pg_authid WHERE rolname = %s"
        may_enter = "SELECT has_database_privilege(%s, %s, 'CONNECT')"
        try:
            assert "owned by ledger_" in created(urls)
            first = str(asked(verifier, str(ledger.username)))
            assert first.startswith("SCRAM-SHA-256$")
            assert asked(may_enter, str(ledger.username), str(ledger.database))
            assert not asked(may_enter, str(prefect.username), str(ledger.database))
            urls["HALLMARK_LEDGER"] = urls["HALLMARK_LEDGER"].replace("word", "another")
            assert "owned by ledger_" in created(urls)  # nothing is lost, but the password
            assert asked(verifier, str(ledger.username)) != first
            assert "must name user, password and database" in created(
                {**urls, "HALLMARK_LEDGER": "postgresql://host/ledger"}
            )
            assert "HALLMARK_LEDGER not set" in created({**urls, "HALLMARK_LEDGER": ""})
        finally:
            for url in (ledger, prefect):
                connection.execute(f'DROP DATABASE IF EXISTS "{url.database}" WITH (FORCE)')
                connection.execute(f'DROP ROLE IF EXISTS "{url.username}"')


def test_a_certificate_is_for_the_names_that_were_asked(tmp_path: Path):
    made = subprocess.run(
        [sys.executable, "-m", "deploy.certificates", str(tmp_path), "dask-scheduler", "127.0.0.1"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    ca, cert, key = (Path(line) for line in made.stdout.splitlines())
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(cert, key)
    for name, right in (("dask-scheduler", True), ("127.0.0.1", True), ("postgres", False)):
        assert _shaken(server, ssl.create_default_context(cafile=str(ca)), name) is right
    assert all(path.stat().st_mode & 0o077 == 0 for path in (ca, cert, key))


def _shaken(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> bool:
    """Whether client and server come to terms, in memory."""
    client.verify_flags |= ssl.VERIFY_X509_STRICT  # as Python 3.13 does by default
    one, other = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        server.wrap_bio(one, other, server_side=True),
        client.wrap_bio(other, one, server_hostname=name),
    ]
    for _ in range(6):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError:
                return False
    return True


@contextmanager
def running(
    name: str, folder: Path, swaps: dict[str, str], settings: dict[str, str]
) -> Iterator[None]:
    """A service of the compose file as a process, places and addresses swapped."""
    longest_first = "|".join(map(re.escape, sorted(swaps, key=len, reverse=True)))

    def swapped(word: str) -> str:
        return re.sub(longest_first, lambda found: swaps[found[0]], word)

    process = PROCESSES[name]
    command = [swapped(word) for word in process.command[2:]]
    environment = {key: swapped(value) for key, value in process.environment.items()} | settings
    with service(command, folder / name, environment | {"PYTHONPATH": str(ROOT)}):
        yield


def test_scheduler_and_worker_of_the_compose_file_speak_tls_and_nothing_else(tmp_path: Path):
    keys = _keys(tmp_path / "tls")
    tls = {f"/run/tls/{one}.pem": str(path) for one, path in keys.items()}
    scheduler, health, worker_health, *own = (str(free_port()) for _ in range(5))
    inside = tls | {"dask-scheduler:8786": f"127.0.0.1:{scheduler}", "8786": scheduler}
    other = {"8788": own[0], "8789": own[1], "/var/lib/hallmark/home/tmp": str(tmp_path)}
    security = _security(keys)
    with ExitStack() as up:
        up.enter_context(running("dask-scheduler", tmp_path, inside | {"8787": health}, {}))
        other |= inside | {"8787": worker_health}
        up.enter_context(running("dask-worker", tmp_path, other, {}))
        urls = [f"http://127.0.0.1:{port}/health" for port in (health, worker_health)]
        wait_until(lambda: all(healthy(url) for url in urls), "scheduler and worker answer")
        with Client(f"tls://127.0.0.1:{scheduler}", security=security, timeout=SECONDS) as client:
            assert client.submit(sum, [1, 2]).result(60) == 3
            (address,) = client.scheduler_info()["workers"]
            assert address.endswith(f":{own[0]}")
        with pytest.raises(OSError, match=r"reset by peer|closed|Timed out"):
            Client(f"tcp://127.0.0.1:{scheduler}", timeout=3)
        with pytest.raises(OSError, match=r"(?i)certificate|TLS|Timed out|closed"):
            Client(f"tls://127.0.0.1:{scheduler}", security=_stranger(tmp_path), timeout=3)
        for page in ("/metrics", "/json/counts.json", "/info/main/workers.html"):
            assert httpx.get(f"http://127.0.0.1:{health}{page}").status_code == 404
    assert not healthy(urls[0])


def _keys(folder: Path) -> dict[str, Path]:
    folder.mkdir()
    return certificates(folder, ("dask-scheduler", "127.0.0.1"))


def _security(keys: dict[str, Path]) -> Security:
    return Security(
        require_encryption=True,
        tls_ca_file=str(keys["ca"]),
        tls_client_cert=str(keys["cert"]),
        tls_client_key=str(keys["key"]),
    )


def _stranger(folder: Path) -> Security:
    """The keys of another installation, by one who trusts the scheduler nevertheless."""
    return _security(_keys(folder / "others") | {"ca": folder / "tls" / "ca.pem"})


@pytest.mark.slow  # a minute or two, most of it start-up
def test_dashboard_and_registrar_of_the_compose_file_offer_the_calendar(tmp_path: Path):
    """A Prefect server that asks for a password, and an agency's folder as Kubernetes mounts it."""
    port, password = str(free_port()), "operator:for-this-test"
    api = f"http://127.0.0.1:{port}/api"
    agency = _mounted(DEPLOY / "agency", tmp_path / "agency")
    swaps = {"dashboard:4200": f"127.0.0.1:{port}", "0.0.0.0": "127.0.0.1", "4200": port}
    swaps |= {"/etc/hallmark": str(agency), "/srv/releases": str(tmp_path / "releases")}
    ours = {
        "HALLMARK_HOME": str(tmp_path / "home"),
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "PREFECT_API_AUTH_STRING": password,
        "PREFECT_SERVER_API_AUTH_STRING": password,
    }
    with running("dashboard", tmp_path, swaps, ours):
        wait_until(lambda: healthy(f"{api}/health"), "the dashboard answers")
        assert httpx.post(f"{api}/deployments/filter", json={}, timeout=SECONDS).status_code == 401
        with running("registrar", tmp_path, swaps, ours):
            auth = httpx.BasicAuth(*password.split(":"))

            def offered() -> dict[str, dict[str, str]]:
                answer = httpx.post(
                    f"{api}/deployments/filter", json={}, auth=auth, timeout=SECONDS
                ).json()
                return {one["entrypoint"]: one["parameters"] for one in answer}

            wait_until(
                lambda: "hallmark.flows.scheduled.calendar_release" in offered(), "it is offered"
            )
            assert offered()["hallmark.flows.scheduled.calendar_release"] == {
                "calendar": str(agency / "calendar.yaml"),
                "entry": "visits",
                "out": str(tmp_path / "releases"),
            }
            assert "hallmark.flows.release.release" in offered()
        settings = httpx.get(
            f"http://127.0.0.1:{port}/ui-settings", auth=auth, timeout=SECONDS
        ).json()
        assert settings["api_url"] == api
    assert OFFLINE.items() <= PROCESSES["dashboard"].environment.items()


def _mounted(folder: Path, at: Path) -> Path:
    """A ConfigMap's files are links into a folder whose name changes with each change of one."""
    shutil.copytree(folder, at / "..2026_11_21")
    (at / "..data").symlink_to("..2026_11_21")
    for file in folder.iterdir():
        (at / file.name).symlink_to(Path("..data") / file.name)
    return at


def test_a_port_that_nobody_listens_on_is_not_healthy():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/health"
        assert not healthy(url)
        done = subprocess.run([sys.executable, "-m", "deploy.healthy", url], cwd=ROOT)
    assert done.returncode == 1
