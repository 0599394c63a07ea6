"""Which cluster a flow runs on: every way to say it, and every way to say it wrong."""

from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import LocalCluster, Security
from prefect import flow
from prefect_dask import DaskTaskRunner

from hallmark.flows.cluster import THREADS, ClusterRefused, current_client, on_cluster, runner
from hallmark.schemas.cluster import Cluster
from tests.flows.services import SECONDS

pytestmark = pytest.mark.usefixtures("prefect")
SMALL = "tests.flows.small_cluster.SmallCluster"


def cluster(**fields: Any) -> Cluster:
    return Cluster.model_validate(fields)


@flow(name="look", task_runner=DaskTaskRunner(cluster_kwargs=THREADS))
def look(fields: dict[str, Any] | None, workers: int = 1) -> dict[str, Any]:
    """What a flow finds that wants this cluster."""
    with current_client(cluster(**fields) if fields else None) as client:
        client.wait_for_workers(workers, timeout=SECONDS)
        found = client.scheduler_info(n_workers=-1)
        assert client.submit(sum, (1, 2)).result() == 3
        return {
            "address": client.scheduler.address,
            "threads": sorted(worker["nthreads"] for worker in found["workers"].values()),
            "memory": [worker["memory_limit"] for worker in found["workers"].values()],
        }


QUIET: dict[str, Any] = {"dashboard_address": None, "worker_dashboard_address": "127.0.0.1:0"}


def test_a_flow_runs_on_threads_of_its_own_process_unless_told() -> None:
    found = look(None)
    assert found["address"].startswith("inproc://")


def test_a_local_cluster_has_the_threads_and_the_memory_that_it_is_given() -> None:
    found = look({"local": {"threads": 5, "memory": "123 MiB"}})
    assert found["address"].startswith("inproc://")
    assert (found["threads"], found["memory"]) == ([5], [123 * 2**20])


def test_processes_of_a_local_cluster_talk_by_tls() -> None:
    found = look({"local": {"processes": 2}}, workers=2)
    assert found["address"].startswith("tls://127.0.0.1")
    assert found["threads"] == [1, 1]


def test_an_address_is_connected_to() -> None:
    loopback = {"protocol": "tcp", "host": "127.0.0.1", "processes": False}
    with LocalCluster(n_workers=1, threads_per_worker=3, **loopback, **QUIET) as standing:
        found = look({"address": standing.scheduler_address})
        assert found["address"] == standing.scheduler_address
    assert found["threads"] == [3]


def test_a_flag_wins_over_the_section() -> None:
    flagged = on_cluster(look, processes=1, scheduler=None)
    assert flagged({"local": {"threads": 7}})["threads"] == [1]


def test_a_class_makes_a_cluster_with_its_options() -> None:
    options = {"n_workers": 2, "threads_per_worker": 3, "processes": False, **QUIET}
    assert look({"class": "distributed.LocalCluster", "options": options}, 2)["threads"] == [3, 3]


def test_a_class_of_ones_own_may_scale() -> None:
    fields = {"class": SMALL, "options": {"workers": 0}, "adapt": {"minimum": 2, "maximum": 2}}
    assert look(fields, 2)["threads"] == [1, 1]


def secured(folder: Path) -> tuple[Security, dict[str, str]]:
    """Keys for one cluster, and the files that a spec names."""
    made = Security.temporary()
    files = {
        "ca_file": str(made.tls_ca_file),
        "cert_file": str(made.tls_client_cert),
        "key_file": str(made.tls_client_key),
    }
    for name, pem in files.items():
        (folder / name).write_text(pem)
    return made, {name: str(folder / name) for name in files}


def test_an_address_is_reached_by_tls_with_the_keys_and_not_without(tmp_path: Path) -> None:
    security, files = secured(tmp_path)
    (tmp_path / "other").mkdir()
    _, foreign = secured(tmp_path / "other")
    with LocalCluster(
        n_workers=1, processes=False, protocol="tls", host="127.0.0.1", security=security, **QUIET
    ) as found:
        address = found.scheduler_address
        assert look({"address": address, "tls": files})["address"] == address
        with pytest.raises(ClusterRefused, match="cannot be used"):
            look({"address": address, "tls": foreign})
        with pytest.raises(ClusterRefused, match=r"tls\.key_file: /nowhere: No such file"):
            look({"address": address, "tls": files | {"key_file": "/nowhere"}})


REFUSED = [
    ("dask_kubernetes.operator.KubeCluster", "-m pip install dask-kubernetes"),
    ("distributed.Nothing", "module distributed has no Nothing"),
    ("distributed.Client", "is not a class of Dask clusters"),
    ("os.system", "is not a class of Dask clusters"),
    ("tests.flows.small_cluster.no_cluster", "is not a class of Dask clusters"),
]


@pytest.mark.parametrize(("name", "message"), REFUSED)
def test_what_is_no_class_of_clusters_is_refused_before_it_is_called(
    name: str, message: str
) -> None:
    with pytest.raises(ClusterRefused, match=message):
        runner(cluster(**{"class": name}))


def test_options_that_a_class_does_not_take_are_told() -> None:
    with pytest.raises(ClusterRefused, match=f"{SMALL} cannot be used: TypeError.*surprise"):
        look({"class": SMALL, "options": {"surprise": 1}})


def test_a_scheduler_that_does_not_answer_is_told() -> None:
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(ClusterRefused, match=r"tcp://127\.0\.0\.1:1 cannot be used"),
    ):
        look({"address": "tcp://127.0.0.1:1"})
