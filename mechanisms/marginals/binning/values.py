"""Single values within bins: those whose counts stand out, and the others as their pieces tell.

A piece holds its values evenly, so far as anybody knows. A value whose own count stands out of that
and of its noise keeps this count, and what remains of its bin is spread by the pieces' counts, less
what such values hold. A value is found more easily where more is expected.

Claim.   Of the values that are kept, on average at most `RATE` hold no more than is expected of
         them; where none does, any is kept with at most that chance.
Proof.   `standing_out`. The counts of pieces and what the mechanism measured, on which expectations
         and weights rest, have noise of their own. (That the expectations have it, too, is left
         out: a value's share of it is small beside the noise of its count.)
Oracle.  tests/mechanisms/marginals/binning/test_values.py: rates of false alarms, and spikes.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.marginals.binning.bins import Bins
from hallmark.mechanisms.marginals.binning.standing_out import standing_out

RATE = 0.05  # of values kept that do not stand out


def shares_of_values(
    bins: Bins,
    pieces: Bins,
    values: Counts,
    counts: Floats,
    masses: Floats,
    sigma: float,
    within: Callable[[Floats, Floats], Floats],
) -> Floats:
    """Shares of the values in their bins, summing to 1 in every bin, shape (levels,).

    Args:
        bins: of the values.
        pieces: of the values, within the bins.
        values: noisy counts, shape (levels,).
        counts: noisy, of the pieces.
        masses: of records in every bin, estimated.
        sigma: deviation of the noise in `values`, records.
        within: shares of pieces in their bins, from counts of pieces and masses of bins.
    """
    of, piece = np.array(bins.of), np.array(pieces.of)
    bin_of_piece = np.array(bins.of_pieces(pieces).of)
    sizes = np.bincount(of)

    def in_pieces(counts: Floats, masses: Floats, some: Floats) -> Floats:
        """What values hold if `some` of every piece, in proportion, hold all of it."""
        held = within(counts, masses) * masses[bin_of_piece]
        some = np.where(np.bincount(piece, some)[piece] > 0, some, 1.0)
        return np.asarray((held / np.bincount(piece, some))[piece] * some)

    masses = np.maximum(masses, 0.0)
    expected = in_pieces(counts, masses, np.ones(len(of)))
    weights = np.where(sizes[of] > 1, expected + (masses / sizes)[of], 0.0)
    found = standing_out(ndtr((expected - values) / sigma), RATE, weights)
    spikes = np.where(found, values, 0.0)
    held = np.bincount(of, spikes)
    spikes *= np.divide(masses, held, out=np.ones(len(held)), where=held > masses)[of]
    left = np.maximum(masses - np.bincount(of, spikes), 0.0)  # not below 0 by rounding
    others = in_pieces(counts - np.bincount(piece, spikes), left, np.where(found, 0.0, 1.0))
    whole = np.where(masses[of] > 0, spikes + others, 1.0)
    return np.asarray(whole / np.bincount(of, whole)[of])
