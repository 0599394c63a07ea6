"""The facts about each mechanism: its guarantee, its inputs and its outputs, in one table.

Release specs, plans and the documentation read these facts here, and
tests/mechanisms/test_contract.py holds the mechanisms to them. Plain data: only the standard
library is imported, so that a spec can be checked without loading a single algorithm.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from hallmark.mechanisms.parameters import PARAMETERS, Parameter, problems


class Guarantee(Enum):
    """The budgets that a mechanism can spend."""

    PURE = "pure ε"  # epsilon alone
    NEEDS_DELTA = "(ε, δ)"  # always Gaussian noise, which epsilon alone never covers
    EITHER = "pure ε, or (ε, δ)"  # as the budget says


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The facts about one mechanism.

    Attributes:
        name: its name in a release spec.
        guarantee: which budgets it can spend.
        sentence: what it is for and what it measures, for people.
        takes_places: whether columns may be places, which have distances of their own.
        takes_bins: whether columns may have private quantile bins.
        takes_public_data: whether it uses the records of a public table.
        takes_share: whether its certificate may have a share of the budget for marginals.
        answers_queries: whether it answers, and needs, a list of linear queries.
        makes_records: whether it makes records; if not, it certifies given records.
    """

    name: str
    guarantee: Guarantee
    sentence: str
    takes_places: bool = True
    takes_bins: bool = False
    takes_public_data: bool = False
    takes_share: bool = True
    answers_queries: bool = False
    makes_records: bool = True

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What a spec may set of it, in the order of a form."""
        return PARAMETERS.get(self.name, ())

    def wrong(self, given: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
        """What is wrong with the parameters that a spec gives, each with its keys."""
        return problems(self.name, self.parameters, given)

    def refusals(
        self,
        *,
        delta: Fraction | None = None,
        public_data: bool = False,
        places: Sequence[str] = (),
        share: bool = False,
        binning: bool = False,
        two_ways: Sequence[str] = (),
    ) -> Iterator[tuple[tuple[str, ...], str]]:
        """Requests that the mechanism cannot serve: the place in the spec, and what to do.

        Args:
            delta: of the budget; None if unknown.
            public_data: whether there are public records.
            places: names of the columns that are places.
            share: whether the certificate has a share of the budget.
            binning: whether columns have private bins.
            two_ways: names of the columns with public ones: with detail, or groups.
        """
        if delta == 0 and self.guarantee is Guarantee.NEEDS_DELTA:
            other = "linear-queries" if self.answers_queries else "pmm"
            yield (
                ("privacy", "delta"),
                f"is 0, but {self.name} adds Gaussian noise, which needs delta above 0; give a "
                f"delta well below 1 / data.expected_rows, or choose mechanism {other}",
            )
        if delta and self.guarantee is Guarantee.PURE:
            yield (
                ("privacy", "delta"),
                f"is {float(delta):g}, but {self.name} satisfies pure differential privacy and "
                "spends no delta; remove delta, or choose mechanism privpgd",
            )
        if not self.takes_places:
            for column in places:
                yield (
                    ("columns", column, "type"),
                    f"is places, which {self.name} cannot embed; choose mechanism superregular, "
                    "psmm or sparse-lipschitz, or write type: nominal and give up the distances",
                )
        if public_data and not self.takes_public_data:
            using = [entry.name for entry in CATALOGUE.values() if entry.takes_public_data]
            yield (
                ("public_data",),
                f"is not used by {self.name}; remove the section, or choose mechanism "
                f"{' or '.join(using)}",
            )
        if share and not self.takes_share:
            yield (
                ("certificate", "share"),
                f"is not for {self.name}, which certifies its marginals from its own "
                "measurements; remove it, and choose other marginals by mechanism.marginals"
                if self.makes_records
                else "is for mechanisms that also make records; certify spends the whole budget on "
                "the certificate, so remove it",
            )
        if not self.takes_bins:
            having = [entry.name for entry in CATALOGUE.values() if entry.takes_bins]
            mend = f"or choose one of {', '.join(having)}"
            if binning:
                yield (
                    ("binning",),
                    f"is for mechanisms that measure marginals, but {self.name} does not; remove "
                    f"the section, {mend}",
                )
            for column in two_ways:
                yield (
                    ("columns", column),
                    f"has detail or groups, which are for mechanisms that measure marginals, but "
                    f"{self.name} does not; remove them, {mend}",
                )


def _of_marginals(name: str, sentence: str, *, takes_public_data: bool = False) -> Entry:
    return Entry(
        name=name,
        guarantee=Guarantee.NEEDS_DELTA,
        sentence=sentence,
        takes_places=False,
        takes_bins=True,
        takes_public_data=takes_public_data,
    )


def _pure(name: str, sentence: str) -> Entry:
    return Entry(name=name, guarantee=Guarantee.PURE, sentence=sentence)


def _of_queries(name: str, sentence: str, guarantee: Guarantee = Guarantee.EITHER) -> Entry:
    return Entry(name=name, guarantee=guarantee, sentence=sentence, answers_queries=True)


_ENTRIES = (
    _of_marginals(
        "privpgd",
        "tables of many columns: all two-way marginals, or those that matter where noise would "
        "hide all of them, denoised together; or any selection with any generator of records",
        takes_public_data=True,
    ),
    _of_marginals(
        "aim", "for comparison: marginals chosen in private rounds, and a graphical model"
    ),
    _of_marginals("mst", "for comparison: a privately chosen tree of pairs, and a graphical model"),
    _of_marginals(
        "mwem", "for comparison: marginals chosen in private rounds of equal noise, and particles"
    ),
    _of_marginals(
        "private-gsd", "for comparison: all two-way marginals, and a genetic search for records"
    ),
    _of_marginals(
        "privpgd-paper", "PrivPGD as published: all two-way marginals, and particles that descend"
    ),
    _pure("pmm", "one to three columns, many cells: counts of a hierarchical partition"),
    _pure(
        "pmm-h",
        "like `pmm`, by differences of siblings: the least error from a few thousand records on",
    ),
    _pure("psmm", "one to three columns: a grid with equal noise, and the nearest distribution"),
    _pure(
        "superregular",
        "a list of places, or any metric of your own: a walk along a short path through the points",
    ),
    Entry(
        name="sparse-lipschitz",
        guarantee=Guarantee.EITHER,
        sentence="several columns, best with a public table like the private one: all s-way "
        "marginals on a grid, and weights on the public records that fit them",
        takes_public_data=True,
        takes_share=False,
    ),
    _pure(
        "adaptive-support",
        "several columns, records on a thin set: how many cells are occupied, then a sparse "
        "histogram",
    ),
    _of_queries(
        "linear-queries",
        "a list of queries (tables, ranges, conditions, means): tables of counts, with the noise "
        "that answers the list best",
    ),
    _of_queries(
        "dpfw",
        "many queries that are not tables: the worst-fitting query is chosen again and again, and "
        "a distribution moves towards it",
    ),
    _of_queries(
        "dpam",
        "for comparison: accelerated mirror descent on one noisy histogram",
        Guarantee.NEEDS_DELTA,
    ),
    _of_queries(
        "mwem-queries", "a few dozen queries: the worst-fitting query is measured, in rounds"
    ),
    _of_queries(
        "dual-query", "for comparison: records that answer queries drawn from those that fit badly"
    ),
    _of_queries(
        "dqrs",
        "for comparison: like `dual-query`, but most queries are kept from one round to the next",
    ),
    _of_queries(
        "fem", "for comparison: records that fit best after random payoffs are added to queries"
    ),
    _of_queries(
        "sep-fem",
        "for comparison: like `fem`, with payoffs of a few queries that distinguish all records",
    ),
    Entry(
        name="certify",
        guarantee=Guarantee.EITHER,
        sentence="records made elsewhere: marginals and columns are measured, and only a "
        "certificate is published, by `hallmark certify`",
        takes_share=False,
        makes_records=False,
    ),
)

CATALOGUE: Mapping[str, Entry] = {entry.name: entry for entry in _ENTRIES}
"""The mechanisms by name, in the order of the documentation."""
