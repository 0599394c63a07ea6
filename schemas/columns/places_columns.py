"""Columns of places, or of any other categories with public distances between them."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Annotated, Any, Literal

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from hallmark.schemas.columns.category_columns import CategoryColumn
from hallmark.schemas.exact import Exact, decimal, read_exact, shown
from hallmark.schemas.section import Problem

MOST_PLACES = 1500  # distances between all pairs are held in memory, and checked


def _read_coordinates(value: Any) -> tuple[Fraction, Fraction]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        found = f"a list of {len(value)}" if isinstance(value, list | tuple) else shown(value)
        raise ValueError(
            f"must be [latitude, longitude] in degrees, such as [52.52, 13.4], not {found}"
        )
    latitude, longitude = (read_exact(number) for number in value)
    if not -90 <= latitude <= 90 or not -180 <= longitude <= 180:
        raise ValueError(
            f"is [{decimal(latitude)}, {decimal(longitude)}]; give latitude (-90 to 90) and "
            "longitude (-180 to 180) in degrees"
        )
    return latitude, longitude


_NUMBER: dict[str, Any] = {"type": ["number", "string"]}

Coordinates = Annotated[
    tuple[Fraction, Fraction],
    PlainValidator(_read_coordinates),
    PlainSerializer(lambda place: [str(number) for number in place], return_type=list[str]),
    WithJsonSchema({"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}),
]
"""Latitude and longitude in degrees, exact."""


class PlacesColumn(CategoryColumn):
    """Categories with public distances: points of a finite metric space.

    That the distances obey the triangle inequality is checked when the release is prepared.
    """

    type: Literal["places"]
    coordinates: dict[str, Coordinates] | None = None
    """where every category is: {code: [latitude, longitude]} in degrees; distances are then
    measured along great circles, in km"""
    distances: tuple[tuple[Exact, ...], ...] | None = None
    """the distances, if there are no coordinates: a square matrix in the order of the categories"""
    unit: str | None = None
    """the unit of the distances, such as minutes"""

    def _problems(self) -> Iterator[Problem]:
        yield from super()._problems()
        if self.levels > MOST_PLACES:
            yield Problem(
                ("categories",), f"lists {self.levels} places; list at most {MOST_PLACES}"
            )
        elif (self.coordinates is None) == (self.distances is None):
            yield Problem(
                ("coordinates",),
                "or distances must be given, but not both: say where the categories are, as "
                "{code: [latitude, longitude]}, or how far apart they are, as a square matrix",
            )
        elif self.coordinates is not None:
            yield from self._coordinate_problems(self.coordinates)
        elif self.distances is not None:
            yield from self._distance_problems(self.distances)

    def _coordinate_problems(
        self, coordinates: dict[str, tuple[Fraction, Fraction]]
    ) -> Iterator[Problem]:
        if self.unit is not None:
            yield Problem(("unit",), "is always km if coordinates are given; remove it")
        missing = [code for code in self.categories if code not in coordinates]
        strange = [code for code in coordinates if code not in self.categories]
        if missing:
            yield Problem(("coordinates",), f"lacks {missing[0]!r}; say where every category is")
        if strange:
            yield Problem(
                ("coordinates",), f"has {strange[0]!r}, which is not one of the categories"
            )
        seen: dict[tuple[Fraction, Fraction], str] = {}
        for code, place in coordinates.items():
            if place in seen:
                yield Problem(
                    ("coordinates", code),
                    f"is the same place as {seen[place]!r}; merge the two categories",
                )
            seen.setdefault(place, code)

    def _distance_problems(self, distances: tuple[tuple[Fraction, ...], ...]) -> Iterator[Problem]:
        if not self.unit:
            yield Problem(("unit",), "is missing; give the unit of the distances, such as km")
        size = self.levels
        for i, row in enumerate(distances):
            if len(row) != size:
                yield Problem(
                    ("distances", i), f"has {len(row)} numbers, but there are {size} categories"
                )
                return
        if len(distances) != size:
            yield Problem(
                ("distances",), f"has {len(distances)} rows, but there are {size} categories"
            )
            return
        codes = self.codes
        for i, row in enumerate(distances):
            if row[i] != 0:
                yield Problem(("distances", i), f"from {codes[i]!r} to itself must be 0")
                return
        for i, j in combinations(range(size), 2):
            pair = f"from {codes[i]!r} to {codes[j]!r}"
            if distances[i][j] <= 0:
                yield Problem(("distances", i), f"{pair} must be above 0")
                return
            if distances[i][j] != distances[j][i]:
                yield Problem(
                    ("distances", i), f"{pair} differs from the way back; they must agree"
                )
                return
