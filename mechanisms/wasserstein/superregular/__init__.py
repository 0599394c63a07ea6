"""Private measures on a line or any finite metric space, by superregular noise along a path.

Claim.   A run is epsilon-differentially private, epsilon = `plan.budget.epsilon`. In every run W1
         between private and projected distribution is at most twice the noise's cost along the
         path, over n; its mean grows like a power of the logarithm of the number of points.
Source.  Boedihardjo, Strohmer, Vershynin (2024), Private measures, random walks, and synthetic
         data, arXiv:2204.09167, Theorem 7.2 and Corollary 7.4.
Proof.   superregular.md, beside this file; it also shows a release from a notebook.
"""

from functools import partial

from hallmark.mechanisms.wasserstein.single_histogram.mechanism import HistogramMechanism
from hallmark.mechanisms.wasserstein.superregular.plan import make_plan

Superregular = partial(HistogramMechanism, "superregular", make_plan)
"""Parameters of the mechanism, all optional: `cells` ("auto", or the number of cells of every
column whose values lie on a line), `path` ("auto", "snake", "hilbert" or "short") and `mode`
("tight", or "paper" for the published noise)."""

__all__ = ["Superregular"]
