"""`hallmark ledger`: the accounts of privacy budget, their caps, charges and balances."""

import getpass
import json
import re
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli_anchors import AccountArgument, anchor, restored, verify
from flows.cli_options import JsonOption
from flows.screen import say, say_json
from mechanisms.privacy.adjacency import Adjacency, Neighbours
from mechanisms.privacy.budget import Budget
from tasks.workspace import ledger_url

if TYPE_CHECKING:  # the database is imported where it is used, to keep --help quick
    from mechanisms.privacy.ledger import AccountState, Ledger

ledger_app = typer.Typer(
    help="Privacy budget: accounts, caps, charges and balances.", no_args_is_help=True
)

EpsilonOption = Annotated[str, typer.Option("--epsilon", help="Such as 2, 0.5 or 1/3; exact.")]
DeltaOption = Annotated[str, typer.Option("--delta", help="Such as 1e-5; exact.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why, and who decided it.")]


@ledger_app.command("open")
def open_account(
    account: AccountArgument,
    epsilon: EpsilonOption,
    reason: ReasonOption,
    delta: DeltaOption = "0",
    neighbours: Annotated[
        Neighbours, typer.Option(help="Neighbouring relation of all releases on the account.")
    ] = Neighbours.REPLACE_ONE,
    max_records: Annotated[
        int, typer.Option(min=1, help="Records of one person; 1 where a record is the unit.")
    ] = 1,
    person: Annotated[
        str | None,
        typer.Option(help="What identifies a person, as in privacy.unit; none: a record."),
    ] = None,
    if_missing: Annotated[
        bool, typer.Option("--if-missing", help="Do nothing if the account exists.")
    ] = False,
) -> None:
    """Open an account with a cap that its releases together never pass."""
    from schemas.section import IDENTIFIER

    if not re.fullmatch(IDENTIFIER, account):
        raise typer.BadParameter(
            f"{account!r} is no name that a spec can give as population.account; use small "
            "letters, digits and dashes between them"
        )
    ledger = _held(account)
    if if_missing and ledger.has_account(account):
        return
    ledger.open_account(
        account,
        cap=_budget(epsilon, delta),
        adjacency=Adjacency(neighbours=neighbours, records=max_records, person=person),
        by=getpass.getuser(),
        reason=reason,
    )
    show(account)


@ledger_app.command("cap")
def set_cap(
    account: AccountArgument,
    epsilon: EpsilonOption,
    reason: ReasonOption,
    delta: Annotated[
        str | None, typer.Option("--delta", help="Such as 1e-5; exact. Default: as it is.")
    ] = None,
) -> None:
    """Change the cap of an account; never below what is spent or reserved."""
    ledger = _held(account)
    kept = str(ledger.account(account).cap.delta) if delta is None else delta
    ledger.set_cap(account, _budget(epsilon, kept), by=getpass.getuser(), reason=reason)
    show(account)


@ledger_app.command("list")
def list_accounts(
    as_json: JsonOption = False,
) -> None:
    """List all accounts with cap, spent, reserved and remaining budget."""
    from flows.terminal_ledger import print_accounts

    states = _ledger().accounts()
    if as_json:
        say_json([_plain(state) for state in states])
    else:
        print_accounts(states)


@ledger_app.command("show")
def show(account: AccountArgument) -> None:
    """Show an account with all its entries, and what was left after each."""
    from flows.terminal_ledger import print_accounts, print_history
    from mechanisms.privacy.ledger_history import history

    ledger = _ledger()
    print_accounts([ledger.account(account)])
    print_history(history(account, ledger.entries(account)))


@ledger_app.command("cancel")
def cancel(
    release: Annotated[str, typer.Argument(help="Name of the release.", metavar="RELEASE")],
    reason: ReasonOption,
) -> None:
    """Give back the reservation of a release that never drew anything."""
    _ledger().cancel(release, by=getpass.getuser(), reason=reason)
    say(f"The reservation of {release} was given back.")


for command in (verify, anchor, restored):
    ledger_app.command()(command)


def _ledger() -> "Ledger":
    from tasks.anchors import open_ledger

    return open_ledger(ledger_url())


def _held(account: str) -> "Ledger":
    """The ledger, where it holds all that is known of the account; else nothing is entered."""
    from tasks.rollback import refuse_rolled_back

    ledger = _ledger()
    refuse_rolled_back(ledger, account)
    return ledger


def _budget(epsilon: str, delta: str) -> Budget:
    try:
        return Budget(epsilon=_exact(epsilon), delta=_exact(delta))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _exact(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{text!r} is no number; write it like 2, 0.5, 1/3 or 1e-5") from None


def _plain(state: "AccountState") -> dict[str, object]:
    # Exact rationals as texts such as 1/3, which no float would carry.
    plain: dict[str, object] = json.loads(json.dumps(asdict(state), default=str))
    return plain
