"""How useful a synthetic table is: the six metrics by which synthetic data are compared.

All look at coded tables, and all but the downstream error see a column's codes 0..k-1 as the
points (code + 1/2) / k of [0, 1], nominal columns too, in their given order. They compare with
the private data exactly, without noise: what they say is as confidential as those data.

Start with `evaluate`; every metric also stands alone in its module: `downstream`, `covariance`,
`counting_queries`, `threshold_queries`, `sliced_pairs`, `pairs`.

Source.  Donhauser, Abad, Hulkund, Yang (2024), "Privacy-preserving data release leveraging
         optimal transport and particle gradient descent", ICML, section 4.1. Where its text is
         open (the law of the directions, which covariance normalises), the modules say what we do.
"""

from hallmark.mechanisms.utility.coded import coarsen
from hallmark.mechanisms.utility.downstream import Label
from hallmark.mechanisms.utility.evaluate import UtilityScores, evaluate, split

__all__ = ["Label", "UtilityScores", "coarsen", "evaluate", "split"]
