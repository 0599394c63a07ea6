"""PrivPGD: synthetic records from all two-way marginals, by optimal transport and local search."""

from mechanisms.privpgd.mechanism import PrivPGD
from mechanisms.privpgd.plan import PrivPGDPlan

__all__ = ["PrivPGD", "PrivPGDPlan"]
