"""What the command line shows of the ledger: accounts with their balances, and their entries."""

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from rich.table import Column

from flows.screen import line, table

if TYPE_CHECKING:
    from mechanisms.privacy.ledger import AccountState, Entry


def print_accounts(states: "Sequence[AccountState]") -> None:
    """Accounts with their balances."""
    if not states:
        line("No account yet; open one with: hallmark ledger open --help")
        return
    table(
        ("account", Column("unit", overflow="fold"), "cap", "spent", "reserved", "left"),
        (
            (
                state.name,
                f"{state.neighbours}, {state.unit}",
                _amount(state.cap.epsilon, state.cap.delta, ROUND_FLOOR),
                _amount(*state.spent, ROUND_CEILING),
                _amount(*state.reserved, ROUND_CEILING),
                _amount(*state.remaining, ROUND_FLOOR),
            )
            for state in states
        ),
    )


def print_entries(entries: "Sequence[Entry]") -> None:
    """The append-only entries of an account."""
    table(
        ("#", "time", "entry", "release", "hash"),
        (
            (str(entry.seq), entry.at, entry.kind, entry.release or "", f"{entry.hash[:12]}…")
            for entry in entries
        ),
    )


def _amount(epsilon: Fraction, delta: Fraction, rounding: str) -> str:
    """To six digits, so rounded that nobody counts on budget that is not there."""
    six = Context(prec=6, rounding=rounding)
    shown = (six.divide(Decimal(e.numerator), Decimal(e.denominator)) for e in (epsilon, delta))
    return "ε {:g}, δ {:g}".format(*map(float, shown))
