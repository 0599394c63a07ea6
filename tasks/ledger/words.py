"""An account of the ledger in words, the same on the command line and at the desk."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from hallmark.mechanisms.privacy.account_filter import gaussian_epsilon
from hallmark.mechanisms.privacy.ledger.history import Step
from hallmark.mechanisms.privacy.ledger.ledger import AccountState


def moved(step: Step) -> str:
    """The budget that an entry moves; empty where it moves none."""
    if step.budget is None:
        return ""
    amount = _amount(step.budget.epsilon, step.budget.delta, ROUND_CEILING)
    return f"back: {amount}" if step.entry.kind == "cancel" else amount


def unit(state: AccountState) -> str:
    """The neighbouring relation and the unit of privacy."""
    return f"{state.neighbours}, {state.unit}"


def cap(state: AccountState) -> str:
    """The most that all releases may spend together."""
    cap = _amount(state.cap.epsilon, state.cap.delta, ROUND_FLOOR)
    if state.presence is not None:
        return f"{cap}, by zCDP, for {state.presence}"
    if state.composition == "sum":
        return cap
    return f"{cap}, by zCDP" if state.rho_cap is None else f"ρ {float(state.rho_cap):g}: {cap}"


def spent(state: AccountState) -> str:
    """The sum of the budgets of releases that have drawn."""
    return _amount(*state.spent, ROUND_CEILING)


def reserved(state: AccountState) -> str:
    """What is put aside for releases that have drawn nothing yet."""
    return _amount(*state.reserved, ROUND_CEILING)


def together(state: AccountState) -> str:
    """What is spent and reserved comes to by composition; empty where budgets just add up."""
    if state.composition == "sum":
        return ""
    return "nothing" if not state.composed else f"ε {state.composed:.4g} by zCDP"


def left(state: AccountState) -> str:
    """What one more release can reserve."""
    left = _amount(*state.remaining, ROUND_FLOOR)
    beyond = " beyond what is planned" if state.planned else ""
    return left if state.composition == "sum" else f"about {left}{beyond}"


def share(state: AccountState, rho: Fraction) -> str:
    """A period's part of the cap of a series: its rho, and the epsilon of one Gaussian release."""
    delta = state.cap.delta
    epsilon = six_digits(gaussian_epsilon(max(rho, Fraction(0)), delta), ROUND_FLOOR)
    return f"ρ {six_digits(rho, ROUND_FLOOR)}, about ε {epsilon}" if rho else "nothing"


def _amount(epsilon: Fraction, delta: Fraction, rounding: str) -> str:
    return f"ε {six_digits(epsilon, rounding)}, δ {six_digits(delta, rounding)}"


def six_digits(value: Fraction, rounding: str) -> str:
    """The value to six digits, rounded so that nobody counts on budget that does not exist."""
    six = Context(prec=6, rounding=rounding)
    return f"{float(six.divide(Decimal(value.numerator), Decimal(value.denominator))):g}"
