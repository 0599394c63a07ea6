"""Queries state the event of the noise that they carry, and scores their true sensitivity."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.events import DiscreteGaussian, DiscreteLaplace
from hallmark.mechanisms.privacy.queries import GaussianNoise, HistogramQuery, L1Score, LaplaceNoise
from hallmark.mechanisms.privacy.transforms import LevelSums

CELLS = marginal((0,), (4,))
REPLACE = Adjacency(neighbours=Neighbours.REPLACE_ONE)
PERSONS = Adjacency(neighbours=Neighbours.ADD_REMOVE, records=3)


@pytest.mark.parametrize(
    ("noise", "adjacency", "event"),
    [
        (LaplaceNoise(Fraction(5)), REPLACE, DiscreteLaplace(l1=2, scale=Fraction(5))),
        (LaplaceNoise(Fraction(5)), PERSONS, DiscreteLaplace(l1=3, scale=Fraction(5))),
        (
            GaussianNoise(Fraction(7)),
            REPLACE,
            DiscreteGaussian(l2_squared=2, sigma2=Fraction(7), unit_moves=2),
        ),
        (GaussianNoise(Fraction(7)), PERSONS, DiscreteGaussian(l2_squared=9, sigma2=Fraction(7))),
    ],
)
def test_a_query_is_charged_as_the_noise_it_carries(noise, adjacency, event):
    assert HistogramQuery(CELLS, noise).event(adjacency) == event


@pytest.mark.parametrize("noise", [LaplaceNoise(Fraction(5)), GaussianNoise(Fraction(7))])
def test_an_adaptive_query_is_charged_as_one(noise):
    plain, adaptive = HistogramQuery(CELLS, noise), HistogramQuery(CELLS, noise, adaptive=True)
    assert adaptive.event(REPLACE) == replace(plain.event(REPLACE), adaptive=True)
    assert adaptive.digest != plain.digest


def test_digests_in_existing_logs_stay_what_they_are():
    query = HistogramQuery(marginal((0,), (4,)), GaussianNoise(Fraction(5)))
    assert query.digest == "5341af9a3654fdc8a47985fed499b0a2bb76ff19c1abcb92846d6f3dccd3ce2a"


def test_digests_tell_cells_noise_and_transform_apart():
    queries = [
        HistogramQuery(CELLS, LaplaceNoise(Fraction(5))),
        HistogramQuery(CELLS, LaplaceNoise(Fraction(6))),
        HistogramQuery(CELLS, GaussianNoise(Fraction(5))),
        HistogramQuery(CELLS, LaplaceNoise(Fraction(5)), LevelSums(1)),
        HistogramQuery(marginal((1,), (4, 4)), LaplaceNoise(Fraction(5))),
    ]
    assert len({query.digest for query in queries}) == len(queries)


@pytest.mark.parametrize("adjacency", [REPLACE, Adjacency(neighbours=Neighbours.ADD_REMOVE)])
def test_a_score_moves_by_at_most_its_sensitivity_and_reaches_it(adjacency):
    score = L1Score(CELLS, np.array([3, -8, 0, 6]), unit=4, weight=3, penalty=5)
    tables = [np.array(t, dtype=np.int64) for t in product(range(3), repeat=4)]
    moves = []
    for before in tables:
        for change in changes(adjacency):
            after = before + change
            if after.min() >= 0:
                moves.append(abs(score(after) - score(before)))
    assert max(moves) == score.sensitivity(adjacency)


def changes(adjacency):
    unit = np.eye(4, dtype=np.int64)
    if adjacency.neighbours is Neighbours.ADD_REMOVE:
        return [sign * cell for cell in unit for sign in (1, -1)]
    return [to - source for to in unit for source in unit]


def test_a_score_is_the_weighted_distance():
    score = L1Score(CELLS, np.array([2, 4, 0, 0]), unit=2, weight=3, penalty=1)
    assert score(np.array([1, 0, 0, 2])) == 3 * (4 + 4 - 1)


@pytest.mark.parametrize("records", [0, 1, 10**6, 2**40, 2**62])
@pytest.mark.parametrize("unit", [1, 2**8, 2**70])
def test_a_score_is_exact_where_64_bits_are_not_enough(records, unit):
    counts, reference = np.array([records, 0, 3]), np.array([5, -(2**62), 2**62])
    exact = sum(abs(unit * int(c) - int(r)) for c, r in zip(counts, reference, strict=True))
    score = L1Score(marginal((0,), (3,)), reference, unit=unit, weight=3, penalty=11)
    assert score(counts) == 3 * (exact - 11)


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(-(10**8), 10**8)), min_size=1),
    st.integers(1, 300),
)
def test_a_score_in_64_bits_is_that_in_any_integers(cells, unit):
    counts, reference = (np.array(column) for column in zip(*cells, strict=True))
    score = L1Score(marginal((0,), (len(cells),)), reference, unit=unit)
    assert score(counts) == sum(abs(unit * c - r) for c, r in cells)
