"""Latent classes: gradients, recovery of a known mixture, and when a fit stops."""

import numpy as np
import pytest

from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.domain.domain import Domain, Kind
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal
from hallmark.mechanisms.marginals.generators.noise_aware.latent_classes import (
    LatentClasses,
    LatentClassFit,
    fit_latent_classes,
    neighbours,
)
from hallmark.mechanisms.marginals.generators.noise_aware.latent_classes import _State as State
from tests.builders.columns import line, nominal, places
from tests.mechanisms.marginals.domains import domain_of
from tests.mechanisms.marginals.generators.graphical.cases import evidence_of as evidence
from tests.mechanisms.marginals.generators.noise_aware.test_mixture_loss import (
    MIXED,
    PAIRS,
    SHAPE,
    joint,
    over,
    target,
)


def state(seed: int, classes: int = 3) -> State:
    rng = np.random.default_rng(seed)
    linked = neighbours(domain_of(SHAPE))
    made = State(SHAPE, linked, 2.0, np.zeros((classes, sum(SHAPE))), np.zeros(classes))
    made.parameters = (rng.normal(size=(classes, sum(SHAPE))), rng.normal(size=classes))
    return made


@pytest.mark.parametrize("groups", [None, 2])
@pytest.mark.parametrize("cliques", [PAIRS, MIXED])
def test_slopes_of_logits_are_those_of_finite_differences(
    cliques: tuple[Clique, ...], groups: int | None
) -> None:
    goal = target(cliques, tuple(1.0 + 0.5 * i for i in range(len(cliques))), groups)
    member = state(2)
    slopes = member.slopes(goal, *member.distribution())
    step = 1e-5
    for parameter, gradient in zip(member.parameters, slopes, strict=True):
        for index in np.ndindex(parameter.shape):
            ends = []
            for sign in (1, -1):
                parameter[index] += sign * step
                ends.append(goal.squared_error(*member.distribution()))
                parameter[index] -= sign * step
            found = (ends[0] - ends[1]) / (2 * step)
            assert gradient[index] == pytest.approx(found, abs=2e-6 * np.abs(gradient).max() + 1e-8)


MIXED_KINDS = Domain(
    (
        line("numeric", 3, has_null=True),
        nominal("nominal", 2),
        line("ordinal", 4, width=0.0),
        places("metric", np.eye(2), has_null=True),
    )
)


def test_neighbours_are_values_in_order_and_neither_nulls_nor_categories_without_one() -> None:
    expected = [False, True, True, False, False, False, False, True, True, True, *[False] * 3]
    assert neighbours(MIXED_KINDS).tolist() == expected


def test_slopes_of_steps_are_those_of_all_cells_after_them() -> None:
    linked = neighbours(MIXED_KINDS)
    made = State(MIXED_KINDS.shape, linked, 2.0, np.zeros((2, 13)), np.zeros(2))
    by_cell = np.random.default_rng(7).normal(size=(2, 13))
    expected = np.zeros((2, 13))
    for cells in ([1, 2], [2], [7, 8, 9], [8, 9], [9]):
        expected[:, cells[0]] = by_cell[:, cells].sum(axis=1)
    np.testing.assert_allclose(made._by_step(by_cell), expected, atol=1e-12)


def test_a_step_moves_the_cells_whose_slopes_it_has() -> None:
    """Adam's first step goes as far in every parameter: it gains the rate times all slopes."""
    linked = neighbours(MIXED_KINDS)
    made = State(MIXED_KINDS.shape, linked, 2.0, np.zeros((1, 13)), np.zeros(1))
    by_cell = np.random.default_rng(8).normal(size=(1, 13))
    made.descend((by_cell, np.zeros(1)), 0.01)
    gained = -float((made.parameters[0] * by_cell).sum())
    expected = 0.01 * (np.abs(by_cell).sum() + 2 * np.abs(made._by_step(by_cell)).sum())
    assert gained == pytest.approx(expected, rel=1e-5)


def test_steps_of_a_long_run_take_its_end_no_further_than_those_of_a_shorter_one() -> None:
    ends = []
    for cells in (32, 128):
        linked = neighbours(domain_of((cells,)))
        made = State((cells,), linked, 2.0, np.zeros((1, cells)), np.zeros(1))
        slopes = np.where(np.arange(cells) < cells - 1, 0.0, -1.0)[None]  # every step's, too
        made.descend((slopes, np.zeros(1)), 0.01)
        ends.append(made.parameters[0][0, -1])
    assert ends[0] == pytest.approx(0.01 * (1 + 2 * 31), rel=1e-5)
    assert ends[1] == pytest.approx(0.01 * (1 + 0.5 * 127), rel=1e-5)


def test_marginals_of_any_order_come_from_one_distribution() -> None:
    weights, profiles = state(4).distribution()
    model = LatentClasses(SHAPE, np.stack([weights] * 2), np.stack([profiles] * 2), (0, 0))
    whole = model.marginal((0, 1, 2, 3))
    assert whole.sum() == pytest.approx(1)
    for clique in (*MIXED, *PAIRS, (3,)):
        np.testing.assert_allclose(model.marginal(clique), over(whole, clique), atol=1e-12)


@pytest.mark.parametrize("cliques", [PAIRS, MIXED])
def test_a_mixture_is_recovered_when_there_is_next_to_no_noise(
    cliques: tuple[Clique, ...],
) -> None:
    table = joint(5)
    settings = LatentClassFit(classes=8, members=1, most_steps=2000, patience=20)
    model = fit_latent_classes(
        evidence(table, cliques, sigma=0.5), settings, rng=np.random.default_rng(0)
    )
    for clique in cliques:
        strays = 0.5 * np.abs(model.marginal(clique) - over(table, clique)).sum()
        assert strays < 2e-3


