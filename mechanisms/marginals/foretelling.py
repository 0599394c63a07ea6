"""What earlier periods of a series tell of this one: their noisy marginals, carried forward.

Claim.   Every marginal that `foretold` gives is computed from answers that earlier releases have
         published and, for what probably moved how far, from this release's noisy marginals. So it
         is post-processing, and costs nothing.
How.     A table is the sum of main effects and interactions (`components`), each measured with
         noise that is equal in all of its coordinates. Each goes through the periods as a random
         walk (`random_walk`), those of as many columns as one kind. What the walk foretells of this
         period, from the others alone, joins its evidence as tables with noise of their own that is
         equal in all cells, as a generator takes it to be. Such a table says as much of its main
         effects as of its interaction, and main effects may move more. So tables are counted for no
         more than lets all together say of each component what is foretold of it, and what they
         leave of a margin, a table of its own tells. (With tables that were counted for all that is
         foretold of interactions, margins passed for far better known than they were: tables were
         more exact, and records less exact than without the past; docs/series.md.)
Limits.  Shares are carried, not counts, and noise in the number of records is not. Tables in groups
         of cells are carried only beside the table of the cells.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.domain.cliques import Clique, title
from hallmark.mechanisms.earlier import Earlier
from hallmark.mechanisms.inference.random_walk import Joint, Walk
from hallmark.mechanisms.marginals.components import (
    components,
    of_period,
    parts,
    table,
    walked,
)
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal

MOST_PERIODS = 12
"""How many earlier periods are looked at, the last ones: those before tell next to nothing."""

_ROUNDING = 1e-9  # share of a precision that may be left by it

Precisions = Mapping[Clique, float]
"""Of one coordinate, or cell, in squared shares to the power -1, by columns."""

FORETOLD = "foretold_by_earlier_periods"
"""In the history: what earlier periods told."""


@dataclass(frozen=True, eq=False)
class Foretold:
    """What earlier periods tell.

    Attributes:
        marginals: to be counted besides those of this release.
        noise: variance of the noise with them as a share of that without, the mean over main
            effects (1) and interactions of so many columns.
        broken: main effects and interactions that are not what earlier periods made probable.
    """

    marginals: tuple[NoisyMarginal, ...]
    noise: Mapping[int, float]
    broken: tuple[Clique, ...]

    def told(self, names: Sequence[str]) -> dict[str, Any]:
        """For the record, as plain JSON values: `noise`, and the names of what is `broken`."""
        return {
            "noise": {str(kind): share for kind, share in self.noise.items()},
            "broken": [title(part, names) for part in self.broken],
        }


def foretold(evidence: Evidence, earlier: Earlier) -> Foretold:
    """What earlier periods tell of the one of which `evidence` was measured."""
    shape = evidence.domain.shape
    past = sorted(earlier.periods, key=lambda one: one.number)[-MOST_PERIODS:]
    measured = [of_period(one, shape) for one in past]
    measured.append(components(evidence.marginals, evidence.total, shape))
    walks = walked([*(one.number for one in past), earlier.number], measured)
    known = _known(evidence, walks)
    precisions = table_precisions(known, shape)
    told = _told(precisions, shape)
    noise: dict[int, list[float]] = {}
    for part, walk in walks.items():
        counted = told.get(part, 0.0) * float(walk.track.variances[-1])
        noise.setdefault(len(part), []).append(1 / (1 + counted))
    values = {part: _last(walks[part], walks[part].foretold) for part in known}
    return Foretold(
        marginals=tuple(
            NoisyMarginal(
                clique,
                evidence.total * table(clique, shape, values),
                evidence.total * precision**-0.5,
            )
            for clique, precision in precisions.items()
        ),
        noise={kind: float(np.mean(noise[kind])) for kind in sorted(noise)},
        broken=tuple(part for part, walk in walks.items() if earlier.number in walk.broken),
    )


def table_precisions(known: Precisions, shape: Sequence[int]) -> dict[Clique, float]:
    """Tables of which noise that is equal in all cells claims of no component more than is known.

    Args:
        known: precision of a coordinate of every component, with all parts of each.
        shape: codes of every column.
    Returns:
        Precisions of a cell, tables of most columns first. Where those of as many columns would
        claim too much of a component, all that have it give way by the same factor.
    """
    tables: dict[Clique, float] = {}
    for size in sorted({len(part) for part in known}, reverse=True):
        told = _told(tables, shape)
        left = {part: precision - told.get(part, 0.0) for part, precision in known.items()}
        wanted = {
            part: left[part]
            for part, precision in known.items()
            if len(part) == size and left[part] > _ROUNDING * precision
        }
        claimed = _told(wanted, shape)
        for clique, precision in wanted.items():
            share = min(left[part] / claimed[part] for part in parts(clique, shape))
            tables[clique] = min(1.0, share) * precision
    return tables


def _told(tables: Precisions, shape: Sequence[int]) -> dict[Clique, float]:
    """What tables of these precisions tell together of each component, in one coordinate."""
    told: dict[Clique, float] = {}
    for clique, precision in tables.items():
        for part in parts(clique, shape):
            cells = prod(shape[column] for column in clique if column not in part)
            told[part] = told.get(part, 0.0) + precision / cells
    return told


def _known(evidence: Evidence, walks: Mapping[Clique, Walk]) -> dict[Clique, float]:
    """Precisions of what is foretold, of measured tables of which all is."""
    shape = evidence.domain.shape
    foretold = [c for c in evidence.by_clique if all(part in walks for part in parts(c, shape))]
    return {
        part: 1 / float(walks[part].foretold.covariance[0, 0])
        for part in sorted({part for c in foretold for part in parts(c, shape)})
    }


def _last(walk: Walk, joint: Joint) -> Floats:
    """What is estimated of the last period."""
    return np.asarray(joint.weights[-1] @ walk.track.values)
