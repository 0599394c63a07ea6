"""Both mechanisms on a hierarchical partition, their plans and their noisy answers."""

from functools import partial
from typing import Any

import pytest

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.wasserstein.pmm import PMM, PMMH, PMMPlan
from hallmark.mechanisms.wasserstein.pmm.mechanism import TreeMechanism
from tests.builders.releases import request, simulated

MECHANISMS = [PMM(), PMMH()]
each_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
measured = partial(simulated, PMM())  # as PMM-H does: the plan says what


def planned(
    domain: Domain, adjacency: Adjacency, *, mechanism: TreeMechanism = MECHANISMS[0], **asked: Any
) -> PMMPlan:
    return mechanism.plan(request(domain, adjacency, **asked))
