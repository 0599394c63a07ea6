"""Which of many noisy numbers stand out of their noise.

Claim.   Of the numbers that `standing_out` names, on average at most `rate` are noise alone; where
         all are, it names any with at most that chance. Weights may favour some numbers: these are
         found more easily, and the claim stays, if the weights do not depend on the noise.
Source.  Benjamini, Hochberg (1995), "Controlling the false discovery rate", J. Royal Statistical
         Society B 57(1); with weights: Genovese, Roeder, Wasserman (2006), "False discovery control
         with p-value weighting", Biometrika 93(3). Both are for independent noise.
Oracle.  tests/mechanisms/marginals/binning/test_standing_out.py: rates of false alarms, with a twin
         that looks at each number by itself, and the paper's rule as a loop.
"""

import numpy as np

from hallmark.mechanisms.arrays import Floats, Mask


def standing_out(chances: Floats, rate: float, weights: Floats | None = None) -> Mask:
    """Whether each number stands out, shape (numbers,).

    Args:
        chances: that noise alone puts a number as far out, shape (numbers,).
        weights: nonnegative, of any scale; 0 where a number cannot stand out. All alike if None.
    """
    found = np.zeros(len(chances), dtype=bool)
    if weights is not None and not weights.any():
        return found
    scale = np.ones(len(chances)) if weights is None else weights / weights.mean()
    weighted = np.divide(chances, scale, out=np.full(len(chances), np.inf), where=scale > 0)
    order = np.argsort(weighted)
    admitted = weighted[order] <= rate * np.arange(1, len(chances) + 1) / len(chances)
    found[order[: np.flatnonzero(admitted).max(initial=-1) + 1]] = True
    return found
