"""The public domain: a product of attributes, each with a grid of cells and a metric on them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.domain.totals import PublicTotals

_NO_RULES = Rules(())
_NO_TOTALS = PublicTotals(())


class Kind(StrEnum):
    """How the cells of an attribute relate to each other."""

    NUMERIC = "numeric"  # intervals of a public range
    DATE = "date"  # likewise, of a public span of days
    ORDINAL = "ordinal"  # ordered categories, equally spaced
    NOMINAL = "nominal"  # unordered categories, all at distance 1 (booleans too)
    METRIC = "metric"  # points of any finite metric space, such as places with their distances

    @property
    def ordered(self) -> bool:
        """Whether the values lie on a line."""
        return self not in (Kind.NOMINAL, Kind.METRIC)


@dataclass(frozen=True, eq=False, kw_only=True)
class Attribute:
    """One column of the domain. Every field is public.

    The codes 0..levels-1 are values; where nulls are allowed, code `levels` is the null cell.

    Metric: nominal values lie at distance 1 of each other. Values of the other kinds lie at
    |x - y| for positions x, y in [0, 1]. The null cell hangs by an edge of length 1/2 from the
    middle of that interval, so it lies at 1/2 + |x - 1/2| from value x and the diameter stays 1.
    Values of metric attributes lie at the distances of a matrix. The null cell of nominal and
    metric attributes lies at distance 1 from all values.

    Attributes:
        name: the column's name.
        kind: how its values relate.
        positions: centre of every value's cell in [0, 1], float64 of shape (levels,), ascending;
            for nominal attributes merely evenly spaced.
        widths: width of every value's cell on the same scale, shape (levels,); 0 where a cell
            holds one value only, as for categories and for integers one unit apart.
        has_null: whether there is a null cell.
        scale: length of the public interval in the column's own unit (1 for categories).
        unit: name of that unit, for people.
        distances: between the values of a metric attribute, float64 of shape (levels, levels), the
            largest 1 where there are two values; None for all other kinds.
    """

    name: str
    kind: Kind
    positions: NDArray[np.float64]
    widths: NDArray[np.float64]
    has_null: bool = False
    scale: float = 1.0
    unit: str = ""
    distances: NDArray[np.float64] | None = None

    @property
    def distance_unit(self) -> str:
        """Unit of `scale` times a distance of two distributions, in words; never empty.

        Nominal values are all at distance 1, so there a distance is a share of the records.
        """
        if self.kind is Kind.NOMINAL:
            return "share of records"
        return self.unit or "units of the column"

    @property
    def levels(self) -> int:
        """Number of cells that hold values."""
        return len(self.positions)

    @property
    def cells(self) -> int:
        """Number of cells, the null cell included."""
        return self.levels + self.has_null


@dataclass(frozen=True, eq=False)
class Domain:
    """A product of attributes. Records are rows of codes, one per attribute, in this order.

    Public edit rules may say that some records are impossible; without them, all are possible.
    Published totals may say how many records are where.
    """

    attributes: tuple[Attribute, ...]
    rules: Rules = _NO_RULES
    totals: PublicTotals = _NO_TOTALS

    def __post_init__(self) -> None:
        if self.rules is _NO_RULES:
            object.__setattr__(self, "rules", Rules(self.shape))
        elif self.rules.shape != self.shape:
            raise ValueError(f"the rules are about cells {self.rules.shape}, not {self.shape}")
        if self.totals is _NO_TOTALS:
            object.__setattr__(self, "totals", PublicTotals(self.shape))
        elif self.totals.shape != self.shape:
            raise ValueError(f"the totals are about cells {self.totals.shape}, not {self.shape}")

    @classmethod
    def coded(
        cls, cells: Mapping[str, int], *, kind: Kind = Kind.ORDINAL, rules: Rules | None = None
    ) -> "Domain":
        """For tables of codes: so many evenly spaced categories of every column, by its name."""
        attributes = tuple(
            Attribute(name=name, kind=kind, positions=(np.arange(k) + 0.5) / k, widths=np.zeros(k))
            for name, k in cells.items()
        )
        return cls(attributes, _NO_RULES if rules is None else rules)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all attributes."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Cells of every attribute."""
        return tuple(attribute.cells for attribute in self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)
