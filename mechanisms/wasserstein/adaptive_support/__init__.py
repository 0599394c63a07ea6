"""A noisy histogram on the grid that suits how many of its points are occupied."""

from hallmark.mechanisms.wasserstein.adaptive_support.mechanism import AdaptiveSupport
from hallmark.mechanisms.wasserstein.adaptive_support.plan import AdaptiveSupportPlan

__all__ = ["AdaptiveSupport", "AdaptiveSupportPlan"]
