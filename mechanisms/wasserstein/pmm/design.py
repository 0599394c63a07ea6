"""What is measured on every level of the partition's tree: counts, or differences of siblings.

Either way there is one query a level, and one of the number of records where that is private. The
designs differ in what a level's answer is, and in how the answers are put together again. What they
claim of themselves is proved in pmm.md, beside this file.

Oracle.  tests/mechanisms/wasserstein/pmm/test_design.py enumerates all neighbours of small tables;
         test_tree.py beside it solves the transport program.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Counts, Floats
from hallmark.mechanisms.privacy.transforms import LevelDifferences, LevelSums, Transform
from hallmark.mechanisms.wasserstein.pmm.tree import (
    Consistency,
    LeastSquares,
    Masks,
    consistent_leaves,
    leaves_from_differences,
)

Estimator = Callable[[Sequence[NDArray[np.number]]], Floats]
"""From answers of levels 0, ..., depth, level 0 being the number of records, to leaf counts of
shape (..., leaves). Leading axes are a batch."""


class Design(Protocol):
    """How the levels below the root are measured, and what is made of it. Public.

    Attributes:
        mechanism: name of the mechanism that measures so.
        source: paper and statement that it rests on.
        flow: no more than so many records per unit of noise scale are misplaced between siblings,
            on average.
        rounding: so many, at most, because records are whole.
    """

    mechanism: ClassVar[str]
    source: ClassVar[str]
    flow: ClassVar[float]
    rounding: ClassVar[float]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Constants of the design, as plain JSON values."""
        ...

    def transform(self, height: int) -> Transform:
        """The query of the level whose nodes have `2**height` leaves."""
        ...

    def entries(self, level: int) -> int:
        """Length of a level's answer; at level 0 it is the number of records."""
        ...

    def words(self, level: int) -> str:
        """What a level's answer is, for people."""
        ...

    def concerns(self, split: bool) -> bool:
        """Whether a level tells something of an attribute that was, or was not, `split` for it."""
        ...

    def estimator(self, variances: Sequence[float], empty: Masks) -> Estimator:
        """Makes an unbiased linear estimate of the leaf counts.

        Args:
            variances: of every answer of levels 0, ..., depth; 0 for an exact number of records.
            empty: for the same levels, which nodes no record can lie in.
        """
        ...

    def released(self, total: int, answers: Sequence[Counts], empty: Masks) -> Floats:
        """Nonnegative leaf masses that sum to `total` >= 0, shape (leaves,).

        Args:
            answers: of levels 1, ..., depth.
            empty: of levels 0, ..., depth.
        """
        ...


@dataclass(frozen=True)
class NodeCounts:
    """PMM: a level's answer is the counts of all its nodes.

    Attributes:
        consistency: how noisy counts are made to add up; affects quality, not privacy.
    """

    consistency: Consistency = "uniform"

    mechanism: ClassVar[str] = "pmm"
    source: ClassVar[str] = (
        "He, Vershynin, Zhu (2023), Algorithmically effective differentially private synthetic "
        "data, COLT, Algorithms 3 and 4, with the accounting corrected for the neighbouring "
        "relation"
    )
    flow: ClassVar[float] = 1.5  # E max(|x|, |y|) <= 3/2 scale for two discrete Laplace variables
    rounding: ClassVar[float] = 0.0  # counts are made whole on the way down

    def __post_init__(self) -> None:
        if self.consistency not in get_args(Consistency):
            raise ValueError(
                f"mechanism.consistency: {self.consistency!r}; use 'uniform' or 'proportional'"
            )

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"consistency": self.consistency}

    def transform(self, height: int) -> Transform:
        return LevelSums(height)

    def entries(self, level: int) -> int:
        return 1 << level

    def words(self, level: int) -> str:
        return f"level {level} of the partition"

    def concerns(self, split: bool) -> bool:
        return True  # counts of nodes add up to counts of the attribute's intervals

    def estimator(self, variances: Sequence[float], empty: Masks) -> Estimator:
        return LeastSquares(variances, empty)

    def released(self, total: int, answers: Sequence[Counts], empty: Masks) -> Floats:
        leaves = consistent_leaves(total, answers, empty[1:], self.consistency)
        return leaves.astype(np.float64)


@dataclass(frozen=True)
class SiblingDifferences:
    """PMM-H: a level's answer is, for each pair of siblings, the first's count less the second's.

    Their noise is halved on its way to the children, so the bound on the error is a third of that
    with noisy counts.
    """

    mechanism: ClassVar[str] = "pmm-h"
    source: ClassVar[str] = (
        "The private measure mechanism of He, Vershynin, Zhu (2023), Algorithmically effective "
        "differentially private synthetic data, COLT, Algorithms 3 and 4, with noise on the "
        "differences between siblings in place of their counts"
    )
    flow: ClassVar[float] = 0.5  # E |x| / 2 <= scale / 2 for a discrete Laplace variable
    rounding: ClassVar[float] = 0.5  # masses are made whole at the end

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {}

    def transform(self, height: int) -> Transform:
        return LevelDifferences(height)

    def entries(self, level: int) -> int:
        return 1 << max(level - 1, 0)

    def words(self, level: int) -> str:
        return f"differences between siblings on level {level} of the partition"

    def concerns(self, split: bool) -> bool:
        return split  # else both siblings lie in the same interval of the attribute

    def estimator(self, variances: Sequence[float], empty: Masks) -> Estimator:
        return partial(leaves_from_differences, empty=empty, within_parent=False)

    def released(self, total: int, answers: Sequence[Counts], empty: Masks) -> Floats:
        levels = [np.array([total]), *answers]
        return leaves_from_differences(levels, empty=empty, within_parent=True)
