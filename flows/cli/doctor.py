"""`hallmark doctor`: examine an installation, and say what to fix."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from hallmark.flows.cli.options import JsonOption
from hallmark.flows.screen import line, say_json, table

if TYPE_CHECKING:  # libraries are imported where they are used, to keep --help quick
    from hallmark.tasks.doctor import Check, Finding

_SECONDS = 10  # until a scheduler and a first worker must have answered


def doctor(
    as_json: JsonOption = False,
    days: Annotated[
        int, typer.Option("--waiting-days", help="Days that an approval may take.", min=0)
    ] = 7,
) -> None:
    """Examine this installation and say what to fix; exit 1 if anything is wrong."""
    from hallmark.tasks.doctor.machine import home_folder
    from hallmark.tasks.installation.workspace import home_place

    closed = list(home_folder(home_place()))  # before anything opens the folder, and closes it
    from hallmark.flows import quiet

    quiet.configure()
    from hallmark.tasks.doctor import examined

    findings = [*closed, *examined(_checks(days))]
    healthy = all(finding.verdict != "wrong" for finding in findings)
    if as_json:
        plain = {"ok": healthy, "findings": [asdict(finding) for finding in findings]}
        say_json(plain)
    else:
        _print(findings)
    if not healthy:
        raise typer.Exit(1)


def _checks(days: int) -> "dict[str, Check]":
    from hallmark.tasks.doctor import house, machine, server
    from hallmark.tasks.installation.workspace import home_place

    path = home_place()
    return {
        "python": machine.python,
        "packages": machine.packages,
        "disk": partial(machine.disk, path),
        "clock": house.clock,
        "profile": house.profile_read,
        "signing key": house.signing,
        "ledger": house.ledger,
        "server": server.prefect_server,
        "cluster": cluster,
        "desk": server.desk,
        "waiting": partial(house.waiting, days),
        "interrupted": house.interrupted,
        "publishing": house.publishing,
        "published": house.published,
    }


def cluster() -> "Iterator[Finding]":
    """Whether the profile's Dask cluster can serve a release."""
    from distributed import Client

    from hallmark.flows.cluster import ClusterRefused, runner
    from hallmark.tasks.doctor import ok, wrong
    from hallmark.tasks.installation.profile import profile
    from hallmark.tasks.installation.workers import WorkersUnfit, refuse_unfit
    from hallmark.tasks.installation.workspace import Workspace, home, private_folder

    named = profile().cluster
    if named is None or named.local is not None:
        yield ok("cluster", "releases count and generate on this machine")
        return
    try:
        ours = runner(named)
    except ClusterRefused as error:
        yield wrong("cluster", str(error))
        return
    if named.address is None:
        yield ok("cluster", f"{named.class_} is there; each run starts a cluster and checks it")
        return
    try:
        settings = ours.client_kwargs | {"timeout": _SECONDS, "set_as_default": False}
        with Client(named.address, **settings) as client:
            refuse_unfit(client, Workspace(private_folder(home() / "tmp")), seconds=_SECONDS)
            workers = len(client.scheduler_info(n_workers=-1)["workers"])
    except OSError:
        yield wrong(
            "cluster",
            f"no scheduler answers at {named.address} within {_SECONDS} seconds",
            "start it (make up), or fix cluster.address and cluster.tls in the profile",
        )
    except WorkersUnfit as error:
        yield wrong("cluster", str(error))
    else:
        yield ok("cluster", f"{workers} workers at {named.address} run the same Hallmark")


_MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "wrong": ("✗", "bold red")}


def _print(findings: "Sequence[Finding]") -> None:
    from rich.table import Column

    table(
        [Column(no_wrap=True), Column(no_wrap=True), Column(overflow="fold")],
        (
            (
                _MARKS[finding.verdict],
                finding.check,
                [finding.says, *([(f"→ {finding.mend}", "cyan")] if finding.mend else [])],
            )
            for finding in findings
        ),
        plain=True,
    )
    number = {kind: sum(one.verdict == kind for one in findings) for kind in ("wrong", "warn")}
    if number["wrong"]:
        line((f"{number['wrong']} wrong", "bold red"), f", {number['warn']} to look at.")
    elif number["warn"]:
        line((f"Nothing is wrong; {number['warn']} to look at.", "yellow"))
    else:
        line(("All is well.", "green"))
