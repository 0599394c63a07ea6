"""From bins back to cells: how records are spread within bins, by a noisy histogram.

Numbers and days: cells of one kind (`Column.kinds_of_cells`: round numbers, what lies between) hold
more or less than their stretch of the line would, about alike in all bins. That is what a bin is
expected to look like; if what the kinds hold could as well be noise, nobody is taken to round, and
a bin is expected to be even. A bin is split by kinds, and each kind in halves, again and again,
down to its cells. A split whose counts show nothing else stays where it is expected; one that
stands out of the noise stays where it was measured. The contrasts of all bins at one depth share a
prior, which is estimated from them (`posterior_means`). Where a part is expected to hold less than
its noise, that is not enough: means of what cannot be negative would add up. Such a part gets more
only if it stands out for itself. So spikes come out, tails fall and people's rounding is kept.

Claim.   Where nobody rounds, noise alone makes rounding with a chance of at most `_RATE`; and at
         every depth, of the parts that get more than their noise, at most `_RATE` are noise alone.
Proof.   Counts of kinds are independent, and their squared distances from an even line add up to
         chi-square. Parts: `standing_out`.

Categories of a group have the posterior means of their own counts.

Which cell a record gets depends on its bin alone, so dependence on other columns within a bin is
lost.

Oracle.  tests/mechanisms/marginals/binning/test_within.py: both limits of the noise, and spikes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, ndtr

from hallmark.mechanisms.arrays import AnyCodes, Counts, Floats
from hallmark.mechanisms.domain.domain import Attribute
from hallmark.mechanisms.marginals.binning.bins import Bins
from hallmark.mechanisms.marginals.binning.standing_out import standing_out
from hallmark.mechanisms.marginals.generators.noise_aware.refinement import posterior_means
from hallmark.mechanisms.marginals.generators.rounding import rounded_sample

_LEAST = 1e-6  # of a kind's share: more than none
_RATE = 0.01  # of false alarms
_SILENT = 3.0  # null contrasts counted with those of a depth, lest a few make their own prior


def shares_within(
    attribute: Attribute,
    bins: Bins,
    kinds: Counts,
    counts: Floats,
    masses: Floats,
    sigma: float,
) -> Floats:
    """Shares of the cells in their bins, summing to 1 in every bin, shape (levels,).

    Args:
        kinds: of the cells, shape (levels,).
        counts: noisy, of the cells that hold values, shape (levels,).
        masses: of records in every bin, estimated.
        sigma: deviation of the noise of a count, records.
    """
    of, lengths = np.array(bins.of), _lengths(attribute)
    if attribute.kind.ordered:
        masses = np.maximum(masses, 0.0)
        expected = _expected(of, kinds, lengths, counts, masses, sigma)
        found = _by_halves(of, kinds, expected, counts, masses, sigma)
    else:
        found = np.maximum(posterior_means(counts, sigma).table, 0.0)
    sums = np.bincount(of, found, minlength=bins.number)
    found = np.where(sums[of] > 0, found, lengths)
    return np.asarray(found / np.bincount(of, found, minlength=bins.number)[of])


def refined(codes: AnyCodes, bins: Bins, shares: Floats, rng: np.random.Generator) -> Counts:
    """Cells for the bins of one column, shape (records,).

    In every bin, cells occur in proportion to their shares, each count rounded up or down.

    Args:
        codes: bin of every record; the null cell's comes last.
        shares: of the cells that hold values, shape (levels,); some positive in every bin.
    """
    of = np.array(bins.of)
    cells = np.full(len(codes), len(of), dtype=np.int64)
    for number in range(bins.number):
        rows = np.flatnonzero(codes == number)
        own = np.flatnonzero(of == number)
        cells[rows] = own[rounded_sample(shares[own], len(rows), rng)]
    return cells


@dataclass(frozen=True, eq=False)
class _Split:
    """Cells that are split in two parts."""

    mass: float
    parts: tuple[Counts, Counts]
    expected: float  # share of the first part


def _expected(
    of: Counts, kinds: Counts, lengths: Floats, counts: Floats, masses: Floats, sigma: float
) -> Floats:
    """What cells hold if each kind holds as much of its line in all bins, up to a factor a bin.

    The line of a bin is shared by its kinds, and that of a kind by its cells: a cell between has
    its length, but a round number stands for all that is rounded to it.
    """
    evenly = lengths / np.bincount(of, lengths)[of]
    held, even = np.bincount(kinds, counts), np.bincount(kinds, masses[of] * evenly)
    noise = sigma * np.sqrt(np.bincount(kinds))
    if sigma > 0 and chdtrc(len(noise), np.square((held - even) / noise).sum()) > _RATE:
        return evenly
    number = len(held)
    pair = of * number + kinds
    present, place = np.unique(pair, return_inverse=True)
    own_lengths = np.bincount(place, lengths)
    there = np.bincount(present % number, masses[present // number], minlength=number)
    usual = np.maximum(np.divide(held, there, out=np.zeros(number), where=there > 0), _LEAST)
    return np.asarray(usual[kinds] * lengths / own_lengths[place])


def _by_halves(
    of: Counts, kinds: Counts, expected: Floats, counts: Floats, masses: Floats, sigma: float
) -> Floats:
    found = np.zeros(len(counts))
    nodes = [(np.flatnonzero(of == number), float(mass)) for number, mass in enumerate(masses)]
    while nodes:
        for cells, mass in nodes:
            if len(cells) == 1:
                found[cells] = mass
        splits = [_split(cells, mass, kinds, expected) for cells, mass in nodes if len(cells) > 1]
        nodes = list(_settled(splits, counts, sigma))
    return found


def _settled(
    splits: Sequence[_Split], counts: Floats, sigma: float
) -> Iterator[tuple[Counts, float]]:
    """The parts of all splits of one depth, with their masses."""
    if not splits:
        return
    first, second = (np.array([counts[s.parts[i]].sum() for s in splits]) for i in (0, 1))
    one, other = (np.array([len(s.parts[i]) for s in splits]) for i in (0, 1))
    whole = np.array([split.mass for split in splits])
    expected = np.array([split.expected for split in splits])
    # Each part is measured twice: by its own counts, and by what the other leaves of the mass.
    told = (other * first + one * (whole - second)) / (one + other)
    deviations = sigma * np.sqrt(one * other / (one + other))
    scale = deviations if sigma > 0 else np.ones(len(splits))
    contrasts = (told - expected * whole) / scale
    signals = posterior_means(contrasts, float(sigma > 0), silent=_SILENT).table * scale
    faint = np.minimum(expected, 1 - expected) * whole < deviations
    signals[faint] *= standing_out(2 * ndtr(-np.abs(contrasts[faint])), _RATE)
    for split, signal in zip(splits, signals, strict=True):
        mass = float(np.clip(split.expected * split.mass + signal, 0.0, split.mass))
        yield split.parts[0], mass
        yield split.parts[1], split.mass - mass


def _split(cells: Counts, mass: float, kinds: Counts, expected: Floats) -> _Split:
    """The highest kind told from the others, or halves of one kind."""
    highest = kinds[cells] == kinds[cells].max()
    if highest.all():
        highest = np.arange(len(cells)) < len(cells) // 2
    first, second = cells[highest], cells[~highest]
    return _Split(mass, (first, second), float(expected[first].sum() / expected[cells].sum()))


def _lengths(attribute: Attribute) -> Floats:
    """How much of the line every cell takes: values it holds, in any unit; 1 of categories."""
    if not attribute.kind.ordered or len(attribute.positions) == 1:
        return np.ones(len(attribute.positions))
    low = attribute.positions - attribute.widths / 2
    gaps = np.diff(low)
    grid = float((gaps - attribute.widths[:-1]).min())  # between values; 0 of real numbers
    return np.append(gaps, attribute.widths[-1] + grid)
