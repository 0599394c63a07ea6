"""The private measure mechanism: noisy counts on a hierarchical partition, made consistent."""

from mechanisms.pmm.mechanism import PMM
from mechanisms.pmm.plan import PMMPlan

__all__ = ["PMM", "PMMPlan"]
