"""Withdraw a published release as somebody ordered at the desk, which has no key to sign with."""

from typing import Any

from prefect import State, Task, flow, task
from prefect.client.schemas.objects import TaskRun

from hallmark.tasks.installation.priority import run_yields
from hallmark.tasks.installation.workspace import AlreadyRunning
from hallmark.tasks.ordered_withdrawals import withdraw_as_ordered


@flow(name="withdrawal")
def withdrawal(release: str, order: str) -> str:
    """Give the signed notice that a release is withdrawn; returns its file.

    Args:
        release: its name.
        order: number of the order that somebody gave at the desk; it has the reason.
    """
    run_yields()
    return _withdraw(release, order)


async def _is_held(_task: Task[Any, Any], _run: TaskRun, state: State[Any]) -> bool:
    """Whether it failed since another run of the release is under way, which ends."""
    return isinstance(await state.aresult(raise_on_failure=False), AlreadyRunning)


@task(name="withdraw", retries=3, retry_delay_seconds=[5, 30, 120], retry_condition_fn=_is_held)
def _withdraw(release: str, order: str) -> str:
    return str(withdraw_as_ordered(release, order))
