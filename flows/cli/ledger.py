"""`hallmark ledger`: the accounts of privacy budget, their caps, charges and balances."""

import getpass
import json
import re
from dataclasses import asdict
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hallmark.flows.cli.anchors import AccountArgument, anchor, verify
from hallmark.flows.cli.options import JsonOption
from hallmark.flows.screen import say, say_json
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.presence import Presence, rotating
from hallmark.tasks.installation.workspace import ledger_url

if TYPE_CHECKING:  # the database is imported where it is used, to keep --help quick
    from hallmark.mechanisms.privacy.ledger.ledger import AccountState, Ledger

ledger_app = typer.Typer(
    help="Privacy budget: accounts, caps, charges and balances.", no_args_is_help=True
)


class Length(StrEnum):
    """How long the periods of a series are."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


class Composed(StrEnum):
    """How the releases on an account compose."""

    SUM = "sum"
    ZCDP = "zcdp"


EpsilonOption = Annotated[
    str | None, typer.Option("--epsilon", help="An exact number, such as 2, 0.5 or 1/3.")
]
RhoOption = Annotated[
    str | None,
    typer.Option("--rho", help="A cap in zCDP instead of epsilon, such as 0.02; needs --delta."),
]
ChangedDeltaOption = Annotated[
    str | None,
    typer.Option("--delta", help="An exact number, such as 1e-5. Default: unchanged."),
]
DeltaOption = Annotated[str, typer.Option("--delta", help="An exact number, such as 1e-5.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why, and who decided it.")]


@ledger_app.command("open")
def open_account(
    account: AccountArgument,
    reason: ReasonOption,
    epsilon: EpsilonOption = None,
    delta: DeltaOption = "0",
    rho: RhoOption = None,
    neighbours: Annotated[
        Neighbours, typer.Option(help="The neighbouring relation of all releases on the account.")
    ] = Neighbours.REPLACE_ONE,
    max_records: Annotated[
        int, typer.Option(min=1, help="Most records of one person; 1 if the unit is a record.")
    ] = 1,
    person: Annotated[
        str | None,
        typer.Option(
            help="Column that identifies a person, as in privacy.unit; default: unit record."
        ),
    ] = None,
    composition: Annotated[
        Composed | None,
        typer.Option(
            help="How releases compose: zcdp fits many Gaussian releases under one cap, sum adds "
            "up their budgets. Default: zcdp if the cap has a delta."
        ),
    ] = None,
    series: Annotated[
        Length | None,
        typer.Option(
            help="Keep a series: every release is about one day, week, month, quarter or year, and "
            "the cap covers what one unit may have in the periods that the next options admit; "
            "all of them without."
        ),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Of a series: one unit is in so many periods at most; 1 where "
            "records of one period are protected.",
        ),
    ] = None,
    in_a_row: Annotated[
        int | None,
        typer.Option(min=1, help="Of a series: one unit is in so many periods in a row."),
    ] = None,
    rotation: Annotated[
        str | None,
        typer.Option(
            help="Of a series: periods in, out and in again, such as 4-8-4 for four months in "
            "each of two years."
        ),
    ] = None,
    if_missing: Annotated[
        bool, typer.Option("--if-missing", help="Do nothing if the account exists.")
    ] = False,
) -> None:
    """Open an account with a cap that its releases together never exceed."""
    from hallmark.schemas.section import IDENTIFIER

    if not re.fullmatch(IDENTIFIER, account):
        raise typer.BadParameter(
            f"{account!r} cannot be the population.account of a spec; use lowercase letters, "
            "digits and dashes between them"
        )
    ledger = _held(account)
    if if_missing and ledger.has_account(account):
        return
    cap, rho_cap = cap_of(epsilon, rho, delta)
    chosen = composition or (Composed.SUM if cap.is_pure else Composed.ZCDP)
    presence = presence_of(series, most, in_a_row, rotation)
    if presence is not None:
        rho_cap = rho_cap or _in_rho(cap)
    ledger.open_account(
        account,
        cap=cap,
        rho_cap=rho_cap,
        composition=chosen.value,
        presence=presence,
        adjacency=Adjacency(neighbours=neighbours, records=max_records, person=person),
        by=getpass.getuser(),
        reason=reason,
    )
    show(account)


@ledger_app.command("cap")
def set_cap(
    account: AccountArgument,
    reason: ReasonOption,
    epsilon: EpsilonOption = None,
    delta: ChangedDeltaOption = None,
    rho: RhoOption = None,
) -> None:
    """Change the cap of an account; never below what is spent or reserved."""
    ledger = _held(account)
    state = ledger.account(account)
    cap, rho_cap = changed_cap(state, epsilon, rho, delta)
    ledger.set_cap(account, cap, rho_cap=rho_cap, by=getpass.getuser(), reason=reason)
    show(account)


@ledger_app.command("plan")
def plan_series(
    account: AccountArgument,
    reason: ReasonOption,
    first: Annotated[
        str, typer.Option("--from", help="The first period that has a share, such as 2026-01.")
    ],
    periods: Annotated[int, typer.Option(min=1, max=1000, help="How many periods have one.")],
    decay: Annotated[
        float,
        typer.Option(help="Each period has so much of the share (in rho) of the one before."),
    ] = 1.0,
    kept: Annotated[
        float,
        typer.Option(help="Part of the cap that is kept for revisions and other releases."),
    ] = 0.0,
) -> None:
    """Give the periods of a series their shares of the cap, which no other period can take.

    The shares are as large as the cap allows beside what is taken. A new plan takes the place of
    the one before.
    """
    from hallmark.flows.cli.terminal import print_series
    from hallmark.tasks.ledger.series import planned

    ledger = _held(account)
    shares = planned(ledger.account(account), first, periods, decay=decay, kept=kept)
    state = ledger.plan_series(account, shares, by=getpass.getuser(), reason=reason)
    print_series(state)


@ledger_app.command("compose")
def compose(
    account: AccountArgument,
    reason: ReasonOption,
    with_earlier: Annotated[
        bool,
        typer.Option(
            "--with-earlier",
            help="Also compose the releases that have already drawn. With this you state that none "
            "of them was sized after looking at another's answers. They can draw no more, so "
            "finish running releases first.",
        ),
    ] = False,
) -> None:
    """Compose the releases on an account by zCDP from now on, instead of adding up budgets.

    The budgets of earlier releases remain a sum, and the rest of the cap is for later ones.
    """
    ledger = _held(account)
    ledger.compose_by_zcdp(account, with_earlier=with_earlier, by=getpass.getuser(), reason=reason)
    show(account)


@ledger_app.command("list")
def list_accounts(
    as_json: JsonOption = False,
) -> None:
    """List all accounts with cap, spent, reserved and remaining budget."""
    from hallmark.flows.cli.terminal import print_accounts
    from hallmark.tasks.ledger.rollback import why_refused

    ledger = _ledger()
    states = ledger.accounts()
    troubles = {state.name: why_refused(ledger, state.name, whole_chain=True) for state in states}
    if as_json:
        say_json([_plain(state) | {"refused": troubles[state.name]} for state in states])
        return
    print_accounts(states)
    for name in filter(troubles.get, troubles):
        say(f"Warning: nothing can be charged on {name}: {troubles[name]}")


@ledger_app.command("show")
def show(account: AccountArgument) -> None:
    """Show an account with all its entries, and the budget left after each."""
    from hallmark.flows.cli.terminal import print_account, print_history
    from hallmark.mechanisms.privacy.ledger.history import history
    from hallmark.tasks.ledger.rollback import why_refused

    ledger = _ledger()
    print_account(ledger.account(account))
    print_history(history(account, ledger.entries(account)))
    if trouble := why_refused(ledger, account, whole_chain=True):
        say(f"Warning: nothing can be charged on this account: {trouble}")


@ledger_app.command("cancel")
def cancel(
    release: Annotated[str, typer.Argument(help="Name of the release.", metavar="RELEASE")],
    reason: ReasonOption,
) -> None:
    """Give back the reservation of a release that never drew anything."""
    _ledger().cancel(release, by=getpass.getuser(), reason=reason)
    say(f"The reservation of {release} was given back.")


for command in (verify, anchor):
    ledger_app.command()(command)


@ledger_app.command("restored")
def restored(
    account: AccountArgument,
    reason: Annotated[str, typer.Option("--reason", help="What happened, and who decided this.")],
    releases: Annotated[
        list[Path] | None,
        typer.Option("--releases", help="A folder of published releases; repeatable."),
    ] = None,
    epsilon: EpsilonOption = None,
    delta: ChangedDeltaOption = None,
    rho: RhoOption = None,
) -> None:
    """Accept a ledger that was restored from a backup: enter again what published releases prove to
    have spent, and record for good what else it lacks.

    --epsilon or --rho say what the cap was, where it was raised since the backup.
    """
    from hallmark.schemas.documents.manifest import MANIFEST_FILE
    from hallmark.tasks.ledger.anchors import open_ledger
    from hallmark.tasks.ledger.rollback import unanswered_since
    from hallmark.tasks.lost_charges import account_for

    if not reason.strip():
        raise typer.BadParameter("give a reason", param_hint="--reason")
    if not releases and unanswered_since(account):
        raise typer.BadParameter(
            "give the folder of everything that was published since the backup; an empty one, if "
            "there is nothing",
            param_hint="--releases",
        )
    for folder in releases or ():
        if not folder.is_dir() or (folder / MANIFEST_FILE).exists():
            raise typer.BadParameter(
                f"{folder} is no folder that holds release folders", param_hint="--releases"
            )
    book, cap = open_ledger(ledger_url()), None
    if delta is not None and epsilon is None and rho is None:
        raise typer.BadParameter("is of a cap; give --epsilon or --rho, too", param_hint="--delta")
    if epsilon is not None or rho is not None:
        cap = changed_cap(book.account(account), epsilon, rho, delta)
    done = account_for(book, account, releases or (), by=getpass.getuser(), reason=reason, cap=cap)
    for proof in done.entered:
        say(
            f"Entered: {proof.release} spent epsilon {proof.budget.epsilon}, delta "
            f"{proof.budget.delta}, as {proof.folder} proves. Nothing more can be drawn for it."
        )
    if not done.lost:
        known = "has all entries that are known here"
        say(f"{account} {known}; {'nothing else' if done.entered else 'nothing'} was written.")
        return
    say(
        f"Recorded: {account} continues with {done.entries} entries, and {done.lost} known heads "
        "are lost. Releases on this account will say so."
    )
    if not done.entries:
        say(
            "The account is gone. Open it with the cap and the terms that it had (hallmark ledger "
            "open), and run this command again, to enter what its releases prove."
        )
    say(
        "Runs that drew and published nothing left no proof: look for `reserved` in the log, and "
        "lower the cap by their budgets before the next release: "
        f"hallmark ledger cap {account} --epsilon CAP --delta CAP --reason WHY"
    )


def _ledger() -> "Ledger":
    from hallmark.tasks.ledger.anchors import open_ledger

    return open_ledger(ledger_url())


def _held(account: str) -> "Ledger":
    """The ledger, after checking that it has all known entries of the account.

    Raises:
        LedgerRolledBack: entries are missing, so nothing may be entered.
    """
    from hallmark.tasks.ledger.rollback import refuse_rolled_back

    ledger = _ledger()
    refuse_rolled_back(ledger, account)
    return ledger


def _plain(state: "AccountState") -> dict[str, object]:
    # Exact rationals as texts such as 1/3, which no float would carry.
    plain: dict[str, object] = json.loads(json.dumps(asdict(state), default=str))
    return plain


def changed_cap(
    state: "AccountState", epsilon: str | None, rho: str | None, delta: str | None
) -> tuple[Budget, Fraction | None]:
    """Another cap of an account, which keeps its delta unless one is given."""
    cap, rho_cap = cap_of(epsilon, rho, str(state.cap.delta) if delta is None else delta)
    if state.presence is not None and rho_cap is None:
        rho_cap = _in_rho(cap)
    return cap, rho_cap


def presence_of(
    series: Length | None, most: int | None, in_a_row: int | None, rotation: str | None
) -> Presence | None:
    """The periods that one unit may be in, if the account is to keep a series."""
    if series is None:
        if (most, in_a_row, rotation) != (None, None, None):
            raise typer.BadParameter("say how long a period is", param_hint="--series")
        return None
    if in_a_row is not None and rotation is not None:
        raise typer.BadParameter("give one of --in-a-row and --rotation")
    try:
        pattern = None if in_a_row is None else tuple(range(in_a_row))
        if rotation is not None:
            pattern = rotating(rotation)
        return Presence(length=series.value, pattern=pattern, most=most)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _in_rho(cap: Budget) -> Fraction:
    """The cap of a series, whose releases compose in zCDP."""
    from hallmark.tasks.ledger.series import NoPlan, rho_cap_of_series

    try:
        return rho_cap_of_series(cap)
    except NoPlan as error:
        raise typer.BadParameter(str(error), param_hint="--delta") from error


def cap_of(epsilon: str | None, rho: str | None, delta: str) -> tuple[Budget, Fraction | None]:
    """The cap and, if it was given in zCDP, its rho."""
    from hallmark.mechanisms.privacy.account_filter import implied_budget

    try:
        if rho is None and epsilon is not None:
            return Budget(epsilon=_exact(epsilon), delta=_exact(delta)), None
        if rho is None or epsilon is not None:
            raise ValueError("give a cap: either --epsilon, or --rho with --delta")
        exact, least = _exact(rho), _exact(delta)
        if not (exact > 0 and 0 < least < 1):
            raise ValueError("--rho must be positive, and needs a --delta between 0 and 1")
        return implied_budget(exact, least), exact
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _exact(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{text!r} is not a number; write it like 2, 0.5, 1/3 or 1e-5") from None
