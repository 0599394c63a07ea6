"""Fixed selections: sensitivities by brute force, calibrated weights, one call."""

import json
import pickle
from fractions import Fraction
from itertools import combinations
from math import sqrt

import numpy as np
import pytest

from hallmark.mechanisms.marginals.selection.fixed import FixedDesign, plan_fixed
from hallmark.mechanisms.privacy.accountant import fits, rho
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.privacy.events import DiscreteGaussian
from tests.mechanisms.marginals.selection.runs import (
    ALL,
    BUDGET,
    PERSONS,
    REPLACE,
    SHAPE,
    curator_of,
    designed,
    run,
    table,
)
from tests.mechanisms.wasserstein.single_histogram.neighbours import neighbours

WEIGHTED = {
    "workload": [
        {"columns": ["c0", "c1"], "weight": 2},
        {"columns": ["c0", "c1", "c2"], "weight": 0.5},
        {"columns": ["c2"]},
    ]
}


def make(*cells: int, adjacency: Adjacency = PERSONS, **settings: object) -> FixedDesign:
    """For persons, where noise is found fast."""
    return designed(plan_fixed, *(cells or (3, 2, 2)), adjacency=adjacency, **settings)  # type: ignore[no-any-return]


@pytest.mark.parametrize("adjacency", ALL)
@pytest.mark.parametrize(
    ("shape", "settings"),
    [
        ((2, 2, 2), {}),
        ((2, 2, 2), {"ways": 3}),
        ((2, 2, 2), WEIGHTED),
        ((9, 2, 1), {"coarse": 0.3}),
    ],
    ids=["pairs", "triple", "list", "groups"],
)
def test_no_neighbour_moves_the_scaled_marginals_further_than_charged(
    shape: tuple[int, ...], settings: dict[str, object], adjacency: Adjacency
) -> None:
    """The sum of |move|^2 / (2 sigma2) is the rho of continuous noise of that size."""
    design = make(*shape, adjacency=adjacency, **settings)
    worst = 0.0
    for one, other in neighbours(shape, adjacency, [[0, 1, 0]]):
        lost = Fraction(0)
        for asked in design.first:
            maps = [asked.query(shape).cells]
            (before,), (after,) = (count_codes(codes, maps) for codes in (one, other))
            lost += Fraction(int(((after - before) ** 2).sum())) / (2 * asked.sigma2)
        worst = max(worst, lost)
    assert worst == rho(design.events)


@pytest.mark.parametrize("adjacency", ALL)
@pytest.mark.parametrize(
    ("cells", "settings"),
    [
        ((3, 2, 2), {}),
        ((3, 2, 2), WEIGHTED),
        ((20, 9, 2), {"coarse": 0.1, "emphasis": 0.2}),
        ((3, 2, 2), {"priorities": {"columns": ["c0", "c1", "c2"]}}),
        ((3, 2, 2), {"target": "c1"}),
    ],
    ids=["equal", "weighted", "groups", "priorities", "target"],
)
def test_the_design_fits_its_budget_and_little_less_noise_would_not(
    cells: tuple[int, ...], settings: dict[str, object], adjacency: Adjacency
) -> None:
    design = make(*cells, adjacency=adjacency, **settings)
    assert fits(design.events, BUDGET)
    less = [
        DiscreteGaussian(**vars(event) | {"sigma2": event.sigma2 * Fraction(9995, 10_000)})
        for event in design.events
    ]
    assert not fits(less, BUDGET)
    assert not any(event.adaptive for event in design.events)


def test_all_marginals_have_the_same_noise_and_cover_all_columns() -> None:
    design = make(4, 3, 2, 5)
    assert [asked.clique for asked in design.first] == list(combinations(range(4), 2))
    assert len({asked.sigma2 for asked in design.first}) == 1
    assert make(7).largest == ((0,),)


def test_noise_is_divided_by_the_weights_and_only_their_ratios_matter() -> None:
    design = make(**WEIGHTED)
    pair, triple, single = (asked.sigma2 for asked in design.first)
    assert triple / pair == pytest.approx(16, rel=1e-5)  # six digits are kept
    assert single / pair == pytest.approx(4, rel=1e-5)
    tenfold = {"workload": [{**w, "weight": 10 * w.get("weight", 1)} for w in WEIGHTED["workload"]]}
    assert make(**tenfold).sigma2 == design.sigma2


