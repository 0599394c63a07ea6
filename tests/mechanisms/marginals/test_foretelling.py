"""What earlier periods tell of marginals: how much, of what, and never more than they know."""

from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np
import pytest

from hallmark.mechanisms.arrays import Counts, Table
from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.earlier import Earlier, EarlierPeriod, EarlierTable
from hallmark.mechanisms.marginals import components
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal, pooled
from hallmark.mechanisms.marginals.foretelling import foretold

SHAPE = (6, 4, 1, 9, 5)
RECORDS = 20_000
PAIRS = tuple(combinations(range(len(SHAPE)), 2))
OF_SEVERAL = tuple(pair for pair in PAIRS if 2 not in pair)
"""Pairs of columns that have more than one code."""


def domain() -> Domain:
    return Domain(
        tuple(
            Attribute(
                name=f"c{i}",
                kind=Kind.ORDINAL,
                positions=(np.arange(k) + 0.5) / k,
                widths=np.zeros(k),
                has_null=False,
            )
            for i, k in enumerate(SHAPE)
        )
    )


def drifting(rng: np.random.Generator, periods: int, drift: float) -> list[Counts]:
    """Whole tables of a population whose columns' odds drift."""
    together = 0.3 * rng.normal(size=SHAPE)
    odds = [rng.normal(size=k) for k in SHAPE]
    tables = []
    for _ in range(periods):
        odds = [one + drift * rng.normal(size=one.shape) for one in odds]
        log = together + sum(
            np.expand_dims(one, tuple(j for j in range(len(SHAPE)) if j != i))
            for i, one in enumerate(odds)
        )
        shares = np.exp(log) / np.exp(log).sum()
        tables.append(rng.multinomial(RECORDS, shares.ravel()).reshape(SHAPE))
    return tables


def marginal(table: Table, clique: Clique) -> Table:
    return np.asarray(table.sum(axis=tuple(i for i in range(len(SHAPE)) if i not in clique)))


def measured(
    rng: np.random.Generator, table: Table, cliques: Sequence[Clique], sigma: float
) -> tuple[NoisyMarginal, ...]:
    every = ((clique, marginal(table, clique)) for clique in cliques)
    return tuple(
        NoisyMarginal(clique, counts + sigma * rng.normal(size=counts.shape), sigma)
        for clique, counts in every
    )


def as_earlier(number: int, marginals: Sequence[NoisyMarginal]) -> EarlierPeriod:
    """The marginals as a release has them, with groups in another order."""
    tables = []
    for one in marginals:
        groups = tuple(np.arange(k)[::-1] for k in one.counts.shape)
        counts = one.counts[np.ix_(*groups)]
        tables.append(EarlierTable(one.clique, groups, counts, one.sigma))
    return EarlierPeriod(number, tuple(tables), float(RECORDS))


def series(
    rng: np.random.Generator, *, drift: float, sigma: float, cliques: Sequence[Clique] = PAIRS
) -> tuple[Evidence, Earlier, Counts]:
    """Ten periods: what was measured of the last, and before, and the last table."""
    tables = drifting(rng, 10, drift)
    periods = [measured(rng, table, cliques, sigma) for table in tables]
    before = tuple(as_earlier(n, one) for n, one in enumerate(periods[:-1]))
    return Evidence(domain(), periods[-1], float(RECORDS), True), Earlier(9, before), tables[-1]


def error(evidence: Evidence, table: Table, cliques: Sequence[Clique]) -> float:
    known = evidence.by_clique
    return float(np.mean([np.square(known[c].counts - marginal(table, c)).mean() for c in cliques]))


@pytest.mark.parametrize(
    ("drift", "less"), [(0.01, 0.2), pytest.param(0.03, 0.3, marks=pytest.mark.slow), (0.2, 0.85)]
)
def test_what_is_foretold_makes_tables_more_exact_where_little_drifts(drift: float, less: float):
    alone, helped = 0.0, 0.0
    for seed in range(4):
        evidence, earlier, table = series(np.random.default_rng(seed), drift=drift, sigma=200.0)
        more = foretold(evidence, earlier).marginals
        both = Evidence(evidence.domain, pooled((*evidence.marginals, *more)), evidence.total, True)
        alone += error(evidence, table, OF_SEVERAL)
        helped += error(both, table, OF_SEVERAL)
    assert helped < less * alone


@pytest.mark.parametrize("cliques", [PAIRS, [(0, 1, 3), (0, 1), (0, 4), (3,)]])
@pytest.mark.parametrize("drift", [0.01, 0.2])
def test_tables_together_claim_of_no_component_more_than_is_foretold(
    drift: float, cliques: Sequence[Clique]
):
    rng = np.random.default_rng(5)
    evidence, earlier, _ = series(rng, drift=drift, sigma=100.0, cliques=cliques)
    shape = evidence.domain.shape
    numbers = [*(one.number for one in earlier.periods), earlier.number]
    walks = components.walked(
        numbers,
        [
            *(components.of_period(one, shape) for one in earlier.periods),
            components.components(evidence.marginals, evidence.total, shape),
        ],
    )
    tables = foretold(evidence, earlier).marginals
    for part, walk in walks.items():
        told = sum(
            RECORDS**2 / (one.sigma**2 * prod(shape[c] for c in one.clique if c not in part))
            for one in tables
            if set(part) <= set(one.clique)
        )
        most = 1 / walk.foretold.covariance[0, 0]
        assert told <= most * (1 + 1e-9)
        if len(part) == 1:
            assert told == pytest.approx(most)


