"""The split of a budget: shares of all draws, in the currency in which costs add up."""

from dataclasses import dataclass
from fractions import Fraction

import pytest

from hallmark.mechanisms.privacy.accountant import pure_epsilon, rho
from hallmark.mechanisms.privacy.events import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
)
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.record.spending import split
from tests import example

LAPLACE = DiscreteLaplace(l1=2, scale=Fraction(8), times=3)
GAUSSIAN = DiscreteGaussian(l2_squared=2, sigma2=Fraction(50), unit_moves=2, times=4)
CHOICE = ExponentialMechanism(epsilon=Fraction(1, 4), times=2)


@dataclass(frozen=True)
class Plain:
    """A plan that sets nothing aside."""


def _shares(plan, events):
    return {part.purpose: part.share for part in split(plan, events)}


def test_pure_draws_are_split_in_epsilon():
    shares = _shares(Plain(), (LAPLACE, CHOICE))
    whole = pure_epsilon((LAPLACE, CHOICE))
    assert shares["choosing what to measure"] == pytest.approx(float(Fraction(1, 2) / whole))
    assert sum(shares.values()) == pytest.approx(1)
    assert {part.remark for part in split(Plain(), (LAPLACE,))} == {"share of epsilon"}


def test_one_gaussian_draw_makes_rho_the_currency_of_all():
    events = (LAPLACE, GAUSSIAN, CHOICE)
    shares = _shares(Plain(), events)
    assert shares["choosing what to measure"] == pytest.approx(float(rho((CHOICE,)) / rho(events)))
    assert {part.remark for part in split(Plain(), events)} == {"share of rho"}
    assert sum(shares.values()) == pytest.approx(1)


def test_draws_are_counted():
    parts = {part.purpose: part.draws for part in split(Plain(), (LAPLACE, GAUSSIAN, CHOICE))}
    assert parts == {"choosing what to measure": 2, "measuring what the records are made of": 7}


def test_what_cost_nothing_has_no_split():
    assert split(Plain(), (DiscreteLaplace(l1=0, scale=Fraction(1)),)) == ()


@pytest.mark.parametrize(
    ("changes", "purpose"),
    [
        ({"certificate": {"share": "1/4", "cells": 4}}, "marginals for the certificate alone"),
        (
            {"mechanism": {"name": "mwem-queries", "queries": [{"marginals": {"ways": 1}}]}},
            "the worst query, for the certificate",
        ),
        (
            {"binning": {"share": "1/5", "columns": {"age": 4}}},
            "columns by themselves, on their own cells",
        ),
    ],
)
def test_what_a_plan_sets_aside_is_a_purpose_of_its_own(changes, purpose, tmp_path):
    plan = prepare(example.write(tmp_path, 50, **changes)).plan
    shares = _shares(plan, plan.events)
    assert 0 < shares[purpose] < 1
    assert sum(shares.values()) == pytest.approx(1)


def test_columns_measured_for_the_certificate_are_part_of_what_it_takes(tmp_path):
    changes = {
        "certificate": {"share": "1/4", "cells": 3},
        "mechanism": {"name": "adaptive-support"},
        "data": {**example.spec(tmp_path / "table.csv")["data"], "expected_rows": 10**6},
        "privacy": {"neighbours": "replace_one", "unit": "record", "epsilon": "1"},
    }
    plan = prepare(example.write(tmp_path, 50, **changes)).plan
    assert plan.measured.own is not None
    (own,) = [part for part in split(plan, plan.events) if "certificate" in part.purpose]
    assert own.share == pytest.approx(1 / 4)
    assert own.draws == sum(event.times for event in plan.measured.events)


def test_a_certificate_without_a_release_spends_all_on_itself(tmp_path):
    changes = {"certificate": {"cells": 2}, "mechanism": {"name": "certify"}}
    plan = prepare(example.write(tmp_path, 50, constraints=[], output={}, **changes)).plan
    assert plan.measured.own is not None
    (own,) = split(plan, plan.events)
    assert (own.purpose, own.share) == ("marginals for the certificate alone", 1)
    assert own.draws == len(plan.measured.queries)
