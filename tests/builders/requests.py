"""Requests as tests make them."""

from collections.abc import Mapping
from typing import Any

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.request import Request


def request_on(
    universe: Universe,
    *,
    budget: Budget,
    adjacency: Adjacency,
    expected_records: int,
    parameters: Mapping[str, Any] | None = None,
) -> Request:
    """For a method that answers the universe's queries: its cells are those of the domain."""
    return Request(
        domain=Domain.coded({universe.name(i): k for i, k in enumerate(universe.shape)}),
        budget=budget,
        adjacency=adjacency,
        expected_records=expected_records,
        parameters=parameters or {},
    )
