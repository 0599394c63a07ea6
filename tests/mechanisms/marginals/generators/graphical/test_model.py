"""The graphical-model generator: closed forms, rules, size, and repeatability."""

import tracemalloc
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.rules import Determination, Rules, RuleTable
from hallmark.mechanisms.execution import Execution, silent
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal
from hallmark.mechanisms.marginals.generators.graphical import descent
from hallmark.mechanisms.marginals.generators.graphical.model import GraphicalFit, GraphicalModel
from tests.mechanisms.marginals.domains import marginal_of
from tests.mechanisms.marginals.generators.graphical.cases import (
    domain_of,
    evidence_of,
    margin,
)

SHAPE = (3, 2, 4, 2, 5)
CHAIN: tuple[Clique, ...] = ((0, 1), (1, 2), (2, 3), (3, 4))
MODEL = GraphicalModel()


def joint(seed: int = 0, alpha: float = 1.0) -> np.ndarray:
    cells = int(np.prod(SHAPE))
    return np.random.default_rng(seed).dirichlet(np.full(cells, alpha)).reshape(SHAPE)


def fit(evidence: Evidence, model: GraphicalModel = MODEL, **options: object) -> GraphicalFit:
    return model.fit(evidence, rng=np.random.default_rng(0), **options)  # type: ignore[arg-type]


def records(model: GraphicalFit, rows: int, seed: int = 0) -> np.ndarray:
    codes, _ = model.records(rows, np.random.default_rng(seed), silent)
    return np.asarray(codes)


def test_a_tree_of_exact_marginals_is_reproduced_with_conditional_independence() -> None:
    truth = joint()
    model = fit(evidence_of(truth, CHAIN))
    for clique in CHAIN:
        np.testing.assert_allclose(model.marginal(clique), margin(truth, clique), atol=1e-5)
    product = np.einsum(
        "ab,bc,cd,de->abcde",
        margin(truth, (0, 1)),
        margin(truth, (1, 2)) / margin(truth, (1,))[:, None],
        margin(truth, (2, 3)) / margin(truth, (2,))[:, None],
        margin(truth, (3, 4)) / margin(truth, (3,))[:, None],
    )
    for ways in (1, 2, 3, 4, 5):
        for clique in combinations(range(5), ways):
            np.testing.assert_allclose(model.marginal(clique), margin(product, clique), atol=2e-5)


def test_one_way_marginals_alone_give_the_independent_product() -> None:
    truth = joint()
    model = fit(evidence_of(truth, tuple((a,) for a in range(5))))
    outer = np.einsum("a,b->ab", margin(truth, (0,)), margin(truth, (4,)))
    np.testing.assert_allclose(model.marginal((0, 4)), outer, atol=1e-5)


def test_attributes_that_were_not_measured_are_uniform() -> None:
    model = fit(evidence_of(joint(), ((0, 1),)))
    np.testing.assert_allclose(model.marginal((2, 4)), np.full((4, 5), 1 / 20))


def test_more_exact_marginals_weigh_more() -> None:
    truth, other = joint(0), joint(1)
    exact, wrong = (
        evidence_of(truth, ((0, 1),), sigma=1.0),
        evidence_of(other, ((0, 2),), sigma=100.0),
    )
    both = Evidence(exact.domain, (*exact.marginals, *wrong.marginals), exact.total, True)
    model = fit(both)
    near = np.abs(model.marginal((0,)) - margin(truth, (0,))).sum()
    far = np.abs(model.marginal((0,)) - margin(other, (0,))).sum()
    assert near < 1e-3 < far


def test_public_marginals_are_met_closer_than_noisy_ones_allow() -> None:
    truth = joint()
    noisy = evidence_of(truth, CHAIN, sigma=50.0, seed=3)
    public = evidence_of(truth, ((1,),))
    model = fit(Evidence(noisy.domain, (*noisy.marginals, *public.marginals), noisy.total, True))
    error = np.abs(model.marginal((1,)) - margin(truth, (1,))).max() * noisy.total
    assert error < 5
    without = np.abs(fit(noisy).marginal((1,)) - margin(truth, (1,))).max() * noisy.total
    assert without > 10


