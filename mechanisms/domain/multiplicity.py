"""Face privacy: no combination of some columns that only few of the released records have.

Records of people who do not exist may look like somebody who does, most of all where a combination
is that of one record. Nobody is less or better protected by it: this is made of the records alone.

Claim.   Every combination of the keys among the result's records is that of at least `least` of
         them, and the result obeys the rules if the records did.
How.     A record whose combination is rarer gets the nearest that is not: which differs in fewest
         keys, then least in ordered ones, then is that of most records. Combinations that are not
         rare only gain. Where a rule ties other columns to the keys, these follow.
Oracle.  tests/mechanisms/domain/test_multiplicity.py: brute force over all combinations.
"""

from collections.abc import Sequence

import numpy as np

from hallmark.mechanisms.arrays import Codes, Floats
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.domain.rules.rules import joint_of

_AT_ONCE = 2**22  # distances that are looked at together


class NothingCommon(ValueError):
    """No combination of the keys is that of enough records."""


def without_rare(
    codes: Codes, domain: Domain, keys: Sequence[int], least: int, rng: np.random.Generator
) -> Codes:
    """The records with rare combinations of the keys replaced, shape (rows, attributes).

    Args:
        codes: that obey the domain's rules.
        keys: positions of columns, each once.
        least: records of every combination.
        rng: for columns that rules tie to the keys.
    Raises:
        NothingCommon: no combination is that of so many records.
    """
    combinations, of, counts = np.unique(
        codes[:, keys], axis=0, return_inverse=True, return_counts=True
    )
    of = of.reshape(-1)
    rare = counts < least
    if not rare.any():
        return codes
    if rare.all():
        raise NothingCommon(f"no combination of these columns is that of {least} records")
    common = np.flatnonzero(~rare)
    common = common[np.argsort(-counts[common], kind="stable")]  # ties fall to the first
    nearest = np.arange(len(counts))
    nearest[rare] = common[_nearest(combinations[rare], combinations[common], domain, keys)]
    moved = rare[of]
    made = codes.copy()
    made[np.ix_(np.flatnonzero(moved), np.array(keys))] = combinations[nearest[of[moved]]]
    if not domain.rules:
        return made
    # What determines what, the given records say: each combination is that of one which is valid.
    settled = domain.rules.settled(joint_of(codes, domain.rules.shape))
    return settled.repair(made, rng, fixed=keys)


def _nearest(
    some: Codes, among: Codes, domain: Domain, keys: Sequence[int]
) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
    """For each combination, which of the others is nearest."""
    found = np.empty(len(some), dtype=np.intp)
    step = max(1, _AT_ONCE // len(among))
    for first in range(0, len(some), step):
        part = some[first : first + step]
        distance: Floats = np.zeros((len(part), len(among)))
        for place, key in enumerate(keys):
            one, other = part[:, place, None], among[None, :, place]
            differs = one != other
            distance += differs
            attribute = domain.attributes[key]
            if attribute.kind.ordered:
                levels = attribute.levels
                values = (one < levels) & (other < levels)  # else one of the two is missing
                away = np.abs(one - other) / levels
                distance += np.where(values, away, differs) / (len(keys) + 1)
        found[first : first + step] = distance.argmin(axis=1)
    return found