def test_weights_are_normalised_as_the_paper_has_it() -> None:
    """sigma_S = sigma / w_S with sum w_S^2 = K, where sigma is that of K equal marginals."""
    sigma2, weights = make().sigma2[0], np.array([2, 0.5, 1])
    normalised = weights / sqrt((weights**2).sum() / 3)
    expected = float(sigma2) / normalised**2
    assert [float(s) for s in make(**WEIGHTED).sigma2] == pytest.approx(expected, rel=3e-4)


def test_columns_in_no_marginal_are_measured_by_themselves_and_that_is_said() -> None:
    design = make(
        4, 3, 2, 5, workload=[{"columns": ["c1"], "weight": 3}, {"columns": ["c3"], "weight": 1}]
    )
    assert design.largest == ((1,), (3,), (0,), (2,))
    assert design.added == ((0,), (2,))
    assert design.sigma2[2] == design.sigma2[3]
    assert design.sigma2[2] / design.sigma2[0] == pytest.approx(9 / 4, rel=1e-5)  # weight 2
    assert design.parameters["one_ways_added"] == ["c0", "c2"]
    assert "one_ways_added" not in make().parameters


def test_large_marginals_are_measured_in_groups_too_with_the_share_of_the_budget() -> None:
    design = make(20, 9, 3, 2, coarse=0.2, emphasis=0.2)
    fine = len(design.largest)
    assert fine == 6
    groups = design.first[fine:]
    # 9 x 3 has 27 cells and 4 x 3 = 12 groups; 3 x 2 has as many of either.
    assert [asked.clique for asked in groups] == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]
    assert {asked.groups for asked in groups} == {4}
    assert [asked.groups for asked in design.first[:fine]] == [None] * fine
    spent = sum(1 / asked.sigma2 for asked in groups)
    assert float(spent / sum(1 / a.sigma2 for a in design.first)) == pytest.approx(0.2, rel=0.01)
    by_clique = {asked.clique: asked.sigma2 for asked in design.first[:fine]}
    ratios = {float(asked.sigma2 / by_clique[asked.clique]) for asked in groups}
    assert max(ratios) == pytest.approx(min(ratios), rel=1e-4)
    assert design.parameters["coarse"] == 0.2
    small = make(3, 2, 2, coarse=0.2)
    assert small.grouped == ()
    assert small.sigma2 == make(3, 2, 2).sigma2
    assert "coarse" not in small.parameters


def test_a_group_counts_the_records_of_its_cells() -> None:
    codes = np.random.default_rng(0).integers((20, 9, 2), size=(300, 3))
    design = make(20, 9, 2, coarse=0.1)
    asked = next(a for a in design.first if a.groups and a.clique == (0, 1))
    (counts,) = count_codes(codes, [asked.query((20, 9, 2)).cells])
    exact, *_ = np.histogram2d(codes[:, 0], codes[:, 1], bins=[[0, 5, 10, 15, 20], [0, 3, 5, 7, 9]])
    np.testing.assert_array_equal(counts.reshape(4, 4), exact)


def test_noise_lines_tell_groups_apart() -> None:
    design = make(20, 9, 2, coarse=0.1)
    lines = {line.query: line.cells for line in design.noise}
    assert lines == {
        "all 3 2-way marginals": 180 + 40 + 18,
        "all 3 2-way marginals, in 4 groups of cells a column": 16 + 8 + 8,
    }


def test_noise_lines_group_equal_noise() -> None:
    (line,) = make().noise
    assert line.query == "all 3 2-way marginals"
    assert line.cells == 6 + 6 + 4
    assert line.sensitivity == "L2 = sqrt(27) records"
    lines = make(**WEIGHTED).noise
    assert [line.cells for line in lines] == [6, 2, 12]
    assert lines[0].query == "the marginal c0 x c1"


def test_a_run_is_one_call(url: str) -> None:
    design, codes = make(*SHAPE, adjacency=REPLACE), table()
    curator = curator_of(url, codes)
    answers = run(design, curator)
    assert [call.call for call in curator.ledger.calls("r")] == ["marginals"]
    assert curator.ledger.events("r") == design.events
    for answer in answers:
        (exact,) = count_codes(codes, [answer.asked.query(design.domain.shape).cells])
        assert np.abs(answer.counts - exact).max() < 10 * sqrt(answer.asked.sigma2)


