"""How the command line shows the ledger: accounts with their balances, and their entries."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hallmark.flows.screen import line, table
from hallmark.tasks.ledger import words

if TYPE_CHECKING:
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
                [state.name, words.unit(state)],
                words.cap(state),
                [*words.spent(state)],
                words.reserved(state),
                words.left(state),
            )
            for state in states
        ),
    )


def print_account(state: "AccountState") -> None:
    """Print one account: its terms and its balance."""
    line(("account    ", "bold"), f"{state.name}; {words.unit(state)}")
    line(("cap        ", "bold"), words.cap(state))
    composed = "" if state.composition == "sum" else ", budgets added up"
    line(("spent      ", "bold"), words.spent(state)[0], composed)
    line(("reserved   ", "bold"), words.reserved(state), composed)
    if state.composition == "zcdp":
        line(("together   ", "bold"), words.composed(state))
    line(("left       ", "bold"), words.left(state))


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
                words.moved(step),
                words.left(step.state),
            )
            for step in steps
        ),
        plain=True,
    )
