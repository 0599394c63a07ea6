"""On which Dask cluster a flow runs: threads of this process, local processes, or an address."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Client
from prefect import Flow
from prefect.context import FlowRunContext
from prefect_dask import DaskTaskRunner

# Status pages of a throw-away cluster listen on this machine alone, on any free port.
_LOOPBACK = {"dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0"}

THREADS = {"n_workers": 1, "processes": False, **_LOOPBACK}
"""A Dask cluster inside this process: it starts at once, and suits tables of some gigabytes."""


def on_cluster(
    flow: Flow[..., Any], *, processes: int, scheduler: str | None
) -> Callable[..., Any]:
    """`flow`, to be run on the cluster asked for.

    Args:
        processes: worker processes of a local cluster; 0 keeps the flow's own, in this process.
        scheduler: address of a standing scheduler, which then decides; its workers must have
            Hallmark installed and share the workspace.
    """
    if scheduler is not None:
        return flow.with_options(task_runner=DaskTaskRunner(address=scheduler))
    if processes > 0:
        # Others on this machine can reach its ports: TLS, with keys made for this cluster alone.
        cluster = {"n_workers": processes, "threads_per_worker": 1, "security": True, **_LOOPBACK}
        return flow.with_options(task_runner=DaskTaskRunner(cluster_kwargs=cluster))
    return flow


@contextmanager
def current_client() -> Iterator[Client]:
    """The Dask client of the flow that is under way, and Dask's current client meanwhile.

    Starts the cluster if need be. Prefect makes no client current: in a process without a worker
    of its own, the stages that count from there would find none.
    """
    context = FlowRunContext.get()
    assert context is not None, "called outside a flow"
    runner = context.task_runner
    assert isinstance(runner, DaskTaskRunner), "a release counts and generates on Dask"
    with runner.client.as_current():
        yield runner.client
