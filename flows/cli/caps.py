"""How the command line is told the cap of an account."""

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer

from hallmark.mechanisms.privacy.budget import Budget

if TYPE_CHECKING:  # the database is imported where it is used, to keep --help quick
    from hallmark.mechanisms.privacy.ledger.ledger import AccountState

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


def changed_cap(
    state: "AccountState", epsilon: str | None, rho: str | None, delta: str | None
) -> tuple[Budget, Fraction | None]:
    """Another cap of an account, which keeps its delta unless one is given."""
    return cap_of(epsilon, rho, str(state.cap.delta) if delta is None else delta)


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
