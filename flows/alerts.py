"""Alerts as automations of the Prefect server: runs that fail or die, and releases that wait.

The server watches and sends alerts, so they are sent even if the failed process is gone. A message
names flows, runs, releases and accounts; error messages stay on the server and in the log.

Events arrive out of order: a run's last sign of life may come after its end, and then silence
follows for ever. So silence itself raises no alert. It makes the server put the run into a state
that a finished run cannot enter, whatever its events were; that change of state raises the alert.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Any, cast

from prefect.blocks.webhook import Webhook
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.events.actions import (
    ActionTypes,
    CallWebhook,
    ChangeFlowRunState,
    SendNotification,
)
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.exceptions import ObjectNotFound

from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.server_mode import DESK_URL
from hallmark.tasks.ledger.budget_left import EVENT, LEFT

FLOWS = (
    "release", "release-form", "calendar-release", "certify", "audit", "rehearsal", "validation",
    "withdrawal", "go-on",
)  # fmt: skip
WEBHOOK = "hallmark-alerts"
"""The block with the address of the webhook."""
SILENCE = timedelta(minutes=10)
"""Time after which a silent run counts as dead: live processes report every three minutes."""
SILENT = "NoSignOfLife"
"""The state, a kind of Crashed, of a run whose process has not reported."""
_BEGUN = ("Pending", "Running", "heartbeat")
"""Events of a run that has a process, after which more events must follow."""


class AlertsRefused(SafeError):
    """The alerts cannot be set up as asked."""


_OF_OURS: dict[str, str | list[str]] = {
    "prefect.resource.role": "flow",
    "prefect.resource.name": list(FLOWS),
}


@dataclass(frozen=True)
class Alert:
    """What triggers an alert, and what it says."""

    name: str
    trigger: EventTrigger
    says: str  # a template of Prefect's, of words
    facts: dict[str, str]  # for programs: templates, each of one value in JSON


def set_up(*, webhook: str | None, block: str | None, budget_below: Fraction) -> list[str]:
    """Create or change the alerts; returns their names.

    Args:
        webhook: URL to which JSON is sent by POST.
        block: instead, a block of the server as TYPE/NAME: a webhook, or one that notifies people.
        budget_below: share of an account's cap, a whole number of percent.
    Raises:
        AlertsRefused: both or neither is given, there is no such block, or the share is invalid.
    """
    if (webhook is None) == (block is None):
        raise AlertsRefused("give one of --webhook URL and --block TYPE/NAME")
    percent = budget_below * 100
    if percent.denominator != 1 or not 0 < percent <= 100:
        raise AlertsRefused(
            f"--budget-below is {budget_below}; give a whole number of percent of the cap, such "
            "as 1/10"
        )
    if webhook is not None:
        headers = {"Content-Type": "application/json"}
        saved: Any = Webhook(url=webhook, headers=headers)
        saved.save(WEBHOOK, overwrite=True)
        block = f"webhook/{WEBHOOK}"
    assert block is not None, "one of the two was given"
    target, calls = _block(block), block.startswith("webhook/")
    alerts = list(_alerts(int(percent)))
    told = [(one, _call(one, target) if calls else _notify(one, target)) for one in alerts]
    automations = [_automation(one.name, one.trigger, action) for one, action in told]
    with get_client(sync_client=True) as client:
        for wanted in (_silence_noted(), *automations):
            standing = client.read_automations_by_name(wanted.name)
            if standing:
                client.update_automation(standing[0].id, wanted)
            else:
                client.create_automation(wanted)
    return [alert.name for alert in alerts]


def remove() -> list[str]:
    """Remove the alerts and their webhook from the server; returns the names of removed alerts."""
    removed = []
    with get_client(sync_client=True) as client:
        for name in (_silence_noted().name, *(alert.name for alert in _alerts(1))):
            for standing in client.read_automations_by_name(name):
                client.delete_automation(standing.id)
                removed.append(name)
    with suppress(ValueError):  # there is none if the agency named its own block
        cast(Any, Webhook).delete(WEBHOOK)
    return removed


def _alerts(percent: int) -> Iterator[Alert]:
    name = '{{ event.resource["prefect.resource.name"] | tojson }}'
    run = {
        "run": name,
        "flow": "{{ flow.name | tojson }}",
        "url": "{{ flow_run | ui_url | tojson }}",
    }
    ended = run | {"state": '{{ event.resource["prefect.state-name"] | tojson }}'}
    yield Alert(
        "hallmark: a run failed",
        _of_runs("Failed", "Crashed", "TimedOut"),
        "Run {{ flow_run.name }} of {{ flow.name }} {{ flow_run.state.name }}. "
        "Look at it: {{ flow_run | ui_url or flow_run.id }}",
        ended,
    )
    yield Alert(
        "hallmark: a run gives no sign of life",
        _of_runs(SILENT),
        "Run {{ flow_run.name }} of {{ flow.name }} has been silent for some minutes: its process "
        "is gone, or cannot reach the server. "
        "Look at it: {{ flow_run | ui_url or flow_run.id }}",
        ended,
    )
    yield Alert(
        "hallmark: a release waits for an approval",
        _of_runs("AwaitingApproval"),
        "{{ flow_run.state.message }}. " + _desk(),
        run | {"says": '{{ event.resource["prefect.state-message"] | tojson }}'},
    )
    yield Alert(
        "hallmark: a budget runs low",
        EventTrigger(
            expect={EVENT},
            match={LEFT: [str(left) for left in range(percent)]},
            posture=Posture.Reactive,
            threshold=1,
        ),
        'Account {{ event.resource["prefect.resource.name"] }} has less than '
        f"{percent} percent of its budget left.",
        {
            "account": name,
            "left_percent": f'{{{{ event.resource["{LEFT}"] | int | tojson }}}}',
            "release": "{{ event.payload.release | tojson }}",
        },
    )


def _silence_noted() -> AutomationCore:
    """Automation that ends silent runs with a process; the server refuses it for other runs."""
    trigger = EventTrigger(
        after={f"prefect.flow-run.{sign}" for sign in _BEGUN},
        expect={"prefect.flow-run.*"},
        match={"prefect.resource.id": "prefect.flow-run.*"},
        match_related=_OF_OURS,
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=SILENCE,
    )
    message = "The run was silent: its process is gone, or cannot reach the server."
    ended = ChangeFlowRunState(state=StateType.CRASHED, name=SILENT, message=message)
    return _automation("hallmark: note runs that fell silent", trigger, ended)


def _automation(name: str, trigger: EventTrigger, action: ActionTypes) -> AutomationCore:
    return AutomationCore(
        name=name,
        description="Made by `hallmark alerts`; run that again to change it.",
        trigger=trigger,
        actions=[action],
    )


def _of_runs(*states: str) -> EventTrigger:
    """Trigger that fires when a run of one of our flows enters one of these states."""
    return EventTrigger(
        expect={f"prefect.flow-run.{state}" for state in states},
        match_related=_OF_OURS,
        posture=Posture.Reactive,
        threshold=1,
    )


def _call(alert: Alert, block: Any) -> ActionTypes:
    facts = {"alert": f'"{alert.name}"', "event": '"{{ event.id }}"'} | alert.facts
    payload = ", ".join(f'"{name}": {template}' for name, template in facts.items())
    return CallWebhook(block_document_id=block, payload=f"{{{payload}}}")


def _notify(alert: Alert, block: Any) -> ActionTypes:
    return SendNotification(block_document_id=block, subject=alert.name, body=alert.says)


def _block(named: str) -> Any:
    """The id of a block on the server."""
    kind, _, name = named.partition("/")
    with get_client(sync_client=True) as client:
        try:
            return client.read_block_document_by_name(name, kind).id
        except ObjectNotFound:
            raise AlertsRefused(
                f"--block: the server has no block {named}; make one under Blocks in the dashboard "
                "and give it as TYPE/NAME, such as slack-webhook/reviewers"
            ) from None


def _desk() -> str:
    url = os.environ.get(DESK_URL)
    return f"Decide at {url}" if url else "Decide with: hallmark approve"
