"""Plans of the family: sensitivities by brute force, refusals, and what a plan says of itself."""

import json
import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from hallmark.mechanisms.domain.cliques import cells
from hallmark.mechanisms.marginals.plan import MarginalPlan
from hallmark.mechanisms.privacy.accountant import fits
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.mechanisms.request import Request
from tests.mechanisms.marginals.domains import domain_of
from tests.mechanisms.marginals.selection.runs import BUDGET, PERSONS


def make(
    cells: tuple[int, ...] = (4, 3, 2),
    records: int = 1000,
    **parameters: object,
) -> MarginalPlan:
    plan = MECHANISMS["privpgd"].plan(
        Request(
            domain=domain_of(cells),
            budget=BUDGET,
            adjacency=PERSONS,
            expected_records=records,
            parameters={"selection": {"emphasis": 0, "coarse": 0}, **parameters},
        )
    )
    assert isinstance(plan, MarginalPlan)
    return plan


def test_large_tables_are_measured_in_groups_too() -> None:
    first = make((30, 20, 2, 2), selection={}).design.first
    assert [a.clique for a in first if a.groups] == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]


def test_large_tables_are_measured_with_less_noise() -> None:
    plan = make((30, 20, 2, 2), selection={})
    fine = [asked for asked in plan.design.first if asked.groups is None]
    by_size = sorted((cells(asked.clique, plan.domain.shape), asked.sigma2) for asked in fine)
    assert by_size[0][1] > 2 * by_size[-1][1]
    assert all(one[1] >= other[1] for one, other in pairwise(by_size))
    assert fits(plan.events, BUDGET)
    wrong = (replace(event, sigma2=event.sigma2 * Fraction(9, 10)) for event in plan.events)
    assert not fits(wrong, BUDGET)


def test_a_domain_of_one_column_is_measured_by_itself() -> None:
    plan = make((7,))
    assert [asked.clique for asked in plan.design.first] == [(0,)]
    assert plan.events[0].times == 1
    assert plan.forecast().expected_error > 0


def test_a_plan_pickles_and_its_parameters_are_plain_json() -> None:
    plan = make(generator={"sweeps": 7, "descent": {"learning_rate": 1}})
    again = pickle.loads(pickle.dumps(plan))
    assert again.design.first[0].sigma2 == plan.design.first[0].sigma2
    assert again.events == plan.events
    assert json.loads(json.dumps(plan.parameters))["generator"]["sweeps"] == 7


def test_memory_is_for_the_records_that_are_made_and_not_for_those_that_are_measured() -> None:
    small, large = make(records=1_000), make(records=10**9)
    asked = replace(large, request=replace(large.request, made_records=1_000))
    assert asked.memory() == small.memory() < large.memory() / 1_000


def test_forecasts_fall_with_more_records_and_rise_with_more_columns() -> None:
    few, many = (make(records=n).forecast() for n in (1000, 10_000))
    wide = make((4, 3, 2, 900, 9, 9), records=1000).forecast()
    assert many.expected_error == pytest.approx(few.expected_error / 10)
    assert wide.expected_error > few.expected_error
    assert wide.memory_bytes > few.memory_bytes
    assert set(few.per_attribute) == {"c0", "c1", "c2"}
    assert all(few.per_attribute[name] > few.expected_error / 3 for name in few.per_attribute)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"sweeps": 3}, "mechanism.sweeps: privpgd has no such parameter"),
        ({"selection": "aimm"}, "there is no 'aimm'; did you mean aim?"),
        ({"selection": 3}, "give a method, or a mapping"),
        ({"selection": {"way": 2}}, "mechanism.selection.way: all has no such setting; did you"),
        ({"generator": "x"}, "mechanism.generator.method: there is no 'x'; use noise-aware"),
        ({"generator": {"method": ["a"]}}, r"mechanism.generator.method: there is no \['a'\]; use"),
        ({"generator": {"sweep": 3}}, "mechanism.generator.sweep: .* did you mean sweeps?"),
        ({"generator": {"zzz": 3}}, "known are denoiser"),
        ({"generator": {"sweeps": True}}, "use a whole number"),
        ({"generator": {"sweeps": -1}}, "mechanism.generator.sweeps: -1; use a whole number"),
        ({"generator": {"particles": 0}}, "at least 1"),
        ({"generator": {"denoiser": "none"}}, "use latent-classes or singular-values"),
        ({"generator": {"descent": 3}}, "mechanism.generator.descent: 3; give a mapping"),
        ({"generator": {"descent": {"epochs": 1.5}}}, "generator.descent.epochs: 1.5; use a whole"),
        ({"generator": {"descent": {"epochs": -1}}}, "generator.descent.epochs: -1; .* at least 0"),
        ({"generator": {"descent": {"directions": 33}}}, "there are 32"),
        ({"generator": {"descent": {"adam_epsilon": float("nan")}}}, "use a finite number"),
        ({"generator": {"latent": {"thinning": 0}}}, "generator.latent.thinning: 0.0; use a pos"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make(**parameters)


def test_penalties_are_read_from_a_spec() -> None:
    penalty = {"weights": [1, 0, -1], "threshold": 0.2, "reference": 0.5, "strength": 0.01}
    plan = make(generator={"method": "particles", "penalties": [penalty]})
    (read,) = plan.parameters["generator"]["penalties"]
    assert read["weights"] == [1.0, 0.0, -1.0]
    assert read["goal"] == "protect"
    for wrong, words in (
        ({"penalties": penalty}, r"generator\.penalties: .* give a list"),
        (
            {"penalties": [{**penalty, "goal": "hide"}]},
            r"penalties\[0\]\.goal: 'hide'; use protect",
        ),
        ({"penalties": [{**penalty, "weights": [1, "a", 0]}]}, r"weights\[1\]: 'a'; use a number"),
        ({"penalties": [{**penalty, "weights": [0, 0]}]}, r"penalties\[0\]\.weights: all are 0"),
        ({"penalties": [{**penalty, "weights": [1.0, 2.0]}]}, r"2 numbers for 3 columns"),
        ({"penalties": [{"weights": [0, 1, 0]}]}, r"penalties\[0\]\.threshold: it is missing"),
    ):
        with pytest.raises(ValueError, match=words):
            make(generator={"method": "particles", **wrong})


def test_empty_domains_and_no_records_are_refused() -> None:
    with pytest.raises(ValueError, match="columns: there is none"):
        make(())
    with pytest.raises(ValueError, match="at least 1"):
        make(records=0)
