"""What earlier periods of a series tell of this one: their noisy marginals, carried forward.

Claim.   Every marginal that `foretold` gives is computed from answers that earlier releases have
         published and, for what probably moved how far, from this release's noisy marginals. So it
         is post-processing, and costs nothing.
How.     A table is the sum of main effects and interactions (`components`), each measured with
         noise that is equal in all of its coordinates. Each goes through the periods as a random
         walk (`random_walk`), those of as many columns as one kind. What the walk foretells of this
         period, from the others alone, joins its evidence as tables with noise of their own. A
         table of several columns is as precise as what is foretold of their interaction; its
         margins are what all periods say of them, this one included, so that they pull a fit to
         what is best known, wherever they are counted for more than is known of them. What such
         tables do not tell of a margin, a table of its own does.
Limits.  Shares are carried, not counts, and noise in the number of records is not. Tables in groups
         of cells are carried only beside the table of the cells.
"""

from collections.abc import Iterator, Mapping, Sequence
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
    noise: dict[int, list[float]] = {}
    for part, walk in walks.items():
        noise.setdefault(len(part), []).append(_noise_left(walk))
    return Foretold(
        marginals=tuple(_tables(evidence, walks)),
        noise={kind: float(np.mean(noise[kind])) for kind in sorted(noise)},
        broken=tuple(part for part, walk in walks.items() if earlier.number in walk.broken),
    )


def _noise_left(walk: Walk) -> float:
    foretold = float(walk.foretold.covariance[0, 0])
    return foretold / (foretold + float(walk.track.variances[-1]))


def _tables(evidence: Evidence, walks: Mapping[Clique, Walk]) -> Iterator[NoisyMarginal]:
    """Tables of what is foretold, those of most columns first."""
    shape = evidence.domain.shape
    known = [c for c in evidence.by_clique if all(part in walks for part in parts(c, shape))]
    cliques = sorted({part for c in known for part in parts(c, shape)}, key=len, reverse=True)
    given = dict.fromkeys(cliques, 0.0)  # precision, by component
    smoothed = {part: _last(walk, walk.smoothed) for part, walk in walks.items()}
    for clique in cliques:
        walk = walks[clique]
        precision = 1 / float(walk.foretold.covariance[0, 0]) - given[clique]
        if precision <= 0:
            continue
        for part in parts(clique, shape):
            given[part] += precision / prod(
                shape[column] for column in clique if column not in part
            )
        shares = table(clique, shape, {**smoothed, clique: _last(walk, walk.foretold)})
        yield NoisyMarginal(clique, evidence.total * shares, evidence.total * precision**-0.5)


def _last(walk: Walk, joint: Joint) -> Floats:
    """What is estimated of the last period."""
    return np.asarray(joint.weights[-1] @ walk.track.values)
