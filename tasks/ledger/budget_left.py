"""Report how much budget an account has left: to the log, and to the server's automations."""

import os
from contextlib import suppress

from prefect.events import emit_event

from hallmark.mechanisms.privacy.ledger.ledger import AccountState, LedgerError
from hallmark.tasks.installation.log import tell
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.planning.prepared import Prepared

EVENT = "hallmark.budget"
LEFT = "hallmark.left-percent"
"""Label of the event's resource: the percentage of the cap that is left, rounded down."""


def tell_budget(prepared: Prepared, ledger: str) -> None:
    """Report what is left on the account after the reservation of the release."""
    budget, account = prepared.plan.budget, prepared.spec.population.account
    with suppress(LedgerError):  # nothing depends on it
        state = open_ledger(ledger).account(account)
        tell(
            "reserved",
            account=account,
            epsilon=str(budget.epsilon),
            delta=str(budget.delta),
            left_epsilon=str(state.remaining[0]),
            left_delta=str(state.remaining[1]),
        )
        if os.environ.get("PREFECT_API_URL"):  # automations need a running server
            emit_event(
                EVENT,
                resource={
                    "prefect.resource.id": f"hallmark.account.{account}",
                    "prefect.resource.name": account,
                    LEFT: str(percent_left(state)),
                },
                payload={"release": prepared.spec.release},
            )


def percent_left(state: AccountState) -> int:
    """The percentage of the cap that is left, rounded down, in the account's currency."""
    return int(state.share_left * 100)
