"""Certified release of all s-way marginals, or of any family of projections, in Wasserstein."""

from hallmark.mechanisms.wasserstein.sparse_lipschitz.mechanism import SparseLipschitz
from hallmark.mechanisms.wasserstein.sparse_lipschitz.plan import SparseLipschitzPlan

__all__ = ["SparseLipschitz", "SparseLipschitzPlan"]
