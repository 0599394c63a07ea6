"""Nearest weights: dense programs at small size, and evidence that rests on no solver."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

from hallmark.mechanisms.blocks.marginals import marginals, over
from hallmark.mechanisms.blocks.programs import Program, Support, evaluate, graph, solve
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.spaces import FiniteSpace
from hallmark.mechanisms.privacy.cells import count_codes
from tests.builders.codes import random_codes
from tests.builders.columns import line, nominal, places
from tests.mechanisms.geometry.small_spaces import SPACES, balanced, cheapest_coupling, distances

LOSSES = ["U_T", "L_tree", "L_T"]
MIXED = Domain((line("x", 9, has_null=True), nominal("c", 3), line("y", 4)))
PLACES = Domain((line("x", 4), places("home", np.random.default_rng(5).random((4, 2)))))
CONSTANT = Domain((line("x", 4), line("one", 1)))
FAMILIES = {
    "lines": over(MIXED, [(0,), (2,)], 4),
    "pairs": marginals(MIXED, 2, 2),
    "pairs of three": marginals(Domain((line("x", 6), line("y", 6), line("z", 3))), 2, 3),
    "places": marginals(PLACES, 2, 2),
    "a single point": over(CONSTANT, [(0,), (1,)], 4),
    "nothing but a single point": over(CONSTANT, [(1,)], 4),
}


def program(name: str, loss: str, *, rows: int = 25) -> Program:
    """Few records, and noisy targets of mass 1, some of them negative."""
    family, rng = FAMILIES[name], np.random.default_rng(6)
    codes = random_codes(family.domain.shape, 200, 7)
    targets = []
    for counts in count_codes(codes, [block.cells for block in family.blocks]):
        noisy = counts + rng.laplace(scale=10.0, size=len(counts))
        targets.append((noisy + (len(codes) - noisy.sum()) / len(noisy)) / len(codes))
    support = Support.of(family, codes[:rows] if rows else codes)
    return Program(family=family, support=support, targets=tuple(targets), loss=loss)


def absolute_values(space: FiniteSpace, loss: str) -> tuple[np.ndarray, np.ndarray]:
    """A and c with which L_T or L_tree of w is c |A w|.

    Along the path, what passes over each gap; on the tree, each node's mass times half of what its
    parent's diameter exceeds its own by.
    """
    if loss == "L_T":
        passed = np.arange(space.size)[:, None] >= np.argsort(space.order)
        between = distances(space)[space.order[:-1], space.order[1:]]
        return passed[:-1].astype(float), between
    rows, costs, between = [np.zeros(space.size)], [0.0], distances(space)
    for start, middle, stop in (node for nodes in space.tree.levels for node in nodes):
        whole = space.tree.order[start:stop]
        for points in (space.tree.order[start:middle], space.tree.order[middle:stop]):
            rows.append(np.isin(np.arange(space.size), points).astype(float))
            inside = [between[np.ix_(some, some)].max() for some in (whole, points)]
            costs.append((inside[0] - inside[1]) / 2)
    return np.array(rows), np.array(costs)


def least_loss(own: Program) -> float:
    """The optimum of a dense program: couplings of all pairs of points, or absolute values."""
    size, blocks = own.support.size, own.family.blocks
    spreads = [np.eye(b.space.size)[:, p] for b, p in zip(blocks, own.support.points, strict=True)]
    extra = []  # for every block: costs, and equations A_eq (alpha, own) = b_eq or A_ub <= b_ub
    for block, target, spread in zip(blocks, own.targets, spreads, strict=True):
        points = block.space.size
        if own.loss == "U_T":  # a coupling of the positive part with all that is taken from it
            rows = np.kron(np.eye(points), np.ones(points))
            columns = np.kron(np.ones(points), np.eye(points))
            left = np.block([[0 * spread, rows], [-spread, columns]])
            right = np.concatenate([np.maximum(target, 0), np.maximum(-target, 0)])
            extra.append((distances(block.space).ravel(), left, right, True))
        else:
            signed, costs = absolute_values(block.space, own.loss)
            ones = -np.eye(len(costs))
            left = np.block([[-signed @ spread, ones], [signed @ spread, ones]])
            right = np.concatenate([-signed @ target, signed @ target])
            extra.append((costs, left, right, False))
    ends = size + np.cumsum([0, *(len(costs) for costs, *_ in extra)])
    width = ends[-1] + 1
    unit = np.zeros((1, width))
    unit[0, :size] = 1
    equal, below = [(unit, [1.0])], []
    for (costs, left, right, exact), low, high in zip(extra, ends[:-1], ends[1:], strict=True):
        rows = np.zeros((len(left), width))
        rows[:, :size], rows[:, low:high] = left[:, :size], left[:, size:]
        (equal if exact else below).append((rows, right))
        row = np.zeros((1, width))
        row[0, low:high], row[0, -1] = costs, -1
        below.append((row, [0.0]))
    solved = linprog(
        np.eye(width)[-1],
        A_ub=np.concatenate([rows for rows, _ in below]),
        b_ub=np.concatenate([right for _, right in below]),
        A_eq=np.concatenate([rows for rows, _ in equal]),
        b_eq=np.concatenate([right for _, right in equal]),
        method="highs-ds",
    )
    assert solved.success
    return float(solved.fun)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", FAMILIES)
def test_weights_are_shares_whose_loss_is_the_optimum_of_a_dense_program(name, loss) -> None:
    own = program(name, loss)
    found, expected = solve(own), least_loss(own)
    assert found.loss == pytest.approx(expected, abs=1e-6)
    assert found.bound == pytest.approx(expected, abs=1e-6)
    assert (found.shares >= 0).all()
    assert found.shares.sum() == pytest.approx(1)
    differences = [
        target - np.bincount(points, found.shares, minlength=len(target))
        for target, points in zip(own.targets, own.support.points, strict=True)
    ]
    spaces = [block.space for block in own.family.blocks]
    anew = max(evaluate(loss, *pair) for pair in zip(spaces, differences, strict=True))
    assert found.loss == own.loss_of(found.shares) == pytest.approx(anew, abs=1e-15)
    assert found.loss <= own.loss_of(own.support.start)


@pytest.mark.parametrize("name", SPACES)
def test_losses_are_evaluated_exactly(name) -> None:
    space, rng = SPACES[name], np.random.default_rng(8)
    for difference in (balanced(space.size, rng) for _ in range(3)):
        coupling = cheapest_coupling(distances(space), difference)
        assert evaluate("U_T", space, difference) == pytest.approx(coupling, abs=1e-9)
        signed, costs = absolute_values(space, "L_T")
        along = costs @ np.abs(signed @ difference)
        assert evaluate("L_T", space, difference) == pytest.approx(along, abs=1e-5)


@pytest.mark.parametrize("name", ["pairs", "pairs of three", "places"])
def test_the_loss_on_a_tree_of_true_diameters_is_a_sum_over_its_nodes(name) -> None:
    rng = np.random.default_rng(9)
    for block in FAMILIES[name].blocks:
        difference = balanced(block.space.size, rng)
        signed, costs = absolute_values(block.space, "L_tree")
        assert (costs >= 0).all()
        expected = costs @ np.abs(signed @ difference)
        assert evaluate("L_tree", block.space, difference) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("name", SPACES)
def test_graphs_have_the_points_among_their_nodes_and_a_tree_joins_them_all(name) -> None:
    space = SPACES[name]
    for loss in LOSSES:
        own = graph(space, loss)
        assert len(set(own.places)) == len(own.places) == space.size
        assert set(own.places) | set(own.tails) | set(own.heads) <= set(range(own.nodes))
        assert len(own.tails) == len(own.heads) == len(own.lengths)
        assert (own.lengths >= 0).all()
    for loss in ("L_tree", "L_T"):
        assert len(graph(space, loss).tails) == graph(space, loss).nodes - 1


@pytest.mark.parametrize("name", FAMILIES)
def test_the_cheaper_losses_are_never_below_the_exact_one(name) -> None:
    exact, tree, path = (solve(program(name, loss)) for loss in LOSSES)
    assert exact.loss <= min(tree.loss, path.loss) + 1e-6


@pytest.mark.parametrize("loss", LOSSES)
def test_on_every_point_of_one_block_a_distribution_is_met(loss) -> None:
    family = over(MIXED, [(0, 1)], 3)
    codes = np.indices(MIXED.shape).reshape(len(MIXED), -1).T
    target = np.random.default_rng(10).dirichlet(np.ones(family.blocks[0].space.size))
    support = Support.of(family, codes)
    found = solve(Program(family=family, support=support, targets=(target,), loss=loss))
    assert found.loss < 1e-6
    assert support.shares(family, found.shares)[0] == pytest.approx(target, abs=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_without_noise_the_start_is_the_best(loss) -> None:
    family = FAMILIES["pairs"]
    support = Support.of(family, random_codes(family.domain.shape, 60, 11))
    targets = support.shares(family, support.start)
    found = solve(Program(family=family, support=support, targets=targets, loss=loss))
    assert found.loss == 0
    assert (found.shares == support.start).all()


def answering(x: np.ndarray | None, status: int, fun: float | None = 0.125):
    """A solver that says this whatever it is asked."""
    return lambda *_, **__: SimpleNamespace(x=x, status=status, fun=fun, message="as told")


def test_the_start_is_returned_where_the_solver_has_nothing_or_worse(monkeypatch) -> None:
    own = program("pairs", "U_T", rows=0)
    start, size = own.support.start, own.support.size
    at_start = own.loss_of(start)
    single = [np.eye(size)[i] for i in range(size)]
    worst = max(single, key=own.loss_of)
    assert own.loss_of(worst) > at_start
    for x in (None, worst, np.zeros(size), -np.ones(size)):
        monkeypatch.setattr("scipy.optimize.linprog", answering(x, status=1))
        found = solve(own)
        assert (found.shares == start).all()
        assert found.loss == at_start
        assert found.bound == -np.inf
        assert found.status == "as told"


def test_what_the_solver_returns_is_made_nonnegative_and_evaluated(monkeypatch) -> None:
    own = program("pairs", "L_tree")
    best = solve(own).shares
    answer = np.append(3 * best - (best == 0), [99.0])  # what follows are flows
    monkeypatch.setattr("scipy.optimize.linprog", answering(answer, status=0))
    found = solve(own)
    assert found.shares == pytest.approx(best, abs=1e-15)
    assert found.loss == own.loss_of(found.shares)
    assert found.bound == 0.125


def test_the_solver_is_told_how_long_it_may_take(monkeypatch) -> None:
    told = []

    def listening(*_, options, **__):
        told.append(options["time_limit"])
        return SimpleNamespace(x=None, status=1, fun=None, message="Time limit reached.")

    monkeypatch.setattr("scipy.optimize.linprog", listening)
    found = solve(program("pairs", "U_T"), time_limit=7.5)
    assert told == [7.5]
    assert found.status == "Time limit reached."
    assert found.seconds >= 0


@pytest.mark.parametrize("name", FAMILIES)
def test_a_support_holds_each_point_once_with_the_share_of_its_records(name) -> None:
    family = FAMILIES[name]
    codes = random_codes(family.domain.shape, 90, 12)
    support = Support.of(family, codes)
    every = list(zip(*(block.cells(codes).tolist() for block in family.blocks), strict=True))
    own = list(zip(*(points.tolist() for points in support.points), strict=True))
    assert own == list(dict.fromkeys(every))  # in the order in which they come
    assert support.size == len(own) == len(support.codes) == len(support.start)
    assert support.start == pytest.approx([every.count(point) / 90 for point in own])
    for block, points in zip(family.blocks, support.points, strict=True):
        assert (block.cells(support.codes) == points).all()
    assert {tuple(record) for record in support.codes} <= {tuple(record) for record in codes}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_shares_of_the_start_are_the_histograms_of_its_records(name) -> None:
    family = FAMILIES[name]
    codes = random_codes(family.domain.shape, 90, 13)
    support = Support.of(family, codes)
    histograms = count_codes(codes, [block.cells for block in family.blocks])
    found = support.shares(family, support.start)
    for share, counts in zip(found, histograms, strict=True):
        assert share == pytest.approx(counts / 90)
