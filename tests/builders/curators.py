"""Curators whose release has a reservation."""

from collections.abc import Callable, Sequence

from hallmark.mechanisms.arrays import AnyCodes, Counts
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import ArrayCounter, CellMap
from hallmark.mechanisms.privacy.curator import Curator
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.mechanisms.request import Requested

Make = Callable[..., Curator]
"""`curator_on` with some of its arguments."""


class Watched(ArrayCounter):
    """A counter that remembers how often it was asked."""

    asked = 0

    def count(self, maps: Sequence[CellMap]) -> list[Counts]:
        self.asked += 1
        return super().count(maps)


def curator_on(
    url: str, *, codes: AnyCodes, adjacency: Adjacency, budget: Budget, release: str = "r"
) -> Curator:
    """Of a release that reserved all this budget, on an account of ten times the epsilon."""
    ledger = Ledger(url)
    cap = Budget(epsilon=10 * budget.epsilon, delta=budget.delta)
    ledger.open_account("people", cap=cap, adjacency=adjacency, by="steward", reason="a test")
    ledger.reserve("people", release, budget, adjacency=adjacency, binding="plan")
    return Curator(
        counter=Watched(codes), ledger=ledger, release=release, adjacency=adjacency, budget=budget
    )


def asked(curator: Curator) -> int:
    """How often the curator's records were counted."""
    assert isinstance(curator.counter, Watched)
    return curator.counter.asked


def curator_of(plan: Requested, codes: AnyCodes, folder: object) -> Curator:
    """With a fresh ledger in the folder, on which release r1 has reserved the plan's budget."""
    return curator_on(
        f"sqlite:///{folder}/ledger.sqlite",
        codes=codes,
        adjacency=plan.adjacency,
        budget=plan.budget,
        release="r1",
    )
