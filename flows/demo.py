"""Write the demonstration table to a file, and open a budget account for the people in it.

If `HALLMARK_LEDGER` names a ledger, as on a server, no account is opened here, since the people
responsible for that ledger open its accounts.

The RAND Health Insurance Experiment, 20,190 person-years by 10 columns, is in the public domain
and comes with statsmodels. From here on it is treated like any user's private file.

    python -m hallmark.flows.demo build/rand-hie.csv
"""

import os
import sys
from fractions import Fraction
from pathlib import Path

from hallmark.flows.screen import say
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.tasks.installation.workspace import LEDGER_VARIABLE, ledger_url
from hallmark.tasks.ledger.anchors import open_ledger

ACCOUNT = "rand-hie-participants"


def main(path: Path) -> None:
    """Write the table to `path`, and open the account in the demonstration's own ledger."""
    write_table(path)
    say(f"Wrote the RAND Health Insurance Experiment to {path}")
    if os.environ.get(LEDGER_VARIABLE):
        say(f"Opened no account: {LEDGER_VARIABLE} names a ledger that others are responsible for.")
        say("To open one for this table: hallmark ledger open --help")
        return
    ledger = open_ledger(ledger_url())
    if all(state.name != ACCOUNT for state in ledger.accounts()):
        ledger.open_account(
            ACCOUNT,
            cap=Budget(epsilon=Fraction(4), delta=Fraction(1, 10_000)),
            adjacency=Adjacency(neighbours=Neighbours.REPLACE_ONE),
            by="demonstration",
            reason="a public data set: the cap only shows how accounts work",
            composition="zcdp",
        )
        say(f"Opened account {ACCOUNT} with epsilon 4 and delta 1/10000 in {ledger_url()}")


def write_table(path: Path) -> None:
    """Write the table as CSV."""
    from statsmodels.datasets import randhie

    path.parent.mkdir(parents=True, exist_ok=True)
    randhie.load_pandas().data.to_csv(path, index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
