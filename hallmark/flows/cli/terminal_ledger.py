"""How the command line shows the ledger: accounts with their balances, and their entries."""

from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from hallmark.flows.screen import line, table

if TYPE_CHECKING:
    from hallmark.flows.screen import Cell
    from hallmark.mechanisms.privacy.ledger.history import Step
    from hallmark.mechanisms.privacy.ledger.ledger import AccountState


def print_accounts(states: "Sequence[AccountState]") -> None:
    """Print accounts with their balances."""
    if not states:
        line("There are no accounts yet; see: hallmark ledger open --help")
        return
    table(
        ("account", "cap", "spent", "reserved", "left"),
        (
            (
                [state.name, _unit(state)],
                _cap(state),
                _spent(state),
                _amount(*state.reserved, ROUND_CEILING),
                _left(state),
            )
            for state in states
        ),
    )


def print_account(state: "AccountState") -> None:
    """Print one account: its terms and its balance."""
    line(("account    ", "bold"), f"{state.name}; {_unit(state)}")
    line(("cap        ", "bold"), _cap(state))
    composed = "" if state.composition == "sum" else ", budgets added up"
    line(("spent      ", "bold"), _amount(*state.spent, ROUND_CEILING), composed)
    line(("reserved   ", "bold"), _amount(*state.reserved, ROUND_CEILING), composed)
    if state.composition == "zcdp":
        line(("together   ", "bold"), _composed(state))
    line(("left       ", "bold"), _left(state))


def print_history(steps: "Iterable[Step]") -> None:
    """Print the append-only entries of an account, each with the budget left after it."""
    table(
        ("#", "time (UTC)", "entry", "release, reason, hash", "budget", "left after it"),
        (
            (
                str(step.entry.seq),
                step.entry.at[:16].replace("T", " "),
                step.entry.kind,
                [text for text in (step.entry.release, step.reason) if text]
                + [(f"{step.entry.hash[:12]}…", "dim")],
                "" if step.budget is None else _moved(step),
                _left(step.state),
            )
            for step in steps
        ),
        plain=True,
    )


def _moved(step: "Step") -> str:
    assert step.budget is not None, "the entry moves budget"
    amount = _amount(step.budget.epsilon, step.budget.delta, ROUND_CEILING)
    return f"back: {amount}" if step.entry.kind == "cancel" else amount


def _unit(state: "AccountState") -> str:
    return f"{state.neighbours}, {state.unit}"


def _cap(state: "AccountState") -> str:
    cap = _amount(state.cap.epsilon, state.cap.delta, ROUND_FLOOR)
    if state.composition == "sum":
        return cap
    return f"{cap}, by zCDP" if state.rho_cap is None else f"ρ {float(state.rho_cap):g}: {cap}"


def _spent(state: "AccountState") -> "Cell":
    """The sum of budgets and, below it, the composed epsilon of all releases so far."""
    spent = _amount(*state.spent, ROUND_CEILING)
    return spent if state.composition == "sum" else [spent, f"together {_composed(state)}"]


def _composed(state: "AccountState") -> str:
    return "nothing" if not state.composed else f"ε {state.composed:.4g} by zCDP"


def _left(state: "AccountState") -> str:
    left = _amount(*state.remaining, ROUND_FLOOR)
    return left if state.composition == "sum" else f"about {left}"


def _amount(epsilon: Fraction, delta: Fraction, rounding: str) -> str:
    """The budget to six digits, rounded so that nobody counts on budget that does not exist."""
    six = Context(prec=6, rounding=rounding)
    shown = (six.divide(Decimal(e.numerator), Decimal(e.denominator)) for e in (epsilon, delta))
    return "ε {:g}, δ {:g}".format(*map(float, shown))
