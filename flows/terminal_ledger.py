"""What the command line shows of the ledger: accounts with their balances, and their entries."""

from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from rich.table import Column

from flows.screen import line, table

if TYPE_CHECKING:
    from mechanisms.privacy.ledger import AccountState
    from mechanisms.privacy.ledger_history import Step


def print_accounts(states: "Sequence[AccountState]") -> None:
    """Accounts with their balances."""
    if not states:
        line("No account yet; open one with: hallmark ledger open --help")
        return
    table(
        (
            "account",
            Column("unit", overflow="fold"),
            "cap",
            "spent",
            "reserved",
            "composed",
            "left",
        ),
        (
            (
                state.name,
                f"{state.neighbours}, {state.unit}",
                _cap(state),
                _amount(*state.spent, ROUND_CEILING),
                _amount(*state.reserved, ROUND_CEILING),
                _composed(state),
                _left(state),
            )
            for state in states
        ),
    )


def print_history(steps: "Iterable[Step]") -> None:
    """The append-only entries of an account, each with what was left after it."""
    table(
        ("#", "time (UTC)", "entry", "release", "budget", "composed", "left", "reason", "hash"),
        (
            (
                str(step.entry.seq),
                step.entry.at[:19].replace("T", " "),
                step.entry.kind,
                step.entry.release or "",
                "" if step.budget is None else _moved(step),
                _composed(step.state),
                _left(step.state),
                step.reason,
                f"{step.entry.hash[:12]}…",
            )
            for step in steps
        ),
    )


def _moved(step: "Step") -> str:
    assert step.budget is not None, "the entry moves budget"
    amount = _amount(step.budget.epsilon, step.budget.delta, ROUND_CEILING)
    return f"back: {amount}" if step.entry.kind == "cancel" else amount


def _cap(state: "AccountState") -> str:
    cap = _amount(state.cap.epsilon, state.cap.delta, ROUND_FLOOR)
    return cap if state.rho_cap is None else f"ρ {float(state.rho_cap):g}: {cap}"


def _composed(state: "AccountState") -> str:
    """What all releases so far come to together, beside the sums of their budgets."""
    if state.composed is None or state.composition == "sum":
        return "sums"
    return f"ε {state.composed:.4g} by zCDP"


def _left(state: "AccountState") -> str:
    left = _amount(*state.remaining, ROUND_FLOOR)
    return left if state.composition == "sum" else f"about {left}"


def _amount(epsilon: Fraction, delta: Fraction, rounding: str) -> str:
    """To six digits, so rounded that nobody counts on budget that is not there."""
    six = Context(prec=6, rounding=rounding)
    shown = (six.divide(Decimal(e.numerator), Decimal(e.denominator)) for e in (epsilon, delta))
    return "ε {:g}, δ {:g}".format(*map(float, shown))
