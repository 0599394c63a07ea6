"""Methods inside cliques: what is asked and charged, limits, bounds, rules, a run that died."""

import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.domain.rules import Rules, RuleTable
from hallmark.mechanisms.linear_queries import kinds
from hallmark.mechanisms.linear_queries.cliquewise import (
    Cliquewise,
    MeasuredCliquewise,
    plan_dpam_or_cliquewise,
    plan_dpfw_or_cliquewise,
)
from hallmark.mechanisms.linear_queries.direct.certify import SelfBounding, query_bounds
from hallmark.mechanisms.linear_queries.dpam.method import Dpam, plan_dpam
from hallmark.mechanisms.linear_queries.frank_wolfe.dpfw import ITERATES, FrankWolfe, plan_dpfw
from hallmark.mechanisms.linear_queries.mechanism import answers_of
from hallmark.mechanisms.linear_queries.plan import LinearQueryPlan
from hallmark.mechanisms.linear_queries.questions import PathQuestion
from hallmark.mechanisms.privacy.accountant import fits, rho
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import count_codes
from hallmark.mechanisms.privacy.events import merged
from hallmark.mechanisms.privacy.queries import SCORE_STEPS
from hallmark.mechanisms.replicates.simulated import SimulatedCurator
from tests.builders.codes import dependent_codes
from tests.mechanisms.linear_queries.adaptive_runs import (
    ADD,
    BUDGET,
    PERSONS,
    PURE,
    REPLACE,
    Gone,
    bits,
    curator,
    error,
    finished,
    losses,
    planned,
    told,
    ways,
)
from tests.mechanisms.linear_queries.releases import plan_of, released, simulated
from tests.mechanisms.wasserstein.single_histogram.neighbours import neighbours

FALSE_POSITIVE_RATE = 1e-6
SMALL = ways((2, 2, 2), 1, 2)  # three cliques
PLANS = {"dpfw": plan_dpfw_or_cliquewise, "dpam": plan_dpam_or_cliquewise}
FEW: Mapping[str, Mapping[str, Any]] = {"dpfw": {"rounds": 12}, "dpam": {"iterations": 12}}
NAMES = list(PLANS)


def inside(name: str, universe: Any = SMALL, **given: Any) -> Any:
    """The method inside the cliques of a universe."""
    return planned(PLANS[name], universe, **{"cliquewise": True, **FEW[name], **given})


@pytest.mark.parametrize(
    ("name", "adjacency"), [("dpfw", REPLACE), ("dpfw", ADD), ("dpam", ADD)], ids=str
)
def test_every_clique_is_asked_by_a_name_of_its_own_after_one_number_of_records(
    tmp_path: Path, name: str, adjacency: Adjacency
) -> None:
    method = inside(name, adjacency=adjacency)
    asked = curator(tmp_path, bits(400), method)
    method.ask(asked)
    names = [call.call for call in asked.ledger.calls("r")]
    totals = int(name == "dpfw" and adjacency is not REPLACE)  # one number of records for all
    assert names[:totals] == ["total"] * totals
    assert len(set(names)) == len(names) == 3 + totals


@pytest.mark.parametrize("adjacency", [REPLACE, ADD, PERSONS], ids=str)
def test_no_neighbour_moves_all_histograms_further_than_charged(adjacency: Adjacency) -> None:
    universe = ways((2, 2, 2), 2)
    method = inside("dpam", universe, adjacency=adjacency)
    maps = universe.queries.maps  # the cliques' marginals
    worst = Fraction(0)
    for one, other in neighbours((2, 2, 2), adjacency, [[0, 1, 0]]):
        moved = np.concatenate(count_codes(one, maps)) - np.concatenate(count_codes(other, maps))
        worst = max(worst, int((moved**2).sum()) / (2 * method.methods[0].sigma2))
    assert worst == rho(method.events)


def joint_loss(method: Cliquewise[FrankWolfe], sensitivity: int, adjacency: Adjacency) -> float:
    """Of the first choices in all cliques together, over all neighbours; by brute force."""
    worst = 0.0
    for pair in neighbours((2, 2, 2), adjacency, [[0, 1, 0]]):
        lost = []
        for clique, one in zip(method.cliques, method.methods, strict=True):
            reference = PathQuestion(one.universe, 1, one._path, "")(())
            within = [codes[:, list(clique)] for codes in pair]
            loss = losses(one.universe, within, reference, one.epsilon, sensitivity)
            lost.append((loss.max(), -loss.min()))
        worst = max(worst, *np.sum(lost, axis=0))  # cliques' first choices are independent
    return worst


