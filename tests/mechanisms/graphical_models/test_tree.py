"""Junction trees: what they hold, and how large they are."""

import numpy as np
import pytest

from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.graphical_models.tree import JunctionTree, junction_tree


def random_cliques(rng: np.random.Generator, attributes: int, number: int) -> list[Clique]:
    sizes = rng.integers(1, 4, number)
    return [
        tuple(sorted(int(a) for a in rng.choice(attributes, size, replace=False))) for size in sizes
    ]


def connected(tree: JunctionTree, attribute: int) -> bool:
    """Whether the cliques that hold an attribute hang together: all but one through a parent."""
    holds = {i for i, clique in enumerate(tree.cliques) if attribute in clique}
    return sum(tree.parents[i] not in holds for i in holds) == 1


@pytest.mark.parametrize("seed", range(40))
def test_a_tree_covers_everything_and_every_attribute_is_connected(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(int(k) for k in rng.integers(1, 20, 9))
    given = random_cliques(rng, 9, int(rng.integers(0, 12)))
    tree = junction_tree(shape, given)
    for clique in [*given, *((a,) for a in range(9))]:
        assert any(set(clique) <= set(held) for held in tree.cliques)
    assert all(connected(tree, a) for a in range(9))
    for i, clique in enumerate(tree.cliques):
        assert list(clique) == sorted(clique)
        assert not any(
            set(clique) <= set(other) for other in tree.cliques[:i] + tree.cliques[i + 1 :]
        )
        parent = tree.parents[i]
        assert parent is None or parent < i
        shared = set() if parent is None else set(clique) & set(tree.cliques[parent])
        assert set(tree.separators[i]) == shared
        assert bool(shared) == (parent is not None)


def test_a_cycle_is_cut_into_triples_around_its_small_columns() -> None:
    shape = (10, 2, 10, 2)
    tree = junction_tree(shape, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert sorted(tree.cliques) == [(0, 1, 3), (1, 2, 3)]
    assert tree.cells(shape) == 80
    assert tree.largest((10, 2, 11, 2)) == (1, 2, 3)


def test_cliques_that_need_no_fill_stay_as_they_are() -> None:
    assert sorted(junction_tree((2, 3, 4, 5), [(0, 1), (1, 2)]).cliques) == [(0, 1), (1, 2), (3,)]
    assert junction_tree((4, 4), []).cliques == ((1,), (0,))


def test_sizes_are_those_of_an_independent_library() -> None:
    mbi = pytest.importorskip("mbi")
    rng = np.random.default_rng(0)
    ours, theirs = [], []
    for _ in range(40):
        shape = tuple(int(k) for k in rng.integers(2, 33, 12))
        given = random_cliques(rng, 12, int(rng.integers(3, 14)))
        ours.append(junction_tree(shape, given).cells(shape))
        domain = mbi.Domain(list(range(12)), shape)
        theirs.append(mbi.junction_tree.hypothetical_model_size(domain, given) * 2**20 / 8)
    ratios = np.array(ours) / np.array(theirs)
    assert np.median(ratios) == pytest.approx(1)
    assert ratios.max() < 2  # both are greedy, and break ties in their own way
