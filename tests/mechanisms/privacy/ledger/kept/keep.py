"""Keep a ledger that this version of Hallmark wrote, for the tests of later versions.

    python -m tests.mechanisms.privacy.ledger.kept.keep VERSION

writes VERSION.sql beside this file, the text of an SQLite database with every kind of entry. It is
needed before a revision is added to the ledger's migrations, or what entries hold changes. The
copies of earlier versions were written by their own code, at the commit that each copy names, with
these calls as far as that version had them.
"""

import sqlite3
import sys
import tempfile
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.costs import Cost, zcdp_epsilon
from hallmark.mechanisms.privacy.events import (
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    ExponentialMechanism,
)
from hallmark.mechanisms.privacy.ledger.book import STATEMENTS
from hallmark.mechanisms.privacy.ledger.ledger import Allowance, Ledger
from hallmark.mechanisms.privacy.presence import Presence

FOLDER = Path(__file__).parent
RECORD = Adjacency(neighbours=Neighbours.REPLACE_ONE)
HOME = Adjacency(neighbours=Neighbours.ADD_REMOVE, records=4, person="household")
LAPLACE = DiscreteLaplace(l1=2, scale=Fraction(7, 2))
GAUSSIAN = DiscreteGaussian(l2_squared=2, sigma2=Fraction(100), unit_moves=2, times=3)
CHOICE = ExponentialMechanism(epsilon=Fraction(1, 50), adaptive=True)
BY: Mapping[str, str] = {"by": "steward", "reason": "data board"}
HALF = Budget(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6))


def outcome(call: str) -> bytes:
    """What was drawn for a call."""
    return f"noise of {call}".encode() + bytes(range(4))


def fill(ledger: Ledger) -> None:
    """Write every kind of entry into an empty ledger."""
    _people(ledger)
    cap, third = Budget(epsilon=Fraction(1)), Budget(epsilon=Fraction(1, 3))
    ledger.open_account("homes", cap=cap, adjacency=HOME, **BY)
    ledger.reserve("homes", "dwellings", third, adjacency=HOME, binding="plan of dwellings")
    _draw(ledger, "dwellings", "rooms", CHOICE)
    cap = Budget(epsilon=Fraction(2), delta=Fraction(1, 10**4))
    ledger.open_account("earlier", cap=cap, adjacency=RECORD, **BY)
    ledger.reserve("earlier", "sums", HALF, adjacency=RECORD, binding="plan")
    _draw(ledger, "sums", "ages", GAUSSIAN)
    ledger.compose_by_zcdp("earlier", with_earlier=True, **BY)
    ledger.compose_by_zcdp("people", with_earlier=False, **BY)
    _in_zcdp(ledger)
    _series(ledger)
    lost = Budget(epsilon=Fraction(1, 8), delta=Fraction(1, 10**6))
    ledger.prove(
        "people", "lost", lost, adjacency=RECORD, events=[GAUSSIAN], manifest="a digest", **BY
    )


def _people(ledger: Ledger) -> None:
    """An account that adds up: a release that drew and was decided about, one that waits, one that
    was given up."""
    cap = Budget(epsilon=Fraction(2), delta=Fraction(1, 10**4))
    ledger.open_account("people", cap=cap, adjacency=RECORD, **BY)
    month = Budget(epsilon=Fraction(1), delta=Fraction(1, 10**5))
    november = Allowance(name="2026-11", budget=month)
    ledger.reserve(
        "people", "spring", HALF, adjacency=RECORD, binding="plan of spring", allowance=november
    )
    _draw(ledger, "spring", "ages", LAPLACE)
    _draw(ledger, "spring", "incomes", GAUSSIAN, CHOICE)
    for kind in STATEMENTS:
        ledger.state("spring", kind, {"says": kind})
    for release, epsilon in (("summer", Fraction(1, 4)), ("autumn", Fraction(1, 8))):
        budget = Budget(epsilon=epsilon)
        ledger.reserve("people", release, budget, adjacency=RECORD, binding=f"plan of {release}")
    ledger.cancel("autumn", **BY)
    cap = Budget(epsilon=Fraction(3), delta=Fraction(1, 10**4))
    ledger.set_cap("people", cap, **BY)


def _in_zcdp(ledger: Ledger) -> None:
    """Accounts with a filter, and with a cap in rho."""
    delta, rho, stated = Fraction(1, 10**5), Fraction(1, 10), Cost(pure=None, rho=Fraction(1, 30))
    cap = Budget(epsilon=Fraction(2), delta=delta)
    ledger.open_account("series", cap=cap, adjacency=RECORD, composition="zcdp", **BY)
    for release in ("january", "february"):
        binding = f"plan of {release}"
        ledger.reserve("series", release, HALF, adjacency=RECORD, binding=binding, cost=stated)
    _draw(ledger, "january", "ages of january", GAUSSIAN)
    ledger.set_cap("series", Budget(epsilon=Fraction(3), delta=delta), **BY)
    implied = Budget(epsilon=Fraction(zcdp_epsilon(rho, delta)), delta=delta)
    ledger.open_account(
        "in-rho", cap=implied, adjacency=RECORD, composition="zcdp", rho_cap=rho, **BY
    )
    ledger.reserve("in-rho", "one", HALF, adjacency=RECORD, binding="plan of one", cost=stated)
    _draw(ledger, "one", "ages of one", GAUSSIAN)


def _series(ledger: Ledger) -> None:
    """A series whose units are in at most two of any three months, with a plan."""
    delta, rho = Fraction(1, 10**5), Fraction(1, 10)
    ledger.open_account(
        "monthly",
        cap=Budget(epsilon=Fraction(zcdp_epsilon(rho, delta)), delta=delta),
        adjacency=RECORD,
        composition="zcdp",
        rho_cap=rho,
        presence=Presence(length="month", pattern=(0, 1, 2), most=2),
        **BY,
    )
    ledger.plan_series("monthly", {"2026-01": rho / 3, "2026-03": rho / 2}, **BY)
    ledger.reserve(
        "monthly",
        "of-january",
        HALF,
        adjacency=RECORD,
        binding="plan of january",
        cost=Cost(pure=None, rho=rho / 3),
        period="2026-01",
    )
    _draw(ledger, "of-january", "ages of the month", GAUSSIAN)


def _draw(ledger: Ledger, release: str, call: str, *events: Event) -> None:
    ledger.record(release, call, f"asked {call}", events, outcome(call), lambda standing: None)


def main(version: str) -> None:
    """Write the copy of this version."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ledger.db"
        fill(Ledger(f"sqlite:///{file}"))
        with sqlite3.connect(file) as written:
            text = "\n".join(written.iterdump())
    (FOLDER / f"{version}.sql").write_text(f"-- A ledger of Hallmark {version}.\n{text}\n")


if __name__ == "__main__":
    main(sys.argv[1])