@pytest.mark.parametrize("adjacency", [REPLACE, ADD], ids=str)
def test_choices_of_all_cliques_lose_no_more_than_their_epsilons_and_half_the_noise_does(
    adjacency: Adjacency,
) -> None:
    budget = Budget(epsilon=Fraction(6))
    method = inside("dpfw", budget=budget, adjacency=adjacency, rounds=1)
    total = float(sum(one.epsilon for one in method.methods))
    sensitivity = SCORE_STEPS * SMALL.queries.sensitivity(adjacency)
    assert joint_loss(method, sensitivity, adjacency) <= total * (1 + 1e-9)
    broken = [replace(one, epsilon=2 * one.epsilon) for one in method.methods]
    twin = replace(method, methods=tuple(broken))
    assert joint_loss(twin, sensitivity, adjacency) > total * 1.05


def test_budgets_are_split_where_more_is_left_of_them() -> None:
    third = Budget(epsilon=Fraction(1, 3), delta=BUDGET.delta)
    for rounds in (12, 60):
        shared = inside("dpfw", rounds=rounds).methods[0].epsilon
        assert shared > planned(plan_dpfw, SMALL, budget=third, rounds=rounds).epsilon * Fraction(
            3, 2
        )
    shared = inside("dpam").methods[0].sigma2
    assert shared < planned(plan_dpam, SMALL, budget=third).sigma2 / 2
    pure = inside("dpfw", budget=PURE, adjacency=ADD, rounds=10)
    assert {one.epsilon for one in pure.methods} == {Fraction(95, 3000)}
    # Two choices in all cost less where epsilons add up than in zCDP.
    two = inside("dpfw", ways((2, 2, 2), 1, 2, 3), rounds=2)
    assert [one.epsilon for one in two.methods] == [Fraction(1, 2)]
    both = inside("dpfw", ways((2, 2), 1), rounds=1)
    assert [one.epsilon for one in both.methods] == [Fraction(1, 2), Fraction(1, 2)]


@pytest.mark.parametrize("adjacency", [REPLACE, ADD, PERSONS], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_one_clique_is_the_plain_method(tmp_path: Path, name: str, adjacency: Adjacency) -> None:
    universe = ways((2, 2, 2), 1, 2, 3)
    method = inside(name, universe, adjacency=adjacency)
    plain = planned(PLANS[name], universe, adjacency=adjacency, **FEW[name])
    assert isinstance(plain, FrankWolfe | Dpam)
    assert (method.cliques, method.events) == (((0, 1, 2),), plain.events)
    assert method.methods[0].parameters == plain.parameters
    asked = curator(tmp_path, bits(400, 3), method)
    answers = method.ask(asked)
    own = {call.removesuffix(" in clique 0 1 2"): tables for call, tables in answers.items()}
    found, expected = finished(method, answers, asked), finished(plain, own, asked)
    assert method.records(answers, asked.total()) == plain.records(own, asked.total())
    np.testing.assert_allclose(found.answers(), expected.answers(), atol=2e-4)


@pytest.mark.parametrize("name", NAMES)
def test_false_is_the_plain_method(name: str) -> None:
    method = planned(PLANS[name], SMALL, cliquewise=False, **FEW[name])
    assert method.parameters == planned(PLANS[name], SMALL, **FEW[name]).parameters


def test_with_hardly_any_noise_the_error_of_dpam_is_small() -> None:
    codes, rng = bits(3000, 3), np.random.default_rng(0)
    measured = inside("dpam", expected=3000, alpha=0.002, iterations=1000)
    precise = [replace(one, sigma2=Fraction(1, 100)) for one in measured.methods]
    method = replace(measured, methods=tuple(precise))
    asked: Any = SimulatedCurator(codes=codes, adjacency=REPLACE, rng=rng)
    found = finished(method, method.ask(asked), asked).answers()
    assert error(SMALL, codes, found) < 0.02


@pytest.mark.parametrize(
    ("name", "given"),
    [
        *(("dpfw", {"iterate": iterate}) for iterate in ITERATES),
        ("dpfw", {"constants": "paper"}),
        ("dpfw", {"noise": "paper"}),
        ("dpfw", {"model": "random-field"}),
        ("dpam", {"variant": "printed"}),
        ("dpam", {"noise_constant": "paper"}),
        ("dpam", {"alpha": 0.5}),
    ],
    ids=str,
)
def test_every_setting_of_the_methods_is_one_inside_cliques(
    name: str, given: Mapping[str, Any]
) -> None:
    method = inside(name, **given)
    assert fits(method.events, BUDGET)
    for key, value in given.items():
        assert method.parameters[key] == value
    rng = np.random.default_rng(0)
    asked: Any = SimulatedCurator(codes=bits(400), adjacency=REPLACE, rng=rng)
    made = finished(method, method.ask(asked), asked)
    answers = made.answers()
    np.testing.assert_allclose([answers[:2].sum(), answers[6:10].sum()], 1)
    assert made.cells(50, rng).shape == (50, 3)


def test_less_noise_than_a_share_pays_for_is_never_drawn() -> None:
    ours, paper = inside("dpfw"), inside("dpfw", noise="paper")
    for one, other in zip(ours.methods, paper.methods, strict=True):
        assert other.epsilon < one.epsilon / 3
    least, more = inside("dpam"), inside("dpam", noise_constant="paper")
    assert more.methods[0].sigma2 > 2 * least.methods[0].sigma2


@pytest.mark.parametrize("adjacency", [REPLACE, ADD], ids=str)
def test_bounds_of_dpam_miss_no_more_often_than_stated_and_half_of_them_do(
    adjacency: Adjacency,
) -> None:
    codes, universe = bits(200), ways((2, 2, 2), 2)
    method = inside("dpam", universe, adjacency=adjacency, expected=200)
    assert isinstance(method, MeasuredCliquewise)
    truth = universe.queries.answers(count_codes(codes, universe.queries.maps)) / 200
    runs, misses, broken = 30, 0, 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        asked: Any = SimulatedCurator(codes=codes, adjacency=adjacency, rng=rng)
        answers, total = method.ask(asked), asked.total()
        made = method.distribution(answers, total, progress=lambda share, doing: None).answers()
        each = query_bounds(method.measured(answers), total, made, confidence=0.8, rng=rng).each
        misses += bool((np.abs(made - truth) > each).any())
        # The linear estimate is the worst case for the part that is noise.
        histograms = [table for (table,) in answers.values()]
        linear = method.estimate.means_of(histograms, method.records(answers, total))
        each = query_bounds(method.measured(answers), total, linear, confidence=0.8, rng=rng).each
        misses += bool((np.abs(linear - truth) > each).any())
        broken += bool((np.abs(linear - truth) > each / 2).any())
    # Two looks a run: P(more misses | the claim holds) is at most twice that of a binomial.
    assert 2 * binom.sf((misses - 1) // 2, runs, 0.2) > FALSE_POSITIVE_RATE
    assert binom.sf(broken - 1, runs, 0.2) < FALSE_POSITIVE_RATE


DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 2, "d": 4, "unseen": 3})
PAIRS = [(0, 1), (1, 2), (2, 3)]


