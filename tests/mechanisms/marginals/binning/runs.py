"""Marginal mechanisms on bins, as tests plan them."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.binning.mechanism import Binned
from hallmark.mechanisms.marginals.binning.plan import BinnedPlan
from hallmark.mechanisms.marginals.mechanism import Marginals
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.request import Request
from tests.mechanisms.marginals.selection.runs import REPLACE

QUICK = {"generator": {"method": "noise-aware", "latent": {"members": 2, "classes": 10}}}


def binned(
    bins: Mapping[str, Any], name: str = "privpgd", share: Fraction = Fraction(1, 10)
) -> Binned:
    mechanism = MECHANISMS[name]
    assert isinstance(mechanism, Marginals)
    return Binned(mechanism, share, bins)


def plan_of(
    mechanism: Any,
    *,
    domain: Domain,
    budget: Budget,
    adjacency: Adjacency = REPLACE,
    expected: int = 3000,
    **parameters: Any,
) -> BinnedPlan:
    request = Request(
        domain=domain,
        budget=budget,
        adjacency=adjacency,
        expected_records=expected,
        parameters=parameters or QUICK,
    )
    return mechanism.plan(request)  # type: ignore[no-any-return]
