"""What holds for every container that we deploy; each rule yields what breaks it."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import dask
import distributed  # noqa: F401  fills in Dask's own settings
from prefect.settings import Settings
from prefect.settings.legacy import _get_settings_fields

from hallmark.flows.quiet import OFFLINE, SERVER_LOG
from tests.deploy.stacks import DEPLOY, ROOT, Document, Process, pods

ONCE = {"databases", "registrar"}
NOT_PREFECT = {"postgres", "databases", "dask-scheduler"}
_OF_THE_IMAGE = {"POSTGRES_PASSWORD_FILE", "POSTGRES_INITDB_ARGS", "PGDATA"}
_MAY_HOLD = {
    "postgres": {"POSTGRES_PASSWORD"},
    "databases": {"HALLMARK_DATABASE", "HALLMARK_LEDGER", "PREFECT_API_DATABASE_CONNECTION_URL"},
    "dashboard": {"PREFECT_API_DATABASE_CONNECTION_URL", "PREFECT_SERVER_API_AUTH_STRING"},
    "registrar": {"PREFECT_API_AUTH_STRING"},
    "worker": {
        "HALLMARK_LEDGER",
        "HALLMARK_SIGNING_KEY",
        "PREFECT_API_AUTH_STRING",
        "dask-ca",
        "dask-cert",
        "dask-key",
    },
    "dask-scheduler": {"dask-ca", "dask-cert", "dask-key"},
    "dask-worker": {"PREFECT_API_AUTH_STRING", "dask-ca", "dask-cert", "dask-key"},
    "desk": {"HALLMARK_LEDGER", "PREFECT_API_AUTH_STRING"},
}
# Credentials of the agency's own sources, for those who read rows; a Secret that need not exist.
_OF_SOURCES = {"HALLMARK_SOURCE_USER", "HALLMARK_SOURCE_PASSWORD"}
# The desk's own at a provider of identities, where people log in by one; need not exist either.
_OF_PROVIDER = {"HALLMARK_OIDC_CLIENT_SECRET"}
_SECRET_LOOKS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|[a-z+]+://[^\s:/@]+:[^\s:/@{}$]+@|password: *[^\s{$(]{8,}"
)


def process_problems(process: Process) -> Iterator[str]:
    """Of one container, whatever starts it."""
    yield from _image(process.image)
    for name in process.environment:
        if not known(name):
            yield f"nobody reads {name}"
        if name in _OF_PROVIDER.union(*_MAY_HOLD.values()):
            yield f"the secret {name} stands in the environment"
    extra = process.secrets - _MAY_HOLD[process.name]
    if process.name in ("worker", "dask-worker"):
        extra -= _OF_SOURCES
    if process.name == "desk":
        extra -= _OF_PROVIDER
    for name in sorted(extra):
        yield f"has no business with {name}"
    for name in sorted(_MAY_HOLD[process.name] - process.secrets):
        yield f"lacks {name}"
    if process.name not in NOT_PREFECT:
        for name, value in (OFFLINE | SERVER_LOG).items():
            if process.environment.get(name) != value:
                yield f"{name} is not {value}"
    if process.name == "worker" and process.environment.get("HALLMARK_LOG") != "json":
        yield "keeps its runs' log to itself"
    encrypted = process.environment.get("DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION") == "true"
    if "dask-key" in _MAY_HOLD[process.name] and not encrypted:
        yield "Dask does not insist on TLS"


def _image(image: str) -> Iterator[str]:
    tag = image.rpartition(":")[2] if ":" in image else ""
    if not re.search(r"\d+\.\d+", tag):
        yield f"{image} is not pinned"


def known(name: str) -> bool:
    """Whether our code, Prefect, Dask or an image reads the variable."""
    if name.startswith("HALLMARK_"):
        return name in _ours()
    if name.startswith("PREFECT_"):
        return name in SERVER_LOG or name in _get_settings_fields(Settings)
    if name.startswith("DASK_"):
        key = name.removeprefix("DASK_").lower().replace("__", ".")
        return dask.config.get(key, default=dask) is not dask
    return name in OFFLINE or name in _OF_THE_IMAGE


@cache
def _ours() -> frozenset[str]:
    """Strings of our code that are names of variables."""
    return frozenset(
        name
        for package in ("flows", "tasks", "mechanisms", "schemas", "deploy")
        for path in (ROOT / package).rglob("*.py")
        for name in re.findall(r'"(HALLMARK_[A-Z_]+)"', path.read_text())
    )


def compose_problems(stack: Document) -> Iterator[str]:
    """Of the compose file, as `service: what is wrong`."""
    for name, service in stack["services"].items():
        for problem in _of_service(name, service):
            yield f"{name}: {problem}"
    if not (stack["networks"]["back"] or {}).get("internal"):
        yield "back: reaches outside"
    options = (stack["networks"]["front"] or {}).get("driver_opts", {})
    if options.get("com.docker.network.bridge.enable_ip_masquerade") != "false":
        yield "front: is answered from outside"


def _of_service(name: str, service: Document) -> Iterator[str]:
    uid = str(service.get("user", "0")).partition(":")[0]
    if not uid.isdigit() or int(uid) == 0:
        yield "may be root"
    if service.get("read_only") is not True:
        yield "its root file system can be written"
    if service.get("cap_drop") != ["ALL"] or service.get("cap_add"):
        yield "keeps capabilities"
    if "no-new-privileges:true" not in service.get("security_opt", ()):
        yield "may gain privileges"
    if service.get("privileged") or any(
        service.get(key) == "host" for key in ("pid", "network_mode", "ipc")
    ):
        yield "shares the host"
    limits = service.get("deploy", {}).get("resources", {}).get("limits", {})
    if {"cpus", "memory", "pids"} - limits.keys():
        yield "has no limits"
    if "restart" not in service:
        yield "is not started again"
    check = service.get("healthcheck", {})
    if name not in ONCE and "test" not in check:
        yield "has no health check"
    if any(not str(port).startswith("127.0.0.1:") for port in service.get("ports", ())):
        yield "listens to everybody"
    if "front" in service["networks"] and name not in ("dashboard", "desk"):
        yield "is at the front"
    volumes = [str(volume) for volume in service.get("volumes", ())]
    for volume in volumes:
        if volume.startswith("/given/hallmark_data:"):
            if name not in ("worker", "dask-worker"):
                yield "sees the private tables"
            if not volume.endswith(":ro"):
                yield "may write the private tables"


def kubernetes_problems(objects: list[Document]) -> Iterator[str]:
    """Of the manifests, as `object: what is wrong`."""
    accounts = {one["metadata"]["name"]: one for one in objects if one["kind"] == "ServiceAccount"}
    (namespace,) = (one for one in objects if one["kind"] == "Namespace")
    if namespace["metadata"]["labels"].get("pod-security.kubernetes.io/enforce") != "restricted":
        yield "namespace: lets any pod in"
    for one in objects:
        if one["kind"] == "Secret":
            yield "a Secret stands in the repository"
    for name, pod in pods(objects):
        for problem in _of_pod(name, pod, accounts):
            yield f"{name}: {problem}"


def _of_pod(name: str, pod: Document, accounts: dict[str, Document]) -> Iterator[str]:
    security = pod.get("securityContext", {})
    if security.get("runAsNonRoot") is not True or not security.get("runAsUser"):
        yield "may be root"
    if security.get("seccompProfile") != {"type": "RuntimeDefault"}:
        yield "may make any system call"
    if pod.get("automountServiceAccountToken") is not False:
        yield "has a token"
    if accounts[pod["serviceAccountName"]].get("automountServiceAccountToken") is not False:
        yield "its account has a token"
    if pod.get("enableServiceLinks") is not False:
        yield "is given variables of services"
    if any(pod.get(key) for key in ("hostNetwork", "hostPID", "hostIPC")):
        yield "shares the host"
    for volume in pod.get("volumes", ()):
        if "hostPath" in volume:
            yield "mounts the host"
        claim = volume.get("persistentVolumeClaim", {})
        if claim.get("claimName") == "data":
            if name not in ("worker", "dask-worker"):
                yield "sees the private tables"
            if not claim.get("readOnly"):
                yield "may write the private tables"
    for container in pod["containers"]:
        yield from _of_container(name, container)


def _of_container(name: str, container: Document) -> Iterator[str]:
    security = container.get("securityContext", {})
    if security.get("readOnlyRootFilesystem") is not True:
        yield "its root file system can be written"
    if security.get("capabilities") != {"drop": ["ALL"]}:
        yield "keeps capabilities"
    if security.get("allowPrivilegeEscalation") is not False or security.get("privileged"):
        yield "may gain privileges"
    resources = container.get("resources", {})
    if any({"cpu", "memory"} - resources.get(kind, {}).keys() for kind in ("requests", "limits")):
        yield "has no limits"
    probes = ("startupProbe", "readinessProbe", "livenessProbe")
    if name not in ONCE and any(probe not in container for probe in probes):
        yield "lacks a probe"


Edge = tuple[str, str, int]


def edges(objects: list[Document]) -> tuple[set[Edge], set[Edge]]:
    """Who may speak to whom at which TCP port: as the speakers' policies say, and the hearers'.

    `outside` stands for whatever is not a pod of ours.
    """
    spoken: set[Edge] = set()
    heard: set[Edge] = set()
    for policy in (one for one in objects if one["kind"] == "NetworkPolicy"):
        spec = policy["spec"]
        own = spec["podSelector"].get("matchLabels", {}).get("app", "all")
        for rule in spec.get("egress", ()):
            spoken |= {(own, to, port) for to in _peers(rule["to"]) for port in _ports(rule)}
        for rule in spec.get("ingress", ()):
            heard |= {(who, own, port) for who in _peers(rule["from"]) for port in _ports(rule)}
    return spoken, heard


def closed(objects: list[Document]) -> bool:
    """Whether what no policy allows is forbidden, for all pods and both ways."""
    return any(
        one["kind"] == "NetworkPolicy"
        and one["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
        for one in objects
    )


def _peers(peers: Iterable[dict[str, Any]]) -> Iterator[str]:
    for peer in peers:
        here = "namespaceSelector" not in peer and "ipBlock" not in peer
        yield peer["podSelector"]["matchLabels"]["app"] if here else "outside"


def _ports(rule: dict[str, Any]) -> Iterator[int]:
    for port in rule["ports"]:
        yield port["port"]


def secrets_in_files() -> Iterator[str]:
    """Files below deploy/ in which a secret value seems to stand."""
    for path in DEPLOY.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".py":
            yield from (f"{path.name}: {found}" for found in looks_secret(path.read_text()))


def looks_secret(text: str) -> list[str]:
    """Parts of a text that look like a key, or a password with its place."""
    return [found[0] for found in _SECRET_LOOKS.finditer(text)]
