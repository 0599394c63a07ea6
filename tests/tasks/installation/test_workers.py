"""Workers that cannot serve a release are refused, each for its own reason; real processes."""

import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

from hallmark.tasks.installation.workers import WorkersUnfit, refuse_unfit
from hallmark.tasks.installation.workspace import Workspace
from tests.flows.services import service

ROOT = Path(__file__).parents[3]
INSTALLED = Path(sysconfig.get_path("purelib"))
ENTRY = "distributed.cli.dask_worker"


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return Workspace.of("test-release")


@pytest.fixture
def client() -> Iterator[Client]:
    """Of a scheduler without workers."""
    with (
        LocalCluster(
            n_workers=0, host="127.0.0.1", protocol="tcp", processes=False, dashboard_address=None
        ) as cluster,
        Client(cluster, set_as_default=False) as found,
    ):
        yield found


@contextmanager
def worker(
    client: Client, folder: Path, within: Sequence[str] = (), **settings: str
) -> Iterator[None]:
    """A worker process of the scheduler, there once it has registered."""
    command = [ENTRY, client.scheduler.address, "--no-dashboard", "--nthreads", "1", "--no-nanny"]
    with service(command, folder / "worker", settings, within):
        client.wait_for_workers(1, timeout=60)
        yield


def without_ours(folder: Path) -> Path:
    """All that is installed, but for Hallmark."""
    folder.mkdir()
    for entry in INSTALLED.iterdir():
        if "hallmark" not in entry.name:
            (folder / entry.name).symlink_to(entry)
    return folder


def test_a_worker_that_runs_the_same_and_shares_the_workspace_is_fit(
    client: Client, workspace: Workspace, tmp_path: Path
) -> None:
    with worker(client, tmp_path):
        refuse_unfit(client, workspace, memory=1)
        with pytest.raises(WorkersUnfit, match=r"about 1,024\.0 GiB at the peak"):
            refuse_unfit(client, workspace, memory=2**40)
    assert not list(workspace.path.glob("probe*"))


def test_a_cluster_without_workers_is_refused(client: Client, workspace: Workspace) -> None:
    with pytest.raises(WorkersUnfit, match=r"no worker came within 0\.1 seconds"):
        refuse_unfit(client, workspace, seconds=0.1)


def test_a_worker_with_another_version_of_a_package_is_refused(
    client: Client, workspace: Workspace, tmp_path: Path
) -> None:
    older = tmp_path / "older" / "pandas-0.1.dist-info"
    older.mkdir(parents=True)
    (older / "METADATA").write_text("Metadata-Version: 2.1\nName: pandas\nVersion: 0.1\n")
    with (
        worker(client, tmp_path, PYTHONPATH=str(older.parent)),
        pytest.raises(WorkersUnfit, match=r"worker tcp://.* has pandas 0\.1, not \d"),
    ):
        refuse_unfit(client, workspace)


def test_a_worker_with_other_code_of_hallmark_is_refused(
    client: Client, workspace: Workspace, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "hallmark", tmp_path / "other" / "hallmark")
    (tmp_path / "other/hallmark/tasks/installation/errors.py").open("a").write("# changed\n")
    with (
        worker(client, tmp_path, PYTHONPATH=str(tmp_path / "other")),
        pytest.raises(WorkersUnfit, match=r"runs another Hallmark \("),
    ):
        refuse_unfit(client, workspace)


def test_a_worker_without_hallmark_is_refused(
    client: Client, workspace: Workspace, tmp_path: Path
) -> None:
    path = without_ours(tmp_path / "packages")
    bare = ["env", f"PYTHONPATH={path}", "PYTHONNOUSERSITE=1"]
    with (
        worker(client, tmp_path, [*bare, *_NO_SITE]),
        pytest.raises(
            WorkersUnfit, match=r"has no Hallmark \(1 of 1 workers\); install hallmark=="
        ),
    ):
        refuse_unfit(client, workspace)


# Starts Python anew without its own packages: `service` runs `<within> python -m module ...`.
_NO_SITE = ["sh", "-c", 'python=$1; shift; exec "$python" -S "$@"', "sh"]


def test_a_worker_that_does_not_share_the_workspace_is_refused(
    client: Client, workspace: Workspace, tmp_path: Path
) -> None:
    elsewhere = f'mount -t tmpfs tmpfs "{workspace.path}" && exec "$@"'
    own_mounts = ["unshare", "--mount", "sh", "-c", elsewhere, "sh"]
    if subprocess.run([*own_mounts, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a file system of its own")
    with (
        worker(client, tmp_path, own_mounts),
        pytest.raises(WorkersUnfit, match="does not share the workspace"),
    ):
        refuse_unfit(client, workspace)
    assert not list(workspace.path.glob("probe*"))
