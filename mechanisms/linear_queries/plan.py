"""Plan a release that answers linear queries: a method on a universe, and the certificate's part.

Claim.   Method and certificate together are (epsilon, delta)-differentially private within the
         budget: the method is planned with (1 - share) of epsilon and all of delta, the
         certificate's draws get the least noise that the accountant proves to fit beside it.
Proof.   Both are fixed before a private byte is read, and `certified` checks their sum.
Oracle.  tests/mechanisms/linear_queries/test_mechanism.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hallmark.mechanisms.contract import Forecast, NoiseLine
from hallmark.mechanisms.linear_queries.method import Method
from hallmark.mechanisms.linear_queries.workload import Workload
from hallmark.mechanisms.linear_queries.worst_query import WorstQuery
from hallmark.mechanisms.privacy.events import Event, merged
from hallmark.mechanisms.request import Requested

LARGEST_ERROR = "largest error of any query"
WIDEST_RANGE = "the widest query's range"


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearQueryPlan(Requested):
    """What the curator will be asked, and what that costs. Every field is public.

    Attributes:
        mechanism: its name, as a release spec gives it.
        workload: the queries on the domain, with their labels.
        method: how they are asked and answered, on the universe of merged cells.
        columns: positions in the domain of the universe's columns.
        share: of epsilon, for the certificate.
        worst: how the certificate's part is asked; None where the method needs none.
    """

    mechanism: str
    workload: Workload
    method: Method
    columns: tuple[int, ...]
    share: Fraction
    worst: WorstQuery | None

    @property
    def source(self) -> str:
        return self.method.source

    @property
    def events(self) -> tuple[Event, ...]:
        own = self.worst.events if self.worst else ()
        return merged([*self.method.events, *own])

    @property
    def noise(self) -> tuple[NoiseLine, ...]:
        return (*self.method.noise, *(self.worst.lines if self.worst else ()))

    @property
    def width(self) -> float:
        """Range of the widest query: errors are stated as shares of it."""
        return self.workload.queries.width

    @property
    def uniform_columns(self) -> tuple[str, ...]:
        """Columns that no query sees: their values are drawn evenly, whatever the others are."""
        return tuple(
            name for place, name in enumerate(self.domain.names) if place not in self.columns
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        universe = self.method.universe
        return {
            **self.method.parameters,
            "workload": dict(self.workload.summary),
            "universe": {"cells": universe.size, "shape": list(universe.shape)},
            "uniform_columns": list(self.uniform_columns),
            "certificate_share": str(self.share),
            **(self.worst.parameters if self.worst else {}),
        }

    def forecast(self) -> Forecast:
        """The method's forecast of its largest error."""
        error, statement = self.method.expected_error()
        return Forecast(
            metric=f"{LARGEST_ERROR}, as a share of {WIDEST_RANGE}",
            expected_error=min(1.0, error / self.width),
            statement=statement,
            memory_bytes=self.method.memory_bytes
            + self.expected_records * (4 * len(self.domain) + 24),
        )
