"""Reserve the budget of a release before private data are read; give it back if unused."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from prefect import task

from hallmark.mechanisms.privacy.costs import cost
from hallmark.mechanisms.privacy.ledger.ledger import Allowance, Ledger, LedgerError
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.ledger.accounts import refuse_without_account
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.planning.prepared import Prepared

RELEASE_FLOW = "release flow"
"""Who gives back a budget that a run did not use, in the ledger."""


class AlreadyStarted(SafeError):
    """A release of this name was started before, and the operator did not ask to resume it."""


class PanelUnpaid(SafeError):
    """The account does not pay for a release about two periods."""


@task(name="reserve")
def reserve(
    prepared: Prepared,
    ledger: str,
    out: Path,
    *,
    resume: bool,
    allowance: Allowance | None = None,
    finished: bool = False,
) -> bool:
    """Reserve the whole budget of the plan; two releases that would together overspend cannot both.

    Args:
        out: folder of published releases, which tell what the ledger must hold.
        allowance: what the release counts against beside the account's cap.
        finished: it is staged, and its draws are charged; they may have been entered again, as
            what it proves to have spent.
    Returns:
        Whether the reservation is new; else an earlier run made it, which may still be under way.
    Raises:
        AlreadyStarted: the release has a reservation, and `resume` is false or it is the
            certificate of another file.
        PanelUnpaid: it is about two periods, and the account counts each by itself.
        LedgerRolledBack: the ledger lacks entries that were anchored or published.
        LedgerError: no such account, too little budget left, or a release of that name asked
            something else of the data.
    """
    book, spec = open_ledger(ledger), prepared.spec
    account = spec.population.account
    refuse_without_account(spec, book, out)
    _refuse_shared_periods(spec, book)
    existing, binding = book.reservation(spec.release), prepared.binding
    started = None if existing is None or existing.state == "cancelled" else existing
    if started is not None and prepared.given is not None and started.binding != binding:
        raise AlreadyStarted(
            f"certificate {spec.release!r} was started for another file than "
            f"{prepared.given.path.name}, or its questions have changed since, and a certificate "
            "is of one file. Name the file and the spec that it was started with, or give the spec "
            "a new release id for another certificate with budget of its own"
        )
    if started is not None and not resume:
        raise AlreadyStarted(
            f"release {spec.release!r} was started before and its budget is {started.state}. "
            "Run with --resume to go on (what was drawn is read back, nothing is charged twice), "
            "or give the spec a new release id for a new release with new budget"
        )
    if finished and started is not None and started.proved:
        return False  # closed: all that is left is to publish it
    book.reserve(
        account,
        spec.release,
        prepared.plan.budget,
        adjacency=prepared.plan.adjacency,
        binding=binding,
        allowance=allowance,
        cost=cost(prepared.plan.events),
        period=prepared.period,
    )
    return started is None


def _refuse_shared_periods(spec: ReleaseSpec, book: Ledger) -> None:
    """Refuse a panel on an account that counts what each period costs by itself.

    What a person was in the period before is asked of this one, so the release is about two
    periods, and would be charged to one. Where a unit may be in all periods, all charges compose.

    Raises:
        PanelUnpaid: it is one.
    """
    if spec.series is None or not spec.series.lagged:
        return
    presence = book.account(spec.population.account).presence
    if presence is not None and not presence.is_everywhere:
        raise PanelUnpaid(
            f"series.panel: account {spec.population.account!r} protects {presence}, and a panel "
            "asks of each period what people were in the one before, so that a period's releases "
            "would tell of people who are paid for in another. Open an account with --series "
            f"{presence.length} alone, which protects a person over all {presence.length}s"
        )


@contextmanager
def reserved(
    prepared: Prepared,
    ledger: str,
    out: Path,
    *,
    resume: bool,
    allowance: Allowance | None = None,
    finished: bool = False,
) -> Iterator[None]:
    """Hold the budget of a release; where the work fails before its first draw, give it back."""
    is_ours = reserve(prepared, ledger, out, resume=resume, allowance=allowance, finished=finished)
    try:
        yield
    except BaseException:
        if is_ours:
            cancel_if_unused(
                prepared.spec.release, ledger, reason="the run ended before its first draw"
            )
        raise


def cancel_if_unused(release: str, ledger: str, reason: str) -> bool:
    """Give the reservation back if nothing was drawn on it; a draw is never refunded.

    If the ledger cannot be reached, the reservation stays, and the run can be resumed.
    """
    with suppress(LedgerError):  # also if another run of the release has drawn at this very moment
        book = open_ledger(ledger)
        reservation = book.reservation(release)
        if reservation is not None and reservation.state == "reserved":
            book.cancel(release, by=RELEASE_FLOW, reason=reason)
            return True
    return False
