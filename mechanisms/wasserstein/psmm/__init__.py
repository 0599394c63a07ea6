"""The private signed measure mechanism: equal noise on a grid, and the nearest measure to it.

Claim.   A run is epsilon-differentially private, epsilon = `plan.budget.epsilon`. In every run W1
         between private and projected distribution is at most twice the cost of evening out the
         noise, over n.
Source.  He, Vershynin, Zhu (2023), Algorithmically effective differentially private synthetic
         data, arXiv:2302.05552, Algorithms 1 and 2, of which the second is corrected.
Proof.   psmm.md, beside this file.
"""

from functools import partial

from hallmark.mechanisms.wasserstein.psmm.plan import make_plan
from hallmark.mechanisms.wasserstein.single_histogram.mechanism import HistogramMechanism

PSMM = partial(HistogramMechanism, "psmm", make_plan)
"""Parameter of the mechanism, optional: `cells` ("auto", or the number of cells of every column
whose values lie on a line)."""

__all__ = ["PSMM"]
