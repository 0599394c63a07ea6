"""Requests as tests make them."""

from typing import Any

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.request import Request


def request_on(universe: Universe, **asked: Any) -> Request:
    """For a method that answers the universe's queries: its cells are those of the domain."""
    cells = {universe.name(column): k for column, k in enumerate(universe.shape)}
    return Request(domain=Domain.coded(cells), **asked)
