"""Whole runs of methods for linear queries: budgets, records, certificates, replays."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.domain.rules import Determination, Rules, RuleTable
from hallmark.mechanisms.linear_queries import kinds
from hallmark.mechanisms.linear_queries.kinds import Part
from hallmark.mechanisms.linear_queries.mechanism import LinearQueryMechanism, answers_of
from hallmark.mechanisms.linear_queries.plan import LinearQueryPlan
from hallmark.mechanisms.privacy.accountant import fits
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.curator import Curator
from hallmark.mechanisms.privacy.events import Event
from hallmark.mechanisms.registry import MECHANISMS
from tests.builders.codes import dependent_codes
from tests.mechanisms.linear_queries.adaptive_runs import BUDGET, PURE, Gone
from tests.mechanisms.linear_queries.releases import plan_of, released, simulated
from tests.mechanisms.marginals.selection.runs import ADD, PERSONS, REPLACE, curator_of

FALSE_POSITIVE_RATE = 1e-6
NAMES = [name for name, one in MECHANISMS.items() if isinstance(one, LinearQueryMechanism)]
DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 2, "d": 4, "unseen": 3})
PAIRS = kinds.marginal_cells(DOMAIN, [(0, 1), (1, 2), (0, 2)])
AGES = (*kinds.marginal_cells(DOMAIN, [(0, 1)]), kinds.prefixes(DOMAIN, [3]))
# What a few hundred records can tell: methods that need more rounds by default take fewer here.
FEW: Mapping[str, Mapping[str, Any]] = {
    "dpfw": {"rounds": 20},
    "mwem-queries": {"rounds": 5},
    "dual-query": {"rounds": 12},
    "dqrs": {"rounds": 12},
    "fem": {"rounds": 40},
    "sep-fem": {"rounds": 40},
}
# Every method at every budget and relation; of most methods some pairs are left to `slow`.
WHOLE = {"dpfw", "linear-queries"}  # one that chooses, one that measures
FIRST = ((BUDGET, REPLACE), (PURE, ADD), (BUDGET, PERSONS))
RUNS = [
    pytest.param(
        *(name, budget, adjacency),
        marks=() if name in WHOLE or (budget, adjacency) in FIRST else pytest.mark.slow,
    )
    for name, budget, adjacency in product(NAMES, (BUDGET, PURE), (REPLACE, ADD, PERSONS))
    if not (name == "dpam" and budget.is_pure)  # Gaussian noise alone
]


def planned(
    name: str, queries: Iterable[Part] | None = PAIRS, *, domain: Domain = DOMAIN, **given: Any
) -> LinearQueryPlan:
    return plan_of(name, domain, queries, **{**FEW.get(name, {}), **given})


def asked(plan: LinearQueryPlan, codes: np.ndarray, folder: Path) -> Curator:
    url = f"sqlite:///{folder / 'ledger.db'}"
    curator: Curator = curator_of(url, codes, plan.adjacency, plan.budget)
    return curator


def times(events: Iterable[Event]) -> Mapping[type[Event], int]:
    """How many there are of every type."""
    found: Counter[type[Event]] = Counter()
    for event in events:
        found[type(event)] += event.times
    return found


@pytest.mark.parametrize(("name", "budget", "adjacency"), RUNS, ids=str)
def test_a_run_charges_what_was_planned_and_certifies_what_it_made(
    name: str, budget: Budget, adjacency: Adjacency, tmp_path: Path
) -> None:
    plan = planned(name, budget=budget, adjacency=adjacency)
    codes = dependent_codes(DOMAIN.shape, 400)
    assert fits(plan.events, budget)
    assert 0 < plan.forecast().expected_error <= 1
    curator = asked(plan, codes, tmp_path)
    _, made, certificate = released(plan, curator)
    charged = curator.ledger.events("r")
    assert fits(charged, budget)
    assert times(charged) == times(plan.events)
    assert made.shape[1] == len(DOMAIN)
    assert (made >= 0).all()
    assert (made < DOMAIN.shape).all()
    assert set(np.unique(made[:, 4])) == {0, 1, 2}  # no query sees it: spread evenly
    on_records, as_released = certificate.bounds
    assert on_records.value >= as_released.value > 0
    answers = certificate.answers
    assert answers is not None
    np.testing.assert_allclose(answers.records, answers_of(plan.workload, made))
    assert len(answers.labels) == plan.workload.size == len(answers.bounds)
    assert max(answers.bounds) <= as_released.value * plan.width * (1 + 1e-9) + (
        2 if as_released.vacuous else 0
    )


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_a_run_that_is_repeated_reads_no_data(name: str, tmp_path: Path) -> None:
    plan = planned(name)
    curator = asked(plan, dependent_codes(DOMAIN.shape, 400), tmp_path)
    first = released(plan, curator)
    again = released(plan, replace(curator, counter=Gone(400)))
    np.testing.assert_array_equal(first[1], again[1])
    assert first[2].bounds == again[2].bounds


@pytest.mark.parametrize("adjacency", [REPLACE, ADD], ids=str)
@pytest.mark.parametrize("name", ["dpfw", "linear-queries"])
def test_certificates_miss_no_more_often_than_stated(name: str, adjacency: Adjacency) -> None:
    codes, runs, misses = dependent_codes(DOMAIN.shape, 150, seed=1), 25, 0
    plan = planned(name, adjacency=adjacency, rows=150)
    truth = answers_of(plan.workload, codes)
    for run in range(runs):
        _, made, certificate = released(plan, simulated(plan, codes, run), run, 0.75)
        on_records, as_released = certificate.bounds
        assert certificate.answers is not None
        errors = [
            np.abs(answers - truth).max() / plan.width
            for answers in (answers_of(plan.workload, made), certificate.answers.distribution)
        ]
        misses += errors[0] > on_records.value or errors[1] > as_released.value
    assert binom.sf(misses - 1, runs, 0.25) > FALSE_POSITIVE_RATE


def test_no_budget_buys_the_answers_exactly_and_a_large_one_nearly() -> None:
    codes = dependent_codes(DOMAIN.shape, 2000, seed=2)
    errors = []
    for epsilon in (Fraction(1), Fraction(1000)):
        plan = planned("linear-queries", AGES, budget=Budget(epsilon=epsilon), rows=2000)
        made = released(plan, simulated(plan, codes, 0))[1]
        truth = answers_of(plan.workload, codes)
        errors.append(float(np.abs(answers_of(plan.workload, made) - truth).max()))
    assert errors[1] < errors[0]
    assert errors[1] < 2e-3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"queries": None}, r"mechanism\.queries: missing"),
        ({"certificate_share": 1}, r"mechanism\.certificate_share: 1; give a share"),
        ({"certificate_share": "much"}, r"mechanism\.certificate_share: 'much'"),
        ({"unheard": 1}, r"mechanism\.unheard"),
    ],
)
def test_wrong_parameters_are_named(given: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        planned("dpfw", **given)


def test_without_a_share_nothing_is_certified_and_all_is_spent_on_the_method() -> None:
    whole, shared = planned("dpfw", certificate_share=0), planned("dpfw")
    assert whole.worst is None
    assert shared.worst is not None
    assert len(whole.events) < len(shared.events)
    (choices,) = whole.events
    assert choices.epsilon > shared.events[0].epsilon  # type: ignore[union-attr]


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_a_method_that_adds_epsilons_up_leaves_the_certificate_its_share(rounds: int) -> None:
    plan = planned("dpfw", rounds=rounds)
    assert plan.worst is not None
    assert plan.worst.choice.epsilon >= Fraction(3, 4) * Fraction(1, 10)
    assert fits(plan.events, BUDGET)


def ruled(broken: float = 0.5) -> tuple[Domain, np.ndarray]:
    """A domain with rules on seen and unseen columns, and records of which many break them."""
    either = np.ones((2, 3), dtype=np.bool_)
    either[0, 1:] = False
    across = np.eye(4, 3, dtype=np.bool_)
    across[3] = True
    tables = (RuleTable("a and b", (0, 1), either), RuleTable("d and unseen", (3, 4), across))
    rules = Rules(DOMAIN.shape, tables, (Determination("d determines c", 3, 2),))
    rng, codes = np.random.default_rng(5), dependent_codes(DOMAIN.shape, 400, seed=5)
    codes = codes[(rng.random(400) < broken) | rules.valid(codes)]
    return replace(DOMAIN, rules=rules), codes


def under_rules(name: str, **given: Any) -> tuple[LinearQueryPlan, np.ndarray]:
    domain, codes = ruled()
    queries = (*kinds.marginal_cells(domain, [(0, 1, 2)]), kinds.conjunction(domain, {3: [0]}, ""))
    if name == "sep-fem":  # queries that tell all cells apart
        queries = kinds.marginal_cells(domain, [(0, 1), (1, 2)])
    return planned(name, queries, domain=domain, rows=len(codes), **given), codes


WAYS = [
    *((name, {}) for name in NAMES),
    ("linear-queries", {"estimator": "projection"}),
    ("linear-queries", {"estimator": "workload"}),
    ("linear-queries", {"estimator": "graphical"}),
    ("dpam", {"variant": "printed"}),
    ("dpfw", {"model": "random-field"}),
    ("dpfw", {"iterate": "mean"}),
]


@pytest.mark.parametrize(("name", "given"), WAYS, ids=str)
def test_no_record_breaks_a_rule_and_none_is_moved_from_its_answers(
    name: str, given: Mapping[str, Any]
) -> None:
    plan, codes = under_rules(name, **given)
    assert not plan.domain.rules.valid(codes).all()
    _, made, certificate = released(plan, simulated(plan, codes, 0))
    assert replace(plan.domain.rules, determinations=()).valid(made).all()
    answers = certificate.answers
    assert answers is not None
    rounding = 2 * plan.method.universe.size / len(made)
    assert np.abs(answers.records - answers.distribution).max() <= rounding


@pytest.mark.parametrize(("name", "given"), WAYS, ids=str)
def test_bounds_hold_though_many_private_records_break_the_rules(
    name: str, given: Mapping[str, Any]
) -> None:
    plan, codes = under_rules(name, **given)
    truth, runs, misses = answers_of(plan.workload, codes), 5, 0
    for run in range(runs):
        answers = released(plan, simulated(plan, codes, run), run, 0.95)[2].answers
        assert answers is not None
        misses += (np.abs(answers.distribution - truth) > answers.bounds).any()
    assert binom.sf(misses - 1, runs, 0.05) > FALSE_POSITIVE_RATE


def test_the_distribution_is_made_once_and_kept_for_the_certificate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan, mechanism = planned("linear-queries"), MECHANISMS["linear-queries"]
    measured = mechanism.measure(simulated(plan, dependent_codes(DOMAIN.shape, 400), 0), plan, None)
    made = mechanism.generate(
        plan,
        measured,
        rows=None,
        rng=np.random.default_rng(0),
    )
    expected = plan.method.distribution(measured.tables, measured.total, progress=lambda *_: None)
    assert made.history["converged"]  # evidence of the fit goes into the record
    assert made.history["excess_at_most"] == pytest.approx(expected.fit.gap, rel=1e-3)  # type: ignore[attr-defined]

    def again(*_: Any, **__: Any) -> None:
        raise AssertionError("fitted once more")

    monkeypatch.setattr(type(plan.method), "distribution", again)
    certificate = mechanism.certify(
        plan, measured, made, confidence=0.9, rng=np.random.default_rng(0)
    )
    assert certificate.answers is not None
    np.testing.assert_array_equal(certificate.answers.distribution, expected.answers())
