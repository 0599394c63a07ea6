"""The bounded-Lipschitz distance: W1 for measures of different mass.

Claim.   `bounded_lipschitz` is the largest integral of f dw over f with |f| <= 1 that differ by at
         most the distance between any two points. Where w has mass zero it is W1, and it is |mass|
         where w has one sign.
Source.  He, Vershynin, Zhu (2023), arXiv:2302.05552, whose distance this is; its Algorithm 2
         solves another program, see mechanisms/wasserstein/psmm/psmm.md.
Proof.   The dual of that maximum is to transport part of w and to create or destroy the rest at
         cost 1 a unit: transport through a hub at distance 1 of all points. It never pays to
         destroy here what is created there, as that costs 2 and distances are at most 1.
Oracle.  tests/mechanisms/geometry/test_bounded_lipschitz.py maximises over all f.
"""

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.geometry.transport import hub_transport_many

CREATION_COST = 1.0  # of a unit of mass made or destroyed: the diameter


def bounded_lipschitz(space: FiniteSpace, differences: NDArray[np.number]) -> NDArray[np.float64]:
    """Distances between two measures, from their signed differences; (..., size) to (...).

    Raises:
        ValueError, RuntimeError: as `hub_transport_many` says.
    """
    return hub_transport_many(space, differences, radius=CREATION_COST)
