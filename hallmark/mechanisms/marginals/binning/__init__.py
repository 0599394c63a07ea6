"""Private quantile bins: columns measured on their fine grid once, and on bins of it with others.

Start with `mechanism`; `quantiles` chooses the bins, `bins` makes the domain that has them for
cells, `asking` asks the curator about it, `certify` states bounds on the fine grid.
"""

from hallmark.mechanisms.marginals.binning.mechanism import BINS, PrivatelyBinned

__all__ = ["BINS", "PrivatelyBinned"]
