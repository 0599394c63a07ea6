"""Belief propagation against sums over the whole joint."""

import numpy as np
import pytest

from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.graphical_models.propagation import Propagation
from hallmark.mechanisms.graphical_models.tree import junction_tree
from tests.mechanisms.marginals.generators.graphical.cases import (
    CASES,
    SHAPE,
    joint_of,
    margin,
    over_all,
    potentials_of,
)

Zeros = dict[Clique, np.ndarray]


def propagation_of(
    cliques: tuple[Clique, ...], zeros: Zeros | None = None, shape: tuple[int, ...] = SHAPE
) -> Propagation:
    zeros = zeros or {}
    return Propagation(shape, junction_tree(shape, [*cliques, *zeros]), cliques, zeros)


def zeros_of(seed: int) -> Zeros:
    rng = np.random.default_rng(seed)
    return {
        clique: rng.random([SHAPE[a] for a in clique]) < 0.7 for clique in ((0, 2), (3,), (1, 3, 5))
    }


@pytest.mark.parametrize("cliques", CASES)
@pytest.mark.parametrize("zeros", [{}, zeros_of(3)], ids=["free", "zeros"])
def test_marginals_are_those_of_the_joint(cliques: tuple[Clique, ...], zeros: Zeros) -> None:
    potentials = potentials_of(cliques, np.random.default_rng(1))
    joint = joint_of(cliques, potentials, zeros)
    propagation = propagation_of(cliques, zeros)
    calibrated = propagation.calibrate(potentials)
    for clique, found in zip(cliques, propagation.marginals(calibrated), strict=True):
        np.testing.assert_allclose(found, margin(joint, clique), rtol=1e-10, atol=1e-15)
    tree = calibrated.tree
    for clique, table in zip(tree.cliques, calibrated.tables, strict=True):
        np.testing.assert_allclose(table, margin(joint, clique), rtol=1e-10, atol=1e-15)
    for separator, table in zip(tree.separators, calibrated.separators, strict=True):
        np.testing.assert_allclose(table, margin(joint, separator), rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("cliques", CASES)
@pytest.mark.parametrize("zeros", [{}, zeros_of(3)], ids=["free", "zeros"])
def test_the_highest_sum_is_that_of_the_likeliest_record(
    cliques: tuple[Clique, ...], zeros: Zeros
) -> None:
    potentials = potentials_of(cliques, np.random.default_rng(1))
    sums = sum(over_all(c, p) for c, p in zip(cliques, potentials, strict=True))
    possible = joint_of(cliques, potentials, zeros) > 0
    found = propagation_of(cliques, zeros).highest(potentials)
    assert found == pytest.approx(np.broadcast_to(sums, SHAPE)[possible].max())


def test_zeros_that_allow_nothing_have_no_highest_sum() -> None:
    none = propagation_of(((0,),), {(0,): np.zeros(3, dtype=bool)})
    with pytest.raises(ValueError, match="allow no record"):
        none.highest([np.zeros(3)])


@pytest.mark.parametrize("cliques", CASES)
@pytest.mark.parametrize("zeros", [{}, zeros_of(3)], ids=["free", "zeros"])
def test_the_response_is_the_derivative_of_the_marginals(
    cliques: tuple[Clique, ...], zeros: Zeros
) -> None:
    rng = np.random.default_rng(2)
    potentials, direction = potentials_of(cliques, rng), potentials_of(cliques, rng)
    propagation = propagation_of(cliques, zeros)

    def marginals_at(step: float) -> list[np.ndarray]:
        moved = [p + step * d for p, d in zip(potentials, direction, strict=True)]
        return propagation.marginals(propagation.calibrate(moved))

    found = propagation.response(propagation.calibrate(potentials), direction)
    for change, up, down in zip(found, marginals_at(1e-5), marginals_at(-1e-5), strict=True):
        np.testing.assert_allclose(change, (up - down) / 2e-5, atol=1e-9)


@pytest.mark.parametrize("cliques", CASES)
@pytest.mark.parametrize("scale", [300.0, 3000.0])
def test_potentials_may_span_more_than_a_float(cliques: tuple[Clique, ...], scale: float) -> None:
    potentials = potentials_of(cliques, np.random.default_rng(4), scale)
    joint = joint_of(cliques, potentials)
    propagation = propagation_of(cliques)
    for clique, found in zip(
        cliques, propagation.marginals(propagation.calibrate(potentials)), strict=True
    ):
        np.testing.assert_allclose(found, margin(joint, clique), rtol=1e-8, atol=1e-12)


def test_factors_that_contradict_each_other_beyond_a_float_are_weighed_exactly() -> None:
    # Each factor all but excludes what the others demand; the best compromise is the first cell.
    cliques = ((0, 1), (1, 2), (0, 2))
    shape = (2, 2, 2)
    potentials = [np.array([[0.0, -900.0], [900.0, -900.0]]) for _ in cliques]
    potentials[1] -= np.array([[0.0, 0.0], [2000.0, 0.0]])
    propagation = propagation_of(cliques, shape=shape)
    joint = joint_of(cliques, potentials, shape=shape)
    for clique, found in zip(
        cliques, propagation.marginals(propagation.calibrate(potentials)), strict=True
    ):
        np.testing.assert_allclose(found, margin(joint, clique), rtol=1e-10, atol=1e-15)


def test_zeros_in_two_orders_of_the_same_attributes_both_hold() -> None:
    first, second = np.array([[True, False], [True, True]]), np.array([[True, True], [False, True]])
    cliques = ((0, 1),)
    propagation = Propagation(
        (2, 2), junction_tree((2, 2), cliques), cliques, {(0, 1): first, (1, 0): second.T}
    )
    (found,) = propagation.marginals(propagation.calibrate([np.zeros((2, 2))]))
    np.testing.assert_allclose(found, [[0.5, 0.0], [0.0, 0.5]])


def test_zeros_that_leave_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="allow no record"):
        propagation_of(((0, 1),), {(0,): np.zeros(3, dtype=bool)}).calibrate([np.zeros((3, 2))])


def test_marginals_agree_with_an_independent_library() -> None:
    mbi = pytest.importorskip("mbi")
    cliques = CASES[5]
    potentials = potentials_of(cliques, np.random.default_rng(5))
    domain = mbi.Domain(list(range(6)), SHAPE)
    tables = {
        clique: mbi.Factor(domain.project(clique), potential)
        for clique, potential in zip(cliques, potentials, strict=True)
    }
    theirs = mbi.marginal_oracles.message_passing_shafer_shenoy(
        mbi.CliqueVector(domain, cliques, tables)
    )
    propagation = propagation_of(cliques)
    for clique, found in zip(
        cliques, propagation.marginals(propagation.calibrate(potentials)), strict=True
    ):
        np.testing.assert_allclose(found, theirs[clique].values, rtol=1e-4)  # float32