def test_marginals_are_closer_to_the_truth_than_the_measured_tables() -> None:
    """In noise that drowns single cells, what pairs have in common still shows."""
    table, sigma = joint(6), 150.0
    noisy = evidence(table, PAIRS, sigma=sigma)
    model = fit_latent_classes(
        noisy, LatentClassFit(classes=20, members=4), rng=np.random.default_rng(1)
    )

    def error(tables: dict[Clique, np.ndarray]) -> float:
        return float(np.mean([np.abs(tables[c] - over(table, c)).sum() for c in PAIRS]))

    one_way = [over(table, (a,)) for a in range(4)]
    clipped = {}
    for m in noisy.marginals:
        positive = np.maximum(m.counts, 0)
        clipped[m.clique] = positive / positive.sum()
    found = error({c: model.marginal(c) for c in PAIRS})
    assert found < 0.8 * error(clipped)
    assert found < error({(a, b): np.outer(one_way[a], one_way[b]) for a, b in PAIRS})


def test_more_noise_stops_a_fit_sooner() -> None:
    settings = LatentClassFit(classes=20, members=2)
    steps = [
        np.mean(
            fit_latent_classes(
                evidence(joint(7), PAIRS, sigma=sigma), settings, rng=np.random.default_rng(2)
            ).steps
        )
        for sigma in (5.0, 500.0)
    ]
    assert steps[1] < steps[0] / 2


@pytest.mark.parametrize(("most", "unstopped"), [(10, 3), (3000, 0)])
def test_members_that_nothing_stopped_are_counted(most: int, unstopped: int) -> None:
    settings = LatentClassFit(classes=5, members=3, most_steps=most)
    given = evidence(joint(8), PAIRS, sigma=200.0)
    fit = fit_latent_classes(given, settings, rng=np.random.default_rng(3))
    assert fit.summary["members_not_stopped"] == unstopped


def test_a_fit_whose_error_is_no_number_is_refused() -> None:
    settings = LatentClassFit(classes=2, members=1, most_steps=20)
    given = evidence(joint(8) * np.nan, PAIRS, sigma=20.0)
    with pytest.raises(RuntimeError, match="no finite error"):
        fit_latent_classes(given, settings, rng=np.random.default_rng(3))


def test_a_fit_may_start_from_an_earlier_one() -> None:
    given = evidence(joint(8), PAIRS, sigma=20.0)
    settings = LatentClassFit(classes=10, members=2)
    first = fit_latent_classes(given, settings, rng=np.random.default_rng(3))
    short = LatentClassFit(classes=10, members=2, most_steps=20)
    cold = fit_latent_classes(given, short, rng=np.random.default_rng(4))
    warm = fit_latent_classes(given, short, rng=np.random.default_rng(4), previous=first)

    def misfit(model: LatentClasses) -> float:
        return sum(float(np.abs(model.marginal(c) - over(joint(8), c)).sum()) for c in PAIRS)

    assert misfit(warm) < misfit(cold) / 2


def test_the_same_generator_makes_the_same_model() -> None:
    given, settings = evidence(joint(10), PAIRS, sigma=50.0), LatentClassFit(classes=5, members=2)
    one, two = (fit_latent_classes(given, settings, rng=np.random.default_rng(6)) for _ in range(2))
    np.testing.assert_array_equal(one.profiles, two.profiles)


def test_an_exact_marginal_weighs_most() -> None:
    """A public total disagrees with a noisy pair: the model sides with it."""
    table = joint(11)
    skewed = np.roll(over(table, (0,)), 1)
    given = evidence(table, PAIRS, sigma=100.0)
    public = NoisyMarginal((0,), 10_000 * skewed, 0.0)
    with_public = Evidence(
        given.domain, (*given.marginals, public), given.total, total_is_public=True
    )
    settings = LatentClassFit(classes=10, members=1)
    models = [
        fit_latent_classes(e, settings, rng=np.random.default_rng(8)) for e in (given, with_public)
    ]
    strays = [np.abs(model.marginal((0,)) - skewed).sum() for model in models]
    assert strays[1] < strays[0] / 2


def test_order_helps_where_neighbours_are_alike() -> None:
    """Two smooth columns in much noise: told that they are ordered, a fit errs less."""
    cells, sigma, total = 24, 40.0, 10_000.0
    places = (np.arange(cells) + 0.5) / cells
    table = np.exp(-12 * (places[:, None] - places) ** 2)
    table /= table.sum()
    errors = {}
    for kind in (Kind.NOMINAL, Kind.ORDINAL):
        domain = Domain.coded({"x": cells, "y": cells}, kind=kind)
        misses = []
        for seed in range(3):
            noise = np.random.default_rng(seed).normal(size=table.shape) * sigma
            noisy = NoisyMarginal((0, 1), total * table + noise, sigma)
            model = fit_latent_classes(
                Evidence(domain, (noisy,), total, total_is_public=True),
                LatentClassFit(classes=20, members=4),
                rng=np.random.default_rng(seed),
            )
            misses.append(np.abs(model.marginal((0, 1)) - table).sum())
        errors[kind] = np.mean(misses)
    assert errors[Kind.ORDINAL] < 0.9 * errors[Kind.NOMINAL]


@pytest.mark.parametrize(
    "wrong",
    [
        *({name: 0} for name in ("classes", "members", "check", "patience", "most_steps")),
        *({name: 0.0} for name in ("thinning", "spread", "learning_rate")),
        {"order": -1.0},
        {"order": float("nan")},
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(wrong: dict[str, float]) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=f"^{name}: "):
        LatentClassFit(**wrong)  # type: ignore[arg-type]
