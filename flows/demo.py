"""Write the demonstration table to a file, and open an account of budget for the people in it.

The RAND Health Insurance Experiment, 20,190 person-years by 10 columns, is in the public domain
and comes with statsmodels. From here on it is treated as any user's private file would be.

    python -m flows.demo build/rand-hie.csv
"""

import sys
from fractions import Fraction
from pathlib import Path

from flows.screen import say
from mechanisms.privacy.adjacency import Adjacency, Neighbours
from mechanisms.privacy.budget import Budget
from tasks.anchors import open_ledger
from tasks.workspace import ledger_url

ACCOUNT = "rand-hie-participants"


def main(path: Path) -> None:
    """Write the table to `path`, and open the account unless it is open."""
    from statsmodels.datasets import randhie

    path.parent.mkdir(parents=True, exist_ok=True)
    randhie.load_pandas().data.to_csv(path, index=False)
    say(f"Wrote the RAND Health Insurance Experiment to {path}")
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


if __name__ == "__main__":
    main(Path(sys.argv[1]))
