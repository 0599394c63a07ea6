"""Private measure mechanisms: a hierarchical partition measured with noise and made consistent."""

from functools import partial

from hallmark.mechanisms.wasserstein.pmm.design import NodeCounts, SiblingDifferences
from hallmark.mechanisms.wasserstein.pmm.mechanism import TreeMechanism
from hallmark.mechanisms.wasserstein.pmm.plan import PMMPlan

PMM = partial(TreeMechanism, NodeCounts)
"""Noise on counts. Parameters of the mechanism, optional: `depth` ("auto", or the number of levels
of the partition) and `consistency` ("uniform" or "proportional")."""

PMMH = partial(TreeMechanism, SiblingDifferences)
"""Noise on differences between siblings. Parameter, optional: `depth`, as for PMM."""

__all__ = ["PMM", "PMMH", "PMMPlan"]