def whole(name: str, domain: Domain = DOMAIN, rows: int = 300, **given: Any) -> LinearQueryPlan:
    """The plan of a release."""
    pairs = kinds.marginal_cells(domain, PAIRS)
    return plan_of(name, domain, pairs, rows=rows, cliquewise=True, **FEW[name], **given)


def made_by(plan: LinearQueryPlan, codes: np.ndarray, seed: int) -> tuple[np.ndarray, Any]:
    """Records and certificate of a release with simulated noise."""
    curator = simulated(plan, codes, seed)
    _, made, certificate = released(plan, curator, seed, 0.95)
    curator.check(BUDGET)
    return made, certificate


@pytest.mark.parametrize("adjacency", [REPLACE, ADD], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_certificates_miss_no_more_often_than_stated(name: str, adjacency: Adjacency) -> None:
    codes, runs, misses = dependent_codes(DOMAIN.shape, 300, 1), 5, 0
    plan = whole(name, adjacency=adjacency)
    truth = answers_of(plan.workload, codes)
    for seed in range(runs):
        made, certificate = made_by(plan, codes, seed)
        on_records, as_released = certificate.bounds
        far = np.abs(certificate.answers.distribution - truth)
        misses += bool((far > certificate.answers.bounds).any()) or (
            np.abs(answers_of(plan.workload, made) - truth).max() > on_records.value
        )
        assert as_released.value <= 1
    assert binom.sf(misses - 1, runs, 0.05) > FALSE_POSITIVE_RATE


def test_only_the_method_that_measures_bounds_itself() -> None:
    assert isinstance(inside("dpam"), SelfBounding)
    assert not isinstance(inside("dpfw"), SelfBounding)
    _, certificate = made_by(
        whole("dpfw", certificate_share=0), dependent_codes(DOMAIN.shape, 300, 1), 0
    )
    assert "no share" in next(iter(certificate.bounds[0].terms))


@pytest.mark.parametrize("name", NAMES)
def test_records_obey_the_rules_that_cliques_hold(name: str) -> None:
    """One rule within a clique, one across two whose projections say nothing, one unseen."""
    either = np.ones((2, 3), dtype=np.bool_)
    either[0, 1:] = False
    unlike = ~np.eye(2, dtype=np.bool_)
    across = np.eye(4, 3, dtype=np.bool_)
    across[3] = True
    tables = (
        RuleTable("a and b", (0, 1), either),
        RuleTable("a and c", (0, 2), unlike),
        RuleTable("d and unseen", (3, 4), across),
    )
    domain = replace(DOMAIN, rules=Rules(DOMAIN.shape, tables))
    codes = dependent_codes(DOMAIN.shape, 400, 1)
    assert not domain.rules.valid(codes).all()
    plan = whole(name, domain, 400)
    made, certificate = made_by(plan, codes, 0)
    assert domain.rules.valid(made).all()
    method = plan.method
    assert isinstance(method, Cliquewise)
    assert not method.methods[0].universe.possible.all()
    impossible = [
        answer
        for label, answer in zip(
            certificate.answers.labels, certificate.answers.distribution, strict=True
        )
        if re.fullmatch(r"a = 0, b = [12]", label)
    ]
    assert impossible == [0, 0]


def test_a_run_that_died_between_two_cliques_goes_on_where_it_was(tmp_path: Path) -> None:
    class Dead(Exception):
        pass

    class Dying(Gone):
        """Answers two tables, then nothing."""

        def count(self, maps: Any) -> Any:
            self.seen = getattr(self, "seen", 0) + 1
            if self.seen > 2:
                raise Dead
            return count_codes(codes, maps)

    codes, method = bits(400), inside("dpam")
    asked = curator(tmp_path, codes, method)
    with pytest.raises(Dead):
        method.ask(replace(asked, counter=Dying(400)))
    early = len(asked.ledger.calls("r"))
    answers = method.ask(asked)
    assert (early, len(asked.ledger.calls("r")), len(answers)) == (2, 3, 3)
    assert set(merged(asked.ledger.events("r"))) == set(method.events)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_told(name: str) -> None:
    method = inside(name, adjacency=ADD, expected=10_000)
    found = told(method.parameters)
    assert (found["cliquewise"], found["cliques"]) == (True, 3)
    (inner,) = found["by_clique"]  # alike, so that all they have is told above
    assert inner == {"cliques": [f"column {i} x column {j}" for i, j in ((1, 2), (1, 3), (2, 3))]}
    assert set(method.methods[0].parameters) < set(found)
    assert 1 / 3 < found["clique_budget"]["epsilon"] < 2 / 3
    line = method.noise[-1]
    assert "in each of 3 cliques (column 1 x column 2, " in line.query
    assert line.cells == (3 * 12 if name == "dpfw" else 3 * 4)
    assert len(method.noise) == (2 if name == "dpfw" else 1)
    value, words = method.expected_error()
    assert 0 < value <= 1
    assert value == max(one.expected_error()[0] for one in method.methods)
    assert words.startswith("an estimate for the worst clique alone, as nothing is proved of all")
    assert "Section 4" in method.source
    assert method.memory_bytes > max(one.memory_bytes for one in method.methods)


def test_cliques_of_other_sizes_are_told_apart() -> None:
    method = inside("dpam", ways((2, 3, 2), 2))
    found = method.parameters["by_clique"]
    assert [len(one["cliques"]) for one in found] == [2, 1]
    assert found[0]["alpha"] < found[1]["alpha"]
    assert "alpha" not in method.parameters
    assert [line.cells for line in method.noise] == [6 + 4 + 6]
    (line,) = inside("dpfw", ways((2,) * 4, 2)).noise
    assert "in each of 6 cliques (column 1 x column 2, " in line.query
    assert line.query.endswith(" and 3 more)")


@pytest.mark.parametrize("name", NAMES)
def test_universes_that_nobody_could_write_down_work(name: str) -> None:
    domain = Domain.coded({f"col{i}": 10 for i in range(12)})
    cells = kinds.marginal_cells(
        domain, [*((i, i + 1) for i in range(0, 10, 2)), (1, 2), (10,), (11,)]
    )
    plan = plan_of(name, domain, cells, rows=500, cliquewise=True, **FEW[name])
    assert plan.method.universe.size == 10**12
    codes = np.random.default_rng(0).integers(0, domain.shape, (500, 12))
    assert made_by(plan, codes, 1)[0].shape == (500, 12)


def test_queries_that_are_no_marginals_are_refused() -> None:
    queries = (*kinds.marginal_cells(DOMAIN, PAIRS), kinds.prefixes(DOMAIN, [3]))
    with pytest.raises(ValueError, match=r"cliquewise: true takes marginals alone, .* over d;"):
        plan_of("dpfw", DOMAIN, queries, cliquewise=True)
