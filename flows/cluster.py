"""The Dask cluster that a flow runs on: threads of this process, local processes, or elsewhere.

Command-line flags take precedence over the spec, and the spec over the profile.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import dask
from distributed import Client, Security
from distributed.deploy import Cluster as DaskCluster
from prefect import Flow
from prefect.context import FlowRunContext
from prefect_dask import DaskTaskRunner

from hallmark.schemas.cluster import Cluster, LocalCluster
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.losses import losses_told

# Dask samples what its threads do. In Python 3.11 that can wait for ever for the garbage collector,
# with the whole process (python/cpython#106883), and nobody here looks at the profiles.
dask.config.set({"distributed.worker.profile.enabled": False})

# What stages pass on are plans, noisy tables and fits, of up to some hundred megabytes; Dask would
# warn whoever runs a release of wide tables, who can do nothing about it.
dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GB"})

# Status pages of a temporary cluster listen only on this machine, on any free port.
_LOOPBACK = {"dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0"}

THREADS = {"n_workers": 1, "processes": False, **_LOOPBACK}
"""A Dask cluster inside this process: it starts at once, and suits tables of a few gigabytes."""


class ClusterRefused(SafeError):
    """The cluster that a spec, a profile or a flag names cannot be used."""


def on_cluster(
    flow: Flow[..., Any], *, processes: int, scheduler: str | None
) -> Callable[..., Any]:
    """The flow with a task runner for the cluster that the flags ask for.

    Args:
        processes: worker processes of a local cluster; 0 leaves it to the spec and the profile.
        scheduler: address of a running scheduler, which takes precedence; its workers must have
            Hallmark installed and share the workspace.
    """
    if scheduler is not None:
        return flow.with_options(task_runner=DaskTaskRunner(address=scheduler))
    if processes > 0:
        return flow.with_options(
            task_runner=runner(Cluster(local=LocalCluster(processes=processes)))
        )
    return flow


def runner(cluster: Cluster | None) -> DaskTaskRunner:
    """A task runner for the cluster; without one, threads of this process.

    Raises:
        ClusterRefused: its class cannot be imported or is not a cluster, or a key is unreadable.
    """
    if cluster is None:
        return DaskTaskRunner(cluster_kwargs=THREADS)
    if cluster.local is not None:
        return DaskTaskRunner(cluster_kwargs=_local(cluster.local))
    if cluster.address is not None:
        client = {"security": _security(cluster)} if cluster.tls is not None else {}
        return DaskTaskRunner(address=cluster.address, client_kwargs=client)
    assert cluster.class_ is not None, "the section was checked"
    return DaskTaskRunner(
        cluster_class=_cluster_class(cluster.class_),
        cluster_kwargs=dict(cluster.options),
        adapt_kwargs=None if cluster.adapt is None else cluster.adapt.model_dump(),
    )


@contextmanager
def current_client(cluster: Cluster | None = None) -> Iterator[Client]:
    """The Dask client of the running flow, which is also Dask's current client in the context.

    Starts the cluster if necessary: `cluster`, unless a flag put the flow on another one. Prefect
    does not make its client current, so stages that count from a process without a worker would
    find none.

    Raises:
        ClusterRefused: the cluster does not start, or does not answer.
        ClusterLost: its workers died repeatedly, or its scheduler died.
    """
    context = FlowRunContext.get()
    assert context is not None, "called outside a flow"
    ours = context.task_runner
    assert isinstance(ours, DaskTaskRunner), "a release counts and generates on Dask"
    if cluster is not None and ours == runner(None):
        _become(ours, runner(cluster))
    try:
        client = ours.client
    except Exception as error:  # every kind of cluster has its own exceptions
        where = ours.address or (cluster.class_ if cluster else None) or "on this machine"
        raise ClusterRefused(
            f"cluster: {where} cannot be used: {type(error).__name__}: {error}; check its section "
            "in the spec or the profile, and that it is running"
        ) from error
    with client.as_current(), losses_told():
        yield client


def _become(ours: DaskTaskRunner, wanted: DaskTaskRunner) -> None:
    """Give a runner that has no client yet the settings of another runner.

    Prefect needs the runner when a flow starts, but the flow knows its cluster only after it has
    read its spec.
    """
    for setting in (
        "address",
        "cluster_class",
        "resolved_cluster_class",
        "cluster_kwargs",
        "adapt_kwargs",
        "client_kwargs",
    ):
        setattr(ours, setting, getattr(wanted, setting))


def _local(cluster: LocalCluster) -> dict[str, Any]:
    processes = cluster.processes > 0
    settings: dict[str, Any] = THREADS | {"n_workers": max(1, cluster.processes)}
    if processes:
        # Others on this machine can reach its ports: TLS, with keys made only for this cluster.
        settings |= {"processes": True, "threads_per_worker": 1, "security": True}
    if cluster.threads is not None:
        settings["threads_per_worker"] = cluster.threads
    if cluster.memory is not None:
        settings["memory_limit"] = cluster.memory.replace(" ", "")
    return settings


def _security(cluster: Cluster) -> Security:
    assert cluster.tls is not None, "called for TLS"
    files = cluster.tls
    for key, path in files.model_dump().items():
        try:
            with open(path, "rb"):
                pass
        except OSError as error:
            raise ClusterRefused(f"cluster.tls.{key}: {path}: {error.strerror}") from error
    return Security(
        require_encryption=True,
        tls_ca_file=files.ca_file,
        tls_client_cert=files.cert_file,
        tls_client_key=files.key_file,
    )


def _cluster_class(name: str) -> type[DaskCluster]:
    """The class of Dask clusters with this dotted name; any other object is refused."""
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(import_module(module), attribute)
    except ImportError as error:
        package = name.partition(".")[0].replace("_", "-")
        raise ClusterRefused(
            f"cluster.class: {name} cannot be imported ({error}); install its package, probably "
            f"with: {sys.executable} -m pip install {package}"
        ) from error
    except AttributeError as error:
        raise ClusterRefused(
            f"cluster.class: module {module} has no {attribute}; correct the name"
        ) from error
    if not (isinstance(found, type) and issubclass(found, DaskCluster)):
        raise ClusterRefused(f"cluster.class: {name} is not a class of Dask clusters; give one")
    return found
