"""The columns of a release: for each, its public domain, and where that domain came from.

Nothing here is read off the private data. A domain is an interval with a grid of cells
(`interval_columns`) or a list of categories (`category_columns`, with distances in
`places_columns`); values outside the domain are handled by the column's stated rule.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from hallmark.schemas.columns.category_columns import BooleanColumn, NominalColumn, OrdinalColumn
from hallmark.schemas.columns.column_base import BaseColumn, BoundSource
from hallmark.schemas.columns.interval_columns import DateColumn, NumericColumn
from hallmark.schemas.columns.places_columns import PlacesColumn

__all__ = [
    "COLUMN_TYPES",
    "BooleanColumn",
    "BoundSource",
    "Column",
    "DateColumn",
    "NominalColumn",
    "NumericColumn",
    "OrdinalColumn",
    "PlacesColumn",
]

Column = Annotated[
    NumericColumn | NominalColumn | OrdinalColumn | BooleanColumn | DateColumn | PlacesColumn,
    Field(discriminator="type"),
]
"""A column of any type; the key `type` says which."""

COLUMN_TYPES: Mapping[str, type[BaseColumn]] = {
    "numeric": NumericColumn,
    "nominal": NominalColumn,
    "ordinal": OrdinalColumn,
    "boolean": BooleanColumn,
    "date": DateColumn,
    "places": PlacesColumn,
}
