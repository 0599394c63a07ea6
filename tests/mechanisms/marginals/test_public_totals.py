"""Public totals as exact evidence: every generator takes them, and no question depends on them."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hallmark.mechanisms.domain.totals import PublicTotal, PublicTotals
from hallmark.mechanisms.marginals.mechanism import answers_of, evidence_of
from hallmark.mechanisms.marginals.plan import MarginalPlan
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.request import Request
from tests.builders.codes import dependent_codes
from tests.mechanisms.marginals.domains import domain_of, measured
from tests.mechanisms.marginals.selection.runs import PERSONS, REPLACE

SHAPE = (6, 4, 2, 5)
ROWS = 3000
CODES = dependent_codes(SHAPE, ROWS)
PRIVPGD = MECHANISMS["privpgd"]
GENERATORS: Mapping[str, Any] = {
    "noise-aware": {"latent": {"members": 2, "classes": 10}},
    "graphical-model": {"iterations": 60},
    "particles": {"particles": 1000, "descent": {"epochs": 25}, "projection": {"iterations": 40}},
    "private-gsd": {"elites": 4, "generations": 20_000},
}


def of(*cliques: tuple[int, ...], times: int = 1) -> PublicTotals:
    """Marginals of the records as totals of so many times as many records."""
    totals = []
    for clique in cliques:
        sizes = [SHAPE[a] for a in clique]
        cells = np.arange(np.prod(sizes)).reshape(sizes)
        counts = np.bincount(cells[tuple(CODES[:, a] for a in clique)], minlength=cells.size)
        titles = tuple(map(str, range(cells.size)))
        totals.append(PublicTotal(str(clique), clique, cells, times * counts, titles))
    return PublicTotals(SHAPE, tuple(totals))


def make(
    totals: PublicTotals | None,
    generator: str = "noise-aware",
    *,
    name: str = "privpgd",
    adjacency: Adjacency = REPLACE,
    **settings: Any,
) -> MarginalPlan:
    domain = domain_of(SHAPE)
    if totals is not None:
        domain = replace(domain, totals=totals)
    plan = MECHANISMS[name].plan(
        Request(
            domain=domain,
            budget=Budget(epsilon=Fraction(1, 4), delta=Fraction(1, 100_000)),
            adjacency=adjacency,
            expected_records=ROWS,
            parameters={"generator": {"method": generator, **GENERATORS[generator], **settings}},
        )
    )
    assert isinstance(plan, MarginalPlan)
    return plan


def distance(totals: PublicTotals, plan: MarginalPlan) -> float:
    """Records that generated ones have in the wrong cell of the totals, per total."""
    told = measured(PRIVPGD, plan, CODES)
    synthetic = PRIVPGD.generate(plan, told, rows=ROWS, rng=np.random.default_rng(1))
    gaps = [np.abs(t.found(synthetic.codes) - t.counts).sum() / 2 for t in totals.totals]
    return float(np.mean(gaps))


@pytest.mark.parametrize("generator", GENERATORS)
def test_generators_come_nearer_to_totals_that_they_know(generator: str) -> None:
    totals = of((0,), (1, 2))
    blind = distance(totals, make(None, generator))
    knowing = distance(totals, make(totals, generator))
    assert knowing < 0.8 * blind, (knowing, blind)


def test_evidence_holds_totals_exactly_as_shares_of_what_was_measured() -> None:
    for times in (1, 3):
        totals = of((0,), (1, 2), times=times)
        plan = make(totals)
        told = measured(PRIVPGD, plan, CODES)
        answers = answers_of(told)
        before = evidence_of(plan.domain, answers, told.total)
        evidence = plan.with_public(before)
        for clique in ((0,), (1, 2)):
            marginal = evidence.by_clique[clique]
            assert marginal.sigma == 0
            sizes = [SHAPE[a] for a in clique]
            flat = np.ravel_multi_index([CODES[:, a] for a in clique], sizes)
            expected = np.bincount(flat, minlength=marginal.counts.size)
            assert marginal.counts.ravel() == pytest.approx(expected)
        assert evidence.by_clique[0, 1] is before.by_clique[0, 1]
        assert all(m.sigma > 0 for m in before.marginals)


def test_totals_of_groups_of_cells_are_no_evidence() -> None:
    band = PublicTotal("b", (0,), np.arange(6) // 3, np.array([1, ROWS - 1]), ("low", "high"))
    plan = make(PublicTotals(SHAPE, (band,)))
    told = measured(PRIVPGD, plan, CODES)
    answers = answers_of(told)
    evidence = evidence_of(plan.domain, answers, told.total)
    assert plan.with_public(evidence).by_clique.keys() == evidence.by_clique.keys()


def test_a_total_that_would_make_the_model_too_large_is_left_to_the_repair() -> None:
    totals = of((0,), (0, 1, 2, 3))
    plan = make(totals, "graphical-model", name="mst", adjacency=PERSONS, max_model_bytes=1200)
    told = measured(PRIVPGD, plan, CODES)
    answers = answers_of(told)
    evidence = plan.with_public(evidence_of(plan.domain, answers, told.total))
    assert evidence.by_clique[0,].sigma == 0
    assert (0, 1, 2, 3) not in evidence.by_clique


@pytest.mark.parametrize("name", ["privpgd", "aim", "mst", "mwem", "private-gsd"])
def test_totals_change_no_question_and_no_price(name: str) -> None:
    totals = of((0,), (1, 2))
    one, two = (make(some, name=name, adjacency=PERSONS) for some in (None, totals))
    assert one.design.first == two.design.first
    assert one.design.largest == two.design.largest
    assert one.design.parameters == two.design.parameters
    assert one.events == two.events
