"""On which Dask cluster a flow runs: threads of this process, local processes, or an address."""

from collections.abc import Callable
from typing import Any

from prefect import Flow
from prefect_dask import DaskTaskRunner


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
        cluster = {"n_workers": processes, "threads_per_worker": 1, "dashboard_address": None}
        return flow.with_options(task_runner=DaskTaskRunner(cluster_kwargs=cluster))
    return flow
