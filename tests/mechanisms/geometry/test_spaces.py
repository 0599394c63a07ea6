"""A space is known by its digest."""

from dataclasses import replace

import numpy as np
import pytest

from hallmark.mechanisms.geometry.finite_metrics import finite_space, pairwise
from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.geometry.trees import midpoint_tree


def space() -> FiniteSpace:
    return finite_space(pairwise(np.array([0.0, 0.3, 0.9, 1.0])[:, None]))


def test_the_size_is_the_number_of_points_not_of_nodes() -> None:
    with_a_node_more = replace(space(), nodes=5)
    assert with_a_node_more.size == 4


def test_equal_spaces_have_equal_digests() -> None:
    assert space().digest == space().digest


@pytest.mark.parametrize(
    "change",
    [
        {"places": np.array([1, 0, 2, 3])},
        {"nodes": 5},
        {"tails": np.array([0, 1, 1], dtype=np.int32)},
        {"heads": np.array([1, 2, 1], dtype=np.int32)},
        {"lengths": np.array([1, 2, 3])},
        {"unit": 0.25},
        {"order": np.array([0, 1, 3, 2])},
        {"gaps": np.array([0.3, 0.6, 0.2])},
        {"tree": midpoint_tree(np.array([3, 1, 0, 2]), np.ones(3) / 3)},
    ],
)
def test_any_other_part_makes_another_digest(change: dict) -> None:
    assert replace(space(), **change).digest != space().digest
