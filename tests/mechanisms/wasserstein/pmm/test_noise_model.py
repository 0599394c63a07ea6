"""The law of the noise in single columns against that of the whole tree."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import ks_2samp

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.partition import Partition, split_order
from hallmark.mechanisms.geometry.wasserstein import w1
from hallmark.mechanisms.wasserstein.pmm.design import NodeCounts, SiblingDifferences
from hallmark.mechanisms.wasserstein.pmm.noise_model import NoiseModel
from tests.builders.columns import line

FALSE_POSITIVE_RATE = 1e-6
DRAWS = 10_000
DESIGNS = [NodeCounts(), SiblingDifferences()]


def errors(
    design, levels: tuple[int, int], *, total_is_public: bool, seed: int, wider: float = 1.0
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """W1 of the errors of both columns and their totals, by the columns and by the tree."""
    domain = Domain(tuple(line(name, k) for name, k in zip("xy", levels, strict=True)))
    partition = Partition(domain, split_order(domain, 6))
    scales = [Fraction(3 + j) for j in range(6 if total_is_public else 7)]
    model = NoiseModel(design, partition, scales)
    wide = NoiseModel(design, partition, [scale * Fraction(str(wider)) for scale in scales])
    rng = np.random.default_rng(seed)
    alone = list(wide.simulate_columns(DRAWS, rng))
    jointly = [one_way for one_way, _ in model.simulate(DRAWS, rng)]
    return tuple(
        [
            *(
                w1(attribute, np.concatenate([batch.counts[position] for batch in batches]))
                for position, attribute in enumerate(domain.attributes)
            ),
            np.concatenate([batch.total for batch in batches]),
        ]
        for batches in (alone, jointly)
    )


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.mechanism)
@pytest.mark.parametrize("total_is_public", [True, False])
def test_errors_of_columns_have_the_law_that_the_tree_gives_them(design, total_is_public) -> None:
    alone, jointly = errors(design, (8, 8), total_is_public=total_is_public, seed=1)
    for one, other in zip(alone[:2], jointly[:2], strict=True):
        assert ks_2samp(one, other).pvalue > FALSE_POSITIVE_RATE
    if total_is_public:
        assert not alone[2].any()
    else:
        assert ks_2samp(alone[2], jointly[2]).pvalue > FALSE_POSITIVE_RATE


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.mechanism)
def test_noise_that_is_a_sixth_wider_is_told_apart(design) -> None:
    alone, jointly = errors(design, (8, 8), total_is_public=True, seed=2, wider=1.17)
    for one, other in zip(alone[:2], jointly[:2], strict=True):
        assert ks_2samp(one, other).pvalue < FALSE_POSITIVE_RATE


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.mechanism)
def test_empty_boxes_make_the_errors_of_columns_hardly_larger_and_not_smaller(design) -> None:
    """Five cells lie in eight intervals, three of them empty."""
    alone, jointly = errors(design, (5, 7), total_is_public=True, seed=3)
    for one, other in zip(alone[:2], jointly[:2], strict=True):
        assert 0.95 < one.mean() / other.mean() < 1.1  # the means' own error is a percent