def test_a_design_pickles_and_its_parameters_are_plain_json() -> None:
    design = make(**WEIGHTED)
    again = pickle.loads(pickle.dumps(design))
    assert [a.query((3, 2, 2)).digest for a in again.first] == [
        a.query((3, 2, 2)).digest for a in design.first
    ]
    assert json.loads(json.dumps(design.parameters)) == design.parameters


def test_priorities_get_their_share_and_what_is_there_already_gets_more() -> None:
    cells = (3, 2, 2)
    design = make(*cells, priorities={"columns": ["c2", "c0", "c1"], "share": 0.25})
    precision = {one.clique: 1 / one.sigma2 for one in design.first}
    whole = sum(precision.values(), Fraction(0))
    assert float(precision[0, 1, 2] / whole) == pytest.approx(0.25, rel=1e-3)
    assert precision[0, 1] == precision[1, 2]
    again = make(*cells, priorities={"columns": ["c0", "c1"], "ways": 2, "share": 0.25})
    more = {one.clique: 1 / one.sigma2 for one in again.first}
    # A third of the budget's other three quarters, and the whole share.
    assert float(more[0, 1] / sum(more.values(), Fraction(0))) == pytest.approx(0.5, rel=1e-3)
    least = make(*cells, priorities={"columns": ["c0", "c1", "c2"], "share": 1e-9})
    assert 0 < 1 / max(one.sigma2 for one in least.first) < min(precision.values())
    assert design.parameters["ways"] == 2
    assert design.parameters["priorities"] == {
        "columns": ["c0", "c1", "c2"],
        "ways": 3,
        "share": "1/4",
    }


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"way": 2}, r"mechanism\.selection\.way: all has no such setting; did you mean ways\?"),
        ({"zzz": 2}, "it knows ways, workload"),
        ({"coarse": 1.5}, r"mechanism\.selection\.coarse: 1\.5; give a number from 0 to below 1"),
        ({"emphasis": 1}, r"mechanism\.selection\.emphasis: 1; give a number from 0 to below 1"),
        ({"emphasis": ""}, r"mechanism\.selection\.emphasis: ''; give a number from 0"),
        ({"coarse": False}, r"mechanism\.selection\.coarse: False; give a number from 0"),
        ({"ways": 9}, "only 3 columns"),
        ({"priorities": ["c0"]}, r"priorities: \['c0'\]; give \{columns: \[\.\.\.\], ways: 3"),
        ({"priorities": {"columns": ["c0"], "way": 1}}, r"priorities\.way: .*did you mean ways\?"),
        ({"target": ["c0"]}, r"target: \['c0'\]; give a column, or \{column: \.\.\., share"),
        ({"target": "c9"}, r"target: there is no column c9"),
        ({"target": {"column": "c0", "part": 1}}, r"target\.part: .*no such setting"),
        ({"target": {"column": "c0", "share": 0}}, r"target\.share: 0; give a number between"),
        ({"priorities": {"columns": ["c9"]}}, r"priorities\.columns: there is no column c9"),
        (
            {"priorities": {"columns": ["c0", "c1"]}},
            r"priorities\.ways: 3; give a whole number from 1 to the 2 columns",
        ),
        (
            {"priorities": {"columns": ["c0", "c1"], "ways": 2, "share": 1}},
            r"priorities\.share: 1; give a number between 0 and 1",
        ),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make(**settings)


def test_a_target_gets_its_share_for_its_pairs() -> None:
    cells = (3, 4, 5, 2)
    plain, design = make(*cells), make(*cells, target={"column": "c2", "share": 0.25})
    assert design.largest == plain.largest
    own = [2 in clique for clique in design.largest]
    precisions = np.array([float(1 / sigma2) for sigma2 in design.sigma2])
    others = precisions[~np.array(own)]
    assert np.allclose(others, others[0])
    assert np.isclose((precisions[own] - others[0]).sum() / precisions.sum(), 0.25, atol=0.002)
    assert design.parameters["target"] == {"column": "c2", "share": "1/4"}
    assert make(*cells, target="c2").parameters["target"]["share"] == "3/20"
    with pytest.raises(ValueError, match="target: c0 is the only column"):
        make(3, target="c0")


def test_tables_that_are_too_large_and_pure_budgets_are_refused() -> None:
    with pytest.raises(ValueError, match=r"600,000,000 cells.*c0 x c1 with 600,000,000"):
        make(20_000, 30_000)
    with pytest.raises(ValueError, match="needs delta > 0"):
        designed(plan_fixed, budget=Budget(epsilon=Fraction(1)))
