"""What the compose file and the Kubernetes manifests say, read as the tools read them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = DEPLOY / "compose.yaml"
KUBERNETES = DEPLOY / "kubernetes"
LOADER = yaml.CSafeLoader  # ten times as fast as the one in Python, and as safe
CREATE_SECRET = re.compile(r"^ *kubectl create secret generic (\S+) (.*)$", re.MULTILINE)

Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Process:
    """A container, by whichever engine it is started.

    Attributes:
        environment: public settings.
        secrets: names of the variables that it is given as files, and of its other secret files.
    """

    name: str
    image: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    secrets: frozenset[str] = frozenset()


def compose() -> Document:
    """The compose file with its variables filled in as an operator would."""
    return filled_in(COMPOSE.read_text())


def filled_in(text: str) -> Document:
    """A compose file with the default of each variable, or a word in its place."""
    return yaml.load(
        re.sub(
            r"\$\{(\w+)(?::?([-?])([^}]*))?\}",
            lambda found: found[3] if found[2] == "-" else f"/given/{found[1].lower()}",
            text,
        ),
        LOADER,
    )


def manifests() -> list[Document]:
    """All objects that the kustomization names, in their order."""
    listed = yaml.load((KUBERNETES / "kustomization.yaml").read_text(), LOADER)["resources"]
    return [
        document
        for name in listed
        for document in yaml.load_all((KUBERNETES / name).read_text(), LOADER)
    ]


def compose_processes(stack: Document) -> list[Process]:
    """Its services."""
    return [
        Process(
            name=name,
            image=service["image"],
            command=tuple(service.get("command", ())),
            environment={key: str(value) for key, value in service.get("environment", {}).items()},
            secrets=frozenset(
                secret if isinstance(secret, str) else secret["source"]
                for secret in service.get("secrets", ())
            ),
        )
        for name, service in stack["services"].items()
    ]


def kubernetes_processes(objects: list[Document]) -> list[Process]:
    """Its containers, with the secrets that the README tells to create."""
    settings = {
        found["metadata"]["name"]: found["data"]
        for found in objects
        if found["kind"] == "ConfigMap"
    }
    keys = secret_keys((DEPLOY / "README.md").read_text())
    found = []
    for name, pod in pods(objects):
        for container in pod["containers"]:
            environment: dict[str, str] = {}
            for source in container.get("envFrom", ()):
                environment |= settings[source["configMapRef"]["name"]]
            for one in container.get("env", ()):
                environment[one["name"]] = one["value"]
            found.append(
                Process(
                    name=name,
                    image=container["image"],
                    command=tuple(container.get("args", ())),
                    environment=environment,
                    secrets=frozenset().union(*(keys[one] for one in secrets_of(pod))),
                )
            )
    return found


def pods(objects: list[Document]) -> Iterator[tuple[str, Document]]:
    """Name and specification of every kind of pod."""
    for one in objects:
        if one["kind"] in ("Deployment", "StatefulSet", "Job"):
            yield one["metadata"]["name"], one["spec"]["template"]["spec"]


def secrets_of(pod: Document) -> list[str]:
    """The Secrets that a pod mounts; an optional one holds the agency's own credentials."""
    names = []
    for volume in pod.get("volumes", ()):
        if "secret" in volume:
            names.append(volume["secret"]["secretName"])
        for source in volume.get("projected", {}).get("sources", ()):
            names.append(source["secret"]["name"])
    return names


def secret_keys(readme: str) -> dict[str, frozenset[str]]:
    """What each Secret holds, as the README tells to create it."""
    keys = {}
    for name, how in CREATE_SECRET.findall(readme):
        files = re.findall(r"--from-file=(?:\S+=)?(\S+)", how)
        keys[name] = frozenset(
            f"dask-{part}" if file == "secrets/tls" else Path(file).name
            for file in files
            for part in (("ca", "cert", "key") if file == "secrets/tls" else ("",))
        )
    return keys
