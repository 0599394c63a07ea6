"""Totals that cannot hold are named with the smallest set that shows it."""

import pickle

import numpy as np
import pytest

from hallmark.mechanisms.domain.rules import Determination, Rules, RuleTable
from hallmark.mechanisms.domain.rules.contradictions import only
from hallmark.mechanisms.domain.totals import PublicTotals, TotalsContradict, check
from tests.mechanisms.domain.totals.small_totals import (
    holding_tables,
    random_rules,
    random_totals,
    total,
)

SHAPE = (2, 3)
SEX = total("sex", (0,), np.array([0, 1]), [2, 3])
AGE = total("age", (1,), np.arange(3), [1, 1, 3])


def test_totals_that_some_records_have_pass():
    check(PublicTotals(SHAPE, (SEX, AGE)), Rules(SHAPE))
    check(PublicTotals(SHAPE), Rules(SHAPE))


def test_a_rule_that_empties_a_group_is_named_with_the_group():
    forbids = np.ones((2, 3), dtype=bool)
    forbids[:, 2] = False
    harmless = RuleTable("harmless", (0,), np.array([True, True]))
    rules = Rules(SHAPE, (harmless, RuleTable("nobody is old", (0, 1), forbids)))
    with pytest.raises(TotalsContradict, match=r"'nobody is old': age group 2: 3") as refused:
        check(PublicTotals(SHAPE, (SEX, AGE)), rules)
    assert refused.value.totals == ("age",)
    assert refused.value.rules == ("nobody is old",)
    again = pickle.loads(pickle.dumps(refused.value))
    assert (again.totals, again.rules, str(again)) == (
        ("age",),
        ("nobody is old",),
        str(refused.value),
    )


def test_totals_that_contradict_each_other_need_no_rule():
    young = total("young", (1,), np.array([0, 0, 1]), [4, 1])
    rule = RuleTable("rule", (0, 1), np.ones((2, 3), dtype=bool))
    with pytest.raises(TotalsContradict, match=r"no table of 5 records has them all$") as refused:
        check(PublicTotals(SHAPE, (SEX, AGE, young)), Rules(SHAPE, (rule,)))
    assert refused.value.totals == ("age", "young")
    assert refused.value.rules == ()


def test_totals_that_only_together_with_a_rule_contradict_are_named_with_it():
    same = RuleTable("same", (0, 1), np.array([[True, False, False], [False, True, True]]))
    with pytest.raises(TotalsContradict, match="has them all under 'same'") as refused:
        check(PublicTotals(SHAPE, (SEX, AGE)), Rules(SHAPE, (same,)))
    assert refused.value.totals == ("sex", "age")


def test_functions_that_only_answers_settle_cannot_meet_totals():
    rules = Rules(SHAPE, determinations=(Determination("sex determines age", 0, 1),))
    with pytest.raises(TotalsContradict, match="'sex determines age' does not say which"):
        check(PublicTotals(SHAPE, (AGE,)), rules)


def refusal(totals: PublicTotals, rules: Rules) -> TotalsContradict | None:
    try:
        check(totals, rules)
    except TotalsContradict as error:
        return error
    return None


@pytest.mark.parametrize("seed", range(25))
def test_what_is_named_contradicts_and_none_of_it_can_be_spared(seed):
    shape = (2, 2, 2)
    rng = np.random.default_rng(seed)
    rules = random_rules(shape, rng)
    totals = random_totals(shape, rng.integers(0, 2, (3, 3)).astype(np.int32), rng, many=3)
    error = refusal(totals, rules)
    if error is None:
        assert holding_tables(totals, rules)
        return
    named = totals.only(error.totals)
    assert holding_tables(named, only(rules, error.rules)) == []
    for name in error.totals:
        fewer = totals.only([other for other in error.totals if other != name])
        assert not fewer or holding_tables(fewer, only(rules, error.rules))
    for name in error.rules:
        fewer_rules = [other for other in error.rules if other != name]
        assert holding_tables(named, only(rules, fewer_rules))
