"""Whether the workers of a cluster can serve a release, asked before any private byte is read.

What is asked of them is read from the standard library, so that a worker without Hallmark, or with
another one, answers too. A worker that joins later is not asked; it comes from the same image.
"""

from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

from distributed import Client

from hallmark.tasks.installation.code import code_digest
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import Workspace

SECONDS = 600  # until a first worker is there: one may have to wait in a queue, or for a machine
_SAME = ("dask", "distributed", "cloudpickle", "numpy", "pandas")


class WorkersUnfit(SafeError):
    """Some worker cannot serve the release; the message says which, and the fix."""


def refuse_unfit(
    client: Client, workspace: Workspace, *, memory: int = 0, seconds: float = SECONDS
) -> None:
    """Refuse a cluster unless every worker runs this Hallmark and shares the workspace.

    Args:
        memory: bytes that making the records is forecast to take; one worker must have as many.
    Raises:
        WorkersUnfit: a worker does not, none has the memory, or there is no worker.
    """
    try:
        client.wait_for_workers(1, timeout=seconds)
    except TimeoutError:
        raise WorkersUnfit(
            f"cluster: no worker came within {seconds:g} seconds; look at the cluster's own log, "
            "and check that it may start one (n_workers among its options, or adapt)"
        ) from None
    _check_versions(client)
    _check_code(client)
    _check_workspace(client, workspace)
    _check_memory(client, memory)


def _check_versions(client: Client) -> None:
    found: Mapping[str, Any] = client.get_versions()
    ours = _versions(found["client"])
    others = {"the scheduler": found["scheduler"]} | {
        f"worker {address}": told for address, told in found["workers"].items()
    }
    for who, told in others.items():
        theirs = _versions(told)
        wrong = [name for name in ours if theirs.get(name) != ours[name]]
        if wrong:
            what = ", ".join(f"{n} {theirs.get(n) or 'missing'}, not {ours[n]}" for n in wrong)
            raise WorkersUnfit(
                f"cluster: {who} has {what}; let it run the image or the environment that the "
                "release runs in (constraints.txt pins the versions)"
            )


def _versions(told: Any) -> dict[str, str | None]:
    """Versions of the packages, and of Python, that a flow and its workers must share."""
    packages = told["packages"] if isinstance(told, Mapping) else {}
    python = str(packages.get("python", "")).split(".")
    known = {name: packages.get(name) for name in _SAME if packages.get(name)}
    return {"python": ".".join(python[:2]) or None, **known}


def _check_code(client: Client) -> None:
    installed = _told(client, version, "hallmark")
    missing = [worker for worker, told in installed.items() if isinstance(told, BaseException)]
    if missing:
        raise WorkersUnfit(
            f"cluster: worker {missing[0]} has no Hallmark ({len(missing)} of {len(installed)} "
            f"workers); install hallmark=={version('hallmark')} where it runs"
        )
    for worker, digest in _told(client, code_digest).items():
        if digest != code_digest():
            raise WorkersUnfit(
                f"cluster: worker {worker} runs another Hallmark ({installed[worker]}) than the "
                f"release ({version('hallmark')}, code {code_digest()[:12]}); install the same, "
                "and restart it"
            )


def _check_workspace(client: Client, workspace: Workspace) -> None:
    token = uuid4().hex
    probe = workspace.path / f"probe-{token}"
    answer = probe.with_suffix(".answer")
    probe.write_text(token)
    try:
        read = _told(client, Path.read_text, probe)
        wrote = _told(client, Path.touch, answer)
    finally:
        for file in (probe, answer):
            file.unlink(missing_ok=True)
    for worker, told in read.items():
        if told != token or isinstance(wrote[worker], BaseException):
            raise WorkersUnfit(
                f"cluster: worker {worker} does not share the workspace {workspace.path}; mount "
                "HALLMARK_HOME of the release there at the same path, for the same user"
            )


def _check_memory(client: Client, needed: int) -> None:
    there = [told for told in _told(client, _memory).values() if isinstance(told, int)]
    if there and needed > max(there):
        raise WorkersUnfit(
            f"mechanism: making the records takes about {needed / 2**30:,.1f} GiB at the peak, and "
            f"no worker has more than {max(there) / 2**30:,.1f} GiB; lower what takes it (of the "
            "mechanism particles, rows, classes or marginals; `hallmark plan` shows the peak), or "
            "run where there is more"
        )


def _memory() -> int:
    """Memory of the machine that its limits allow this process to use, bytes."""
    from distributed.system import memory_limit

    return int(memory_limit())


def _told(client: Client, ask: Callable[..., Any], *args: Any) -> dict[str, Any]:
    """What each worker answers; an exception where it cannot."""
    return client.run(ask, *args, on_error="return")