def test_a_fit_that_goes_on_from_a_draft_of_part_of_the_evidence_ends_where_any_other_does() -> (
    None
):
    evidence = evidence_of(joint(2, 0.3), (*CHAIN, (0, 4), (1, 3)), sigma=40.0, seed=4)
    part = Evidence(evidence.domain, evidence.marginals[:4], evidence.total, True)
    draft = fit(part, GraphicalModel(draft_iterations=60), draft=True)
    thorough = GraphicalModel(iterations=3000)
    warm, cold = fit(evidence, thorough, previous=draft), fit(evidence, thorough)
    for clique in evidence.by_clique:
        noise = 40.0 / evidence.total
        assert np.abs(warm.marginal(clique) - cold.marginal(clique)).max() < 0.1 * noise
    assert warm.history["losses"][0] < cold.history["losses"][0]
    assert draft.history["passes"] < 60 + 30


def test_a_draft_that_stood_where_no_step_helped_does_not_hold_up_the_next() -> None:
    ones = evidence_of(joint(2, 0.3), tuple((a,) for a in range(5)), sigma=5.0, seed=4)
    draft = fit(ones, draft=True)
    for _ in range(4):  # there is nothing left to find
        draft = fit(ones, previous=draft, draft=True)
    pairs = evidence_of(joint(2, 0.3), CHAIN, sigma=5.0, seed=5)
    both = Evidence(ones.domain, (*ones.marginals, *pairs.marginals), ones.total, True)
    after = fit(both, previous=draft, draft=True)
    assert after.history["losses"][0] > 100
    assert after.history["losses"][-1] < 2
    assert after.history["stalled_and_begun_anew"] == 0


def cornered(model: GraphicalFit) -> GraphicalFit:
    """Potentials that give one cell of every clique everything; no step leads away from there."""
    potentials = {
        clique: 1e6 * (table >= table.max()) for clique, table in model.potentials.items()
    }
    return replace(model, potentials=potentials)


@pytest.mark.parametrize("draft", [False, True])
def test_a_fit_that_stalls_is_begun_anew(draft: bool) -> None:
    evidence = evidence_of(joint(), CHAIN, sigma=10.0)
    cold = fit(evidence, draft=draft)
    warm = fit(evidence, previous=cornered(cold), draft=draft)
    assert warm.history["stalled_and_begun_anew"] == 1
    assert warm.history["losses"] == cold.history["losses"]
    assert cold.history["stalled_and_begun_anew"] == 0


def test_a_table_of_one_record_over_and_over_is_fitted() -> None:
    """Its fit ends near a corner, where the excess is only known to be less than the loss."""
    truth = np.zeros(SHAPE)
    truth[0, 1, 3, 0, 2] = 1
    cliques = (*((a,) for a in range(5)), *CHAIN)
    excesses = []
    for seed in range(20):
        model = fit(evidence_of(truth, cliques, sigma=40.0, seed=seed))
        excesses.append(model.history["excess_at_most"])
        assert model.marginal((0, 1))[0, 1] > 0.97
    assert max(excesses) > 1  # as much as noise itself, though nothing is wrong


@pytest.mark.parametrize("draft", [False, True])
def test_nothing_is_chosen_or_released_by_a_model_that_stalls(
    monkeypatch: pytest.MonkeyPatch, draft: bool
) -> None:
    monkeypatch.setattr(descent, "_SAFE", 1e-12)  # too short a step to count
    with pytest.raises(RuntimeError, match="the fit of the graphical model stalled after 1 run"):
        fit(evidence_of(joint(), CHAIN, sigma=10.0), draft=draft)


def test_a_model_of_another_generator_or_domain_is_no_start() -> None:
    evidence = evidence_of(joint(), CHAIN, sigma=10.0)
    other = fit(evidence_of(np.full((2, 2), 0.25), ((0, 1),)))
    for previous in (other, object()):
        again = fit(evidence, previous=previous)
        assert again.history == fit(evidence).history


