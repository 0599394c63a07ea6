"""What a release asks of a mechanism, and what plans have in common that were made for it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.earlier import Earlier
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget


@dataclass(frozen=True, eq=False, kw_only=True)
class Request:
    """All that a mechanism plans with. Every field is public.

    Attributes:
        expected_records: of the private table, as many as forecasts and defaults go by.
        made_records: how many are to be made; None for as many as were measured.
        parameters: of the mechanism, as the spec sets them.
        public: coded records of a public table with the same columns, where the spec names one;
            shape (rows, attributes).
        earlier: what releases about earlier periods measured, where it is to help this one.
    """

    domain: Domain
    budget: Budget
    adjacency: Adjacency
    expected_records: int
    made_records: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    public: AnyCodes | None = None
    earlier: Earlier | None = None

    def __post_init__(self) -> None:
        """Refuse a table without records.

        Raises:
            ValueError: fewer than one record is expected.
        """
        if self.expected_records < 1:
            raise ValueError(
                f"expected number of records: {self.expected_records}; give at least 1"
            )

    def refuse_unknown(self, mechanism: str, known: Collection[str]) -> None:
        """Refuse parameters that the mechanism does not know.

        Raises:
            ValueError: there is such a parameter; says which there are.
        """
        unknown = sorted(set(self.parameters) - set(known))
        if unknown:
            raise ValueError(
                f"mechanism.{unknown[0]}: {mechanism} has no such parameter; it knows "
                f"{', '.join(sorted(known))}"
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class Requested:
    """The part of a plan that is as it was requested."""

    request: Request

    @property
    def domain(self) -> Domain:
        return self.request.domain

    @property
    def budget(self) -> Budget:
        return self.request.budget

    @property
    def adjacency(self) -> Adjacency:
        return self.request.adjacency

    @property
    def expected_records(self) -> int:
        return self.request.expected_records

    @property
    def in_batches(self) -> bool:
        """Whether the records may be made in batches (`contract.Plan`); most are made together."""
        return False
