"""The balance of a release's account, reported before anything is started."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_FLOOR
from pathlib import Path

from hallmark.mechanisms.privacy.costs import cost
from hallmark.mechanisms.privacy.ledger.ledger import Ledger, LedgerError
from hallmark.mechanisms.privacy.ledger.terms import Pair
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.installation.workspace import ledger_url, no_ledger_yet
from hallmark.tasks.ledger.anchors import AnchorsDamaged, open_ledger
from hallmark.tasks.ledger.rollback import refuse_rolled_back
from hallmark.tasks.ledger.words import six_digits
from hallmark.tasks.planning.prepared import Prepared


@dataclass(frozen=True)
class Balance:
    """The budget left on an account.

    Attributes:
        left: epsilon and delta that can still be reserved; None if there is no such account.
        about: whether the amount depends on the release's noise.
        refusal: why `hallmark release` would not get its budget now; empty if it would.
        problem: why the ledger could not be read; empty if it could.
    """

    left: Pair | None
    about: bool = False
    refusal: str = ""
    problem: str = ""

    @property
    def words(self) -> str:
        """The budget left, rounded down; empty if unknown."""
        if self.left is None:
            return ""
        epsilon, delta = (six_digits(value, ROUND_FLOOR) for value in self.left)
        return f"{'about ' * self.about}epsilon {epsilon}, delta {delta}"


def balance(prepared: Prepared) -> Balance:
    """The balance of the account that the spec names; never creates a ledger."""
    spec, account = prepared.spec, prepared.spec.population.account
    if no_ledger_yet():
        return Balance(None)
    try:
        book = open_ledger(ledger_url())
        if not book.has_account(account):
            return Balance(None)
        standing = book.reservation(spec.release)
        state = book.account(account)
    except LedgerError as error:
        return Balance(None, problem=str(error))
    is_reserved = standing is not None and standing.state != "cancelled"
    return Balance(
        state.remaining,
        about=state.composition != "sum",
        refusal="" if is_reserved else _refusal(book, prepared),
    )


def _refusal(book: Ledger, prepared: Prepared) -> str:
    plan, spec = prepared.plan, prepared.spec
    try:
        refuse_rolled_back(book, spec.population.account)
        book.refuse_new(
            spec.population.account,
            spec.release,
            plan.budget,
            adjacency=plan.adjacency,
            cost=cost(plan.events),
            period=prepared.period,
        )
    except (LedgerError, AnchorsDamaged) as error:
        return str(error)
    return ""


def about_balance(spec: ReleaseSpec, found: Balance) -> Iterator[str]:
    """A warning if `hallmark release` would not get its budget."""
    if found.problem:
        yield f"population.account: its balance is unknown; {found.problem}"
    elif found.left is None:
        yield no_account(spec)
    elif found.refusal:
        yield f"population.account: no budget would be reserved for this release: {found.refusal}"


def refuse_without_account(spec: ReleaseSpec, book: Ledger, out: Path | None) -> None:
    """Refuse a ledger without the account that the spec names, whole and unchanged.

    Args:
        out: folder of published releases, if known, which show what the ledger must contain.
    Raises:
        LedgerRolledBack: it lacks entries that were anchored or published.
        LedgerError: it has no such account; the account does not verify; or it cannot be read.
    """
    account = spec.population.account
    refuse_rolled_back(book, account, out)
    if not book.has_account(account):
        raise LedgerError(no_account(spec))
    book.verify(account)


def no_account(spec: ReleaseSpec) -> str:
    """A message that the account does not exist, with the command that opens it."""
    account, privacy = spec.population.account, spec.privacy
    person = "" if privacy.person is None else f"--person {privacy.person} "
    return (
        f"population.account: the ledger has no account {account!r}; correct the name, or let "
        "whoever is responsible for these people's budget open it, on the page Accounts of the "
        "desk or by: hallmark ledger open "
        f"{account} --epsilon CAP --delta CAP --neighbours {privacy.neighbours} "
        f"--max-records {privacy.max_records} {person}--reason WHY"
    )
