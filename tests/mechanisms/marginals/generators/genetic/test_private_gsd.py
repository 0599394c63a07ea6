"""Private GSD: descent, exact marginals, rules, determinism, and what becomes of the settings."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import chisquare

from hallmark.mechanisms.domain.domain import Kind
from hallmark.mechanisms.domain.rules import Determination, Rules, RuleTable
from hallmark.mechanisms.execution import Execution
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal
from hallmark.mechanisms.marginals.generators.genetic.private_gsd import GeneticModel, PrivateGSD
from tests.builders.codes import dependent_codes
from tests.mechanisms.marginals.domains import domain_of, evidence_of, marginal_of

SHAPE = (4, 3, 2, 5)
RECORDS = 600


def records(seed: int) -> np.ndarray:
    return dependent_codes(SHAPE, RECORDS, seed).astype(np.int32)


def table(codes: np.ndarray, clique: tuple[int, ...]) -> np.ndarray:
    return len(codes) * marginal_of(codes, clique, SHAPE)


def evidence(
    codes: np.ndarray, ways: int = 2, sigma: float = 0.0, rules: Rules | None = None
) -> Evidence:
    cliques = combinations(range(len(SHAPE)), ways)
    return evidence_of(
        codes, SHAPE, sigma=sigma, seed=99, cliques=cliques, rules=rules, kind=Kind.NOMINAL
    )


def fit(generator: PrivateGSD, known: Evidence, seed: int = 1, **how) -> GeneticModel:
    return generator.fit(known, rng=np.random.default_rng(seed), **how)


def fitness(model: GeneticModel, known: Evidence, clip: bool) -> float:
    total = 0.0
    for marginal in known.marginals:
        target = marginal.counts / known.total
        target = np.clip(target, 0, 1) if clip else target
        total += ((table(model.codes, marginal.clique) / len(model.codes) - target) ** 2).sum()
    return total


@pytest.mark.parametrize(
    ("ways", "clip"),
    [
        (ways, clip) if clip == ways % 2 else pytest.param(ways, clip, marks=pytest.mark.slow)
        for ways, clip in product((1, 2, 3, 4), (True, False))
    ],
)
def test_the_best_fitness_never_rises_and_is_that_of_a_fresh_count(ways: int, clip: bool) -> None:
    known = evidence(records(1), ways, sigma=8.0)
    model = fit(PrivateGSD(rows=150, clip=clip), known)
    curve = [value for _, value in model.history["fitness"]]
    assert curve == sorted(curve, reverse=True)
    assert curve[-1] < 0.7 * curve[0]
    assert curve[-1] == pytest.approx(fitness(model, known, clip))
    assert len(curve) <= 200


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_exact_small_marginals_are_reached_up_to_rounding(ways: int) -> None:
    codes = records(2)
    known = evidence(codes, ways)
    model = fit(PrivateGSD(rows=RECORDS, tolerance=1e-3), known)
    for marginal in known.marginals:
        got = model.marginal(marginal.clique)
        np.testing.assert_allclose(got, table(model.codes, marginal.clique) / RECORDS)
        np.testing.assert_allclose(got, marginal.counts / RECORDS, atol=4.5 / RECORDS)


def test_precise_marginals_count_for_more_when_weighted_by_inverse_variance() -> None:
    codes = records(4)
    good, bad = evidence(codes).marginals, evidence(codes, sigma=200.0).marginals
    mixed = (*good[:3], *bad[3:])
    known = Evidence(domain_of(SHAPE, kind=Kind.NOMINAL), mixed, float(RECORDS), True)
    truth = Evidence(domain_of(SHAPE, kind=Kind.NOMINAL), good[:3], float(RECORDS), True)
    equal = fit(PrivateGSD(rows=RECORDS), known)
    weighted = fit(PrivateGSD(rows=RECORDS, weighting="inverse-variance"), known)
    assert fitness(weighted, truth, False) < 0.1 * fitness(equal, truth, False)


def test_every_record_obeys_the_rules_and_equivalences_are_crossed() -> None:
    equivalent = np.zeros((4, 3), dtype=bool)
    equivalent[[0, 1, 2, 3], [1, 0, 2, 2]] = True
    implied = np.ones((2, 5), dtype=bool)
    implied[1, :3] = False
    rules = Rules(
        SHAPE,
        tables=(RuleTable("equivalent", (0, 1), equivalent), RuleTable("implied", (2, 3), implied)),
    )
    codes = rules.repair(records(5), np.random.default_rng(0))
    known = evidence(codes, rules=rules)
    # Elites that are all alike in column 0 but for few records: it can only spread by blocks.
    start = np.array(codes[codes[:, 0] == 0][:1].repeat(RECORDS, axis=0))
    for code in (1, 2, 3):
        start[code] = codes[codes[:, 0] == code][0]
    previous = GeneticModel(start, SHAPE, {})
    model = fit(PrivateGSD(rows=RECORDS, elites=1), known, previous=previous)
    assert rules.obeyed(model.codes).all()
    assert np.abs(model.marginal((0, 1)) - table(codes, (0, 1)) / RECORDS).max() < 0.01
    assert rules.obeyed(fit(PrivateGSD(rows=100), known, draft=True).codes).all()


def test_determinations_are_settled_by_the_evidence() -> None:
    codes = records(6)
    codes[:, 1] = np.array([2, 0, 0, 1])[codes[:, 0]]
    rules = Rules(SHAPE, determinations=(Determination("d", 0, 1),))
    model = fit(PrivateGSD(rows=300), evidence(codes, sigma=2.0, rules=rules))
    np.testing.assert_array_equal(model.codes[:, 1], np.array([2, 0, 0, 1])[model.codes[:, 0]])


def test_a_seed_gives_one_table() -> None:
    known = evidence(records(7), sigma=5.0)
    first, again, other = (fit(PrivateGSD(rows=80), known, seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.codes, again.codes)
    assert first.history == again.history
    assert (first.codes != other.codes).any()


def test_a_fit_goes_on_from_a_previous_table() -> None:
    known = evidence(records(8), sigma=5.0)
    first = fit(PrivateGSD(rows=200), known)
    generator = PrivateGSD(rows=200, draft_generations=50)
    cold, warm = (fit(generator, known, 2, draft=True, previous=p) for p in (None, first))
    assert warm.history["fitness"][0][1] == pytest.approx(first.history["fitness"][-1][1])
    assert warm.history["fitness"][-1][1] < 0.5 * cold.history["fitness"][-1][1]
    resized = fit(PrivateGSD(rows=500, draft_generations=50), known, draft=True, previous=first)
    assert resized.codes.shape == (500, len(SHAPE))


def test_the_search_ends_as_published_or_after_its_generations() -> None:
    known = evidence(records(9), sigma=5.0)
    short = fit(PrivateGSD(rows=100, generations=130), known).history
    assert (short["generations"], short["ended"]) == (130, "generations")
    draft = fit(PrivateGSD(rows=100, draft_generations=70), known, draft=True).history
    assert (draft["generations"], draft["ended"]) == (70, "generations")
    long = fit(PrivateGSD(rows=100), known).history
    assert long["ended"] == "tolerance"
    assert long["generations"] % 100 == 0
    assert 200 <= long["generations"] < 50_000


def test_progress_rises_to_the_share_done() -> None:
    shares: list[float] = []
    PrivateGSD(rows=100, generations=400, tolerance=0.0).fit(
        evidence(records(9), sigma=5.0),
        rng=np.random.default_rng(0),
        execution=Execution(progress=lambda share, doing: shares.append(share)),
    )
    assert shares == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize("rows", [30, 100, 200, 330])
def test_records_are_repeated_as_evenly_as_possible(rows: int) -> None:
    codes = np.arange(100, dtype=np.int32)[:, None]
    model = GeneticModel(codes, (100,), {})
    drawn, _ = model.records(rows, np.random.default_rng(0), lambda share, doing: None)
    assert drawn.shape == (rows, 1)
    assert drawn.dtype == np.int32
    times = np.bincount(drawn[:, 0], minlength=100)
    assert set(times) <= {rows // 100, -(-rows // 100)}
    assert (np.diff(drawn[:, 0]) < 0).any()


def test_without_evidence_any_table_will_do() -> None:
    empty = Evidence(domain_of(SHAPE, kind=Kind.NOMINAL), (), 10.0, True)
    model = fit(PrivateGSD(rows=20), empty)
    assert model.codes.shape == (10, len(SHAPE)), "no more than there are"
    assert model.history["generations"] == 20


def test_memory_grows_with_cells_rows_and_records_and_all_cliques_are_admitted() -> None:
    generator = PrivateGSD(rows=100)
    pairs = list(combinations(range(len(SHAPE)), 2))
    domain = domain_of(SHAPE, kind=Kind.NOMINAL)
    small = generator.memory(domain, pairs[:1], 100)
    assert generator.memory(domain, pairs, 100) > small
    assert generator.memory(domain, pairs[:1], 10_000) > small + 100_000
    assert PrivateGSD(rows=10_000).memory(domain, pairs[:1], 100) > small + 100_000
    assert generator.admits(domain, pairs, 0.0)
    assert generator.name == "private-gsd"
    assert generator.settings["rows"] == 100


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rows": 0}, "rows: 0 is less than 1"),
        ({"elites": 0}, "elites: 0"),
        ({"mutations": -1}, "mutations: -1"),
        ({"crossovers": -1}, "crossovers: -1"),
        ({"mutations": 0, "crossovers": 0}, "needs candidates"),
        ({"generations": 0}, "generations: 0"),
        ({"draft_generations": 0}, "draft_generations: 0"),
        ({"tolerance": 1.0}, "tolerance: 1"),
        ({"weighting": "other"}, "weighting: 'other'"),
    ],
)
def test_impossible_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PrivateGSD(**settings)


@pytest.mark.parametrize(("mutations", "crossovers"), [(20, 0), (0, 20)])
def test_one_kind_of_candidate_is_enough(mutations: int, crossovers: int) -> None:
    known = evidence(records(1))
    model = fit(PrivateGSD(rows=200, mutations=mutations, crossovers=crossovers), known)
    curve = [value for _, value in model.history["fitness"]]
    assert curve[-1] < 0.1 * curve[0]


def test_the_start_has_the_measured_columns_and_nothing_else_has_moved() -> None:
    """With nothing to mend, the table is its start: a chi-squared test of each column at 1e-6."""
    codes = records(3)
    ones = tuple(NoisyMarginal((a,), table(codes, (a,)) * 50, 0.0) for a in (0, 1, 3))
    known = Evidence(domain_of(SHAPE, kind=Kind.NOMINAL), ones, 50.0 * RECORDS, True)
    model = fit(PrivateGSD(rows=20_000, elites=1, generations=1), known)
    assert model.codes.shape == (20_000, len(SHAPE))
    for a, k in enumerate(SHAPE):
        shares = table(codes, (a,)) / RECORDS if a != 2 else np.full(k, 1 / k)
        seen = np.bincount(model.codes[:, a], minlength=k)
        assert chisquare(seen, 20_000 * shares).pvalue > 1e-6