def test_what_is_counted_is_said():
    evidence, earlier, _ = series(np.random.default_rng(5), drift=0.03, sigma=100.0)
    shape = evidence.domain.shape
    known = foretold(evidence, earlier)
    own = components.components(evidence.marginals, evidence.total, shape)
    both = components.components((*evidence.marginals, *known.marginals), evidence.total, shape)
    for size, noise in known.noise.items():
        left = [
            both[part].variance / one.variance for part, one in own.items() if len(part) == size
        ]
        assert np.mean(left) == pytest.approx(noise)


def test_margins_of_tables_are_all_the_same():
    evidence, earlier, _ = series(np.random.default_rng(5), drift=0.03, sigma=100.0)
    tables = {one.clique: one for one in foretold(evidence, earlier).marginals}
    of_pairs = [tables[pair].margin(0).counts for pair in [(0, 1), (0, 3), (0, 4)]]
    for one in of_pairs:
        np.testing.assert_allclose(one, of_pairs[0])


def test_what_never_changes_is_foretold_as_it_was():
    rng = np.random.default_rng(6)
    (table,) = drifting(rng, 1, 0.0)
    exact = measured(rng, table, PAIRS, 1e-3)
    earlier = Earlier(9, tuple(as_earlier(n, exact) for n in range(9)))
    known = foretold(Evidence(domain(), exact, float(RECORDS), True), earlier)
    assert {one.clique for one in known.marginals} >= set(OF_SEVERAL)
    for one in known.marginals:
        np.testing.assert_allclose(one.counts, marginal(table, one.clique), atol=0.05)


def test_a_column_that_breaks_is_told_and_not_leaned_on():
    rng = np.random.default_rng(7)
    evidence, earlier, table = series(rng, drift=0.01, sigma=100.0)
    turned = np.flip(table, axis=3)
    broken = measured(rng, turned, PAIRS, 100.0)
    known = foretold(Evidence(domain(), broken, float(RECORDS), True), earlier)
    assert (3,) in known.broken
    assert (0,) not in known.broken
    both = pooled((*broken, *known.marginals))
    helped = Evidence(evidence.domain, both, float(RECORDS), True)
    own = Evidence(evidence.domain, broken, float(RECORDS), True)
    with_it = [clique for clique in PAIRS if 3 in clique]
    assert error(helped, turned, with_it) < 1.03 * error(own, turned, with_it)


def test_only_what_was_measured_then_is_foretold_now():
    rng = np.random.default_rng(8)
    tables = drifting(rng, 3, 0.01)
    now = measured(rng, tables[2], PAIRS, 50.0)
    then = (
        as_earlier(0, measured(rng, tables[0], [(0, 1)], 50.0)),
        as_earlier(1, measured(rng, tables[1], [(0, 1), (3,)], 50.0)),
    )
    known = foretold(Evidence(domain(), now, float(RECORDS), True), Earlier(5, then))
    assert {one.clique for one in known.marginals} <= {(0, 1), (0,), (1,), (3,)}
    nothing = foretold(Evidence(domain(), now, float(RECORDS), True), Earlier(5, ()))
    assert (nothing.marginals, dict(nothing.noise), nothing.broken) == ((), {}, ())


def test_tables_in_groups_are_not_carried():
    rng = np.random.default_rng(9)
    (table,) = drifting(rng, 1, 0.0)
    halves = EarlierTable((0,), (np.arange(6) // 3,), np.array([1.0, 2.0]), 5.0)
    earlier = Earlier(1, (EarlierPeriod(0, (halves,), float(RECORDS)),))
    now = Evidence(domain(), measured(rng, table, PAIRS, 50.0), float(RECORDS), True)
    assert not foretold(now, earlier).marginals


def test_a_history_tells_it_by_names():
    evidence, earlier, _ = series(np.random.default_rng(10), drift=0.01, sigma=100.0)
    told = foretold(evidence, earlier).told(evidence.domain.names)
    assert set(told["noise"]) == {"1", "2"}
    assert all(0 < share < 1 for share in told["noise"].values())
    assert all(isinstance(name, str) for name in told["broken"])


@pytest.mark.parametrize("size", [1, 2, 7])
def test_contrasts_are_orthonormal_and_sum_to_nothing(size: int):
    basis = components._contrasts(size)
    np.testing.assert_allclose(basis @ basis.T, np.eye(size - 1), atol=1e-12)
    np.testing.assert_allclose(basis.sum(axis=1), 0, atol=1e-12)