def test_the_same_evidence_and_generator_of_numbers_give_the_same_records() -> None:
    evidence = evidence_of(joint(), (*CHAIN, (0, 4)), sigma=30.0)
    first, second = (records(fit(evidence), 1000, seed=7) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert (records(fit(evidence), 1000, seed=8) != first).any()


def test_rows_may_be_any_number() -> None:
    model = fit(evidence_of(joint(), CHAIN))
    for rows in (1, 2, 313):
        codes = records(model, rows)
        assert codes.shape == (rows, 5)
        assert codes.dtype == np.int32
        assert (codes >= 0).all()
        assert (codes < SHAPE).all()


def test_polished_records_have_the_pairs_of_the_model_measured_or_not() -> None:
    evidence = evidence_of(joint(4, 0.3), ((0, 1, 2), (2, 3), (3, 4)), sigma=20.0, seed=5)
    drawn = fit(evidence)
    polished = fit(evidence, GraphicalModel(sweeps=20))
    rows, cliques = 3000, (*combinations(range(5), 2), (0, 1, 2))
    before, after = (
        [np.abs(marginal_of(records(m, rows), c, SHAPE) - m.marginal(c)).sum() / 2 for c in cliques]
        for m in (drawn, polished)
    )
    assert np.mean(after) < np.mean(before) / 3
    assert max(after) < 0.005
    codes, made = polished.records(rows, np.random.default_rng(0), silent)
    assert made["polish_squared_error"][-1] < made["polish_squared_error"][0]
    assert codes.dtype == np.int32


def table(columns: Clique, seed: int, share: float = 0.5) -> RuleTable:
    rng = np.random.default_rng(seed)
    allowed = rng.random([SHAPE[a] for a in columns]) < share
    allowed[(0,) * len(columns)] = True
    return RuleTable(f"rule {columns}", columns, allowed)


def test_rules_hold_in_model_and_sample_whether_their_columns_were_measured_or_not() -> None:
    rules = Rules(SHAPE, (table((0, 1), 1), table((1, 4), 2), table((0, 2, 3), 3)))
    free = evidence_of(joint(), CHAIN, sigma=30.0)
    ruled = evidence_of(joint(), CHAIN, sigma=30.0, rules=rules)
    model = fit(ruled)
    for rule in rules.tables:
        forbidden = model.marginal(rule.columns)[~rule.allowed]
        np.testing.assert_array_equal(forbidden, 0)
    assert rules.valid(records(model, 20_000)).all()
    assert rules.valid(records(fit(ruled, GraphicalModel(sweeps=5)), 20_000)).all()
    assert model.history["rules_left_to_repair"] == []
    assert rules.valid(records(fit(free), 20_000)).mean() < 0.7  # the check can fail


def test_what_was_measured_in_forbidden_cells_is_not_fitted() -> None:
    rule = table((0, 1), 1)
    rules = Rules(SHAPE, (rule,))
    truth = joint()
    truth = np.where(rule.allowed[:, :, None, None, None], truth, 0)
    truth /= truth.sum()
    exact = evidence_of(truth, ((0, 1), (1, 2)), rules=rules)
    spoilt = evidence_of(truth, ((0, 1), (1, 2)), rules=rules)
    spoilt.marginals[0].counts[~rule.allowed] += 1000
    np.testing.assert_allclose(fit(spoilt).marginal((0, 1)), fit(exact).marginal((0, 1)), atol=1e-6)


def test_rules_within_cells_and_implied_by_others_hold_too() -> None:
    # Of the two rules together, no record has 1 in column 1; neither says so alone.
    first = np.ones((3, 2), dtype=bool)
    first[0, 1] = first[1, 1] = False
    second = np.ones((2, 4), dtype=bool)
    third = np.ones((3, 4), dtype=bool)
    third[2] = False
    rules = Rules(
        SHAPE,
        (
            RuleTable("a", (0, 1), first),
            RuleTable("b", (1, 2), second),
            RuleTable("c", (0, 2), third),
        ),
    )
    model = fit(evidence_of(joint(), ((1,), (2, 3)), sigma=30.0, rules=rules))
    assert model.marginal((1,))[1] == 0


def test_a_rule_without_room_is_left_to_the_repair_and_named() -> None:
    rule = table((0, 2, 4), 5)
    rules = Rules(SHAPE, (rule,))
    evidence = evidence_of(joint(), CHAIN, sigma=30.0, rules=rules)
    small = GraphicalModel(max_model_bytes=8 * 40)  # the chain takes 6 + 8 + 8 + 10 cells
    model = fit(evidence, small)
    assert model.history["rules_left_to_repair"] == ["c0 x c2 x c4"]
    assert model.history["model_cells"] == 32
    assert not rules.valid(records(model, 5000)).all()
    assert fit(evidence).history["rules_left_to_repair"] == []


def test_a_function_between_columns_is_settled_by_the_fit_and_holds_in_the_sample() -> None:
    truth = joint(6)
    strong = np.eye(4)[[1, 3, 0]][:, None, :, None, None]  # column 0 mostly gives 1, 3, 0
    truth = truth * (0.05 + strong)
    truth /= truth.sum()
    rules = Rules(SHAPE, (), (Determination("0 gives 2", 0, 2),))
    model = fit(evidence_of(truth, (*CHAIN, (0, 2)), sigma=20.0, rules=rules))
    codes = records(model, 10_000)
    assert {tuple(pair) for pair in codes[:, [0, 2]]} == {(0, 1), (1, 3), (2, 0)}
    assert model.history["passes"] <= MODEL.iterations + 60
    draft = fit(evidence_of(truth, (*CHAIN, (0, 2)), sigma=20.0, rules=rules), draft=True)
    assert (draft.marginal((0, 2)) > 0).all()


def test_rules_that_allow_nothing_are_refused() -> None:
    rules = Rules(SHAPE, (RuleTable("never", (0,), np.zeros(3, dtype=bool)),))
    with pytest.raises(ValueError, match="allow no record"):
        fit(evidence_of(joint(), CHAIN, rules=rules))


def test_progress_runs_from_fit_to_records() -> None:
    told: list[tuple[float, str]] = []
    rules = Rules(SHAPE, (), (Determination("0 gives 1", 0, 1),))
    evidence = evidence_of(joint(), CHAIN, sigma=5.0, rules=rules)
    model = MODEL.fit(
        evidence,
        rng=np.random.default_rng(0),
        execution=Execution(progress=lambda s, d: told.append((s, d))),
    )
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert {doing for _, doing in told} == {"fitting the graphical model"}
    model.records(10, np.random.default_rng(0), lambda s, d: told.append((s, d)))
    assert told[-1] == (1, "drawing records")


def test_the_history_tells_size_and_losses_and_is_short() -> None:
    history = fit(evidence_of(joint(), (*CHAIN, (0, 4)), sigma=30.0)).history
    assert history["model_cells"] == sum(
        int(np.prod([SHAPE[a] for a in clique])) for clique in ((0, 1, 3), (1, 2, 3), (0, 3, 4))
    )
    assert history["largest_clique"] == "c0 x c3 x c4"
    assert history["largest_clique_cells"] == 30
    assert 2 <= len(history["losses"]) <= 20
    assert history["losses"][-1] < 1.2 < history["losses"][0]
    assert history["excess_at_most"] < 0.1
    assert history["converged"]
    assert history["stalled_and_begun_anew"] == 0


WIDE = (30, 20, 40, 25, 10, 15)
ALL_PAIRS = tuple(combinations(range(6), 2))


def test_a_model_that_is_too_large_is_refused_with_size_columns_and_mend() -> None:
    cells = int(np.prod(WIDE))
    with pytest.raises(ValueError, match=f"{cells:,} cells") as refusal:
        MODEL.memory(domain_of(WIDE), ALL_PAIRS, 1000)
    message = str(refusal.value)
    for part in ("mechanism.generator", "686.6 MiB", "32.0 MiB", "max_model_bytes"):
        assert part in message
    assert "x".join(f" c{a} " for a in range(6)).strip() in message
    assert (
        GraphicalModel(max_model_bytes=8 * cells).memory(domain_of(WIDE), ALL_PAIRS, 1000) > cells
    )


def test_a_refusal_names_no_more_columns_than_can_be_read() -> None:
    with pytest.raises(ValueError, match="c5 and 4 more hang together"):
        MODEL.memory(domain_of((9,) * 10), tuple(combinations(range(10), 2)), 1000)


@pytest.mark.parametrize("sweeps", [0, 5])
def test_the_forecast_covers_the_peak_and_is_not_far_above_it(sweeps: int) -> None:
    generator = GraphicalModel(sweeps=sweeps, draft_iterations=20)  # no more memory than many
    shape = (30, 20, 40, 25, 6, 5)
    rng = np.random.default_rng(0)
    cliques = ((0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (0, 3))
    domain = domain_of(shape)
    sizes = [[shape[a] for a in clique] for clique in cliques]
    marginals = tuple(
        NoisyMarginal(clique, 10_000 * rng.dirichlet(np.ones(np.prod(size))).reshape(size), 10.0)
        for clique, size in zip(cliques, sizes, strict=True)
    )
    evidence = Evidence(domain, marginals, 10_000.0, True)
    forecast = generator.memory(domain, cliques, 10_000)
    records(fit(evidence, generator, draft=True), 10)  # what is compiled counts as the library's
    tracemalloc.start()
    model = fit(evidence, generator, draft=True)
    fit(evidence, generator, draft=True, previous=model)
    for pair in combinations(range(6), 2):
        model.marginal(pair)
    records(model, 10_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert forecast / 6 < peak < forecast


def test_the_cap_of_an_adaptive_selection_grows_with_the_budget_spent() -> None:
    domain = domain_of(WIDE)
    model = GraphicalModel(max_model_bytes=8 * 2000)
    ones = tuple((a,) for a in range(6))
    assert not model.admits(domain, (*ones, (0, 1)), 0.1)  # 600 cells of 200
    assert model.admits(domain, (*ones, (0, 1)), 0.5)
    assert not model.admits(domain, (*ones, (0, 1), (1, 2), (0, 2)), 1.0)  # 24,000 cells
    assert model.admits(domain, (*ones, (0, 1), (1,)), 0.0)  # a part of what there is


def test_what_is_admitted_at_the_end_may_be_built() -> None:
    domain = domain_of(WIDE)
    model = GraphicalModel(max_model_bytes=8 * 3000)
    cliques: tuple[Clique, ...] = tuple((a,) for a in range(6))
    for pair in ALL_PAIRS:
        if model.admits(domain, (*cliques, pair), 1.0):
            cliques = (*cliques, pair)
    assert 6 < len(cliques) < 6 + len(ALL_PAIRS)
    assert model.memory(domain, cliques, 1000) > 0


def test_rules_keep_their_room_in_a_model_that_grows() -> None:
    rng = np.random.default_rng(0)
    allowed = rng.random((30, 25)) < 0.5
    rules = Rules(WIDE, (RuleTable("a", (0, 3), allowed),))
    model = GraphicalModel(max_model_bytes=8 * 3000)
    ones: tuple[Clique, ...] = tuple((a,) for a in range(6))
    grown = (*ones, (0, 1), (1, 2), (2, 3))  # closes a cycle with the rule
    assert model.admits(domain_of(WIDE), grown, 1.0)
    assert not model.admits(domain_of(WIDE, rules), grown, 1.0)
    assert model.admits(domain_of(WIDE, rules), grown[:-1], 1.0)


@pytest.mark.parametrize(
    ("setting", "value", "least"),
    [
        ("iterations", 0, 1),
        ("draft_iterations", 0, 1),
        ("max_model_bytes", 0, 8),
        ("sweeps", -1, 0),
    ],
)
def test_settings_out_of_range_are_refused(setting: str, value: int, least: int) -> None:
    message = f"{setting}: {value}; give a whole number of at least {least}"
    with pytest.raises(ValueError, match=message):
        GraphicalModel(**{setting: value})


def test_settings_are_all_that_shapes_the_result() -> None:
    assert MODEL.name == "graphical-model"
    assert MODEL.settings == {
        "iterations": 1000,
        "draft_iterations": 300,
        "max_model_bytes": 2**25,
        "sweeps": 0,
    }


@pytest.mark.slow
def test_the_fit_is_at_least_as_close_as_that_of_the_authors_library() -> None:
    import mbi

    cliques = ((0, 1), (1, 2), (0, 2), (2, 3))
    evidence = evidence_of(joint(3, 0.3), cliques, sigma=60.0, seed=5)
    domain = mbi.Domain(list(range(5)), SHAPE)
    measured = [
        mbi.LinearMeasurement(m.counts.ravel(), m.clique, m.sigma) for m in evidence.marginals
    ]
    theirs = mbi.estimation.MirrorDescent().estimate(
        domain, measured, known_total=evidence.total, iters=20_000
    )
    ours = fit(evidence, GraphicalModel(iterations=3000))

    def loss(model: object) -> float:
        total = 0.0
        for m in evidence.marginals:
            if isinstance(model, GraphicalFit):
                found = evidence.total * model.marginal(m.clique)
            else:
                found = np.asarray(theirs.project(m.clique).values)
            total += float((((found - m.counts) / m.sigma) ** 2).sum())
        return total

    assert loss(ours) < loss(theirs) + 0.05
    for m in evidence.marginals:
        difference = evidence.total * ours.marginal(m.clique) - theirs.project(m.clique).values
        assert np.abs(difference).max() < 0.3 * m.sigma
