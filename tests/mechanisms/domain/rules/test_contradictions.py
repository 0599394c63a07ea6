"""Contradictions against all records and all sets of rules of small domains."""

import pickle
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from hallmark.mechanisms.domain.rules import Contradiction, Rules, RuleTable, check
from tests.mechanisms.domain.rules.small_rules import random_rules, records, truly_valid


def some(rules: Rules, names: tuple[str, ...]) -> Rules:
    parts = rules.parts
    if parts is not None:
        parts = replace(parts, tables=tuple(t for t in parts.tables if t.name in names))
    return replace(rules, tables=tuple(t for t in rules.tables if t.name in names), parts=parts)


def is_wrong(rules: Rules, column: int | None) -> bool:
    alive = records(rules.shape)[truly_valid(rules)]
    if column is None:
        return len(alive) == 0
    return bool((alive[:, column] == rules.shape[column] - 1).all())


@pytest.mark.parametrize(
    "seed", [*range(60), *(pytest.param(one, marks=pytest.mark.slow) for one in range(60, 120))]
)
def test_rules_are_refused_where_they_leave_nothing_with_a_minimal_set_of_them(seed: int) -> None:
    rules = random_rules(np.random.default_rng(seed), parts=bool(seed % 2), share=0.35)
    emptied = [c for c in rules.nullable if is_wrong(rules, c)]
    nothing = is_wrong(rules, None)
    if not nothing and not emptied:
        check(rules)
        return
    with pytest.raises(Contradiction) as refused:
        check(rules)
    column = refused.value.column
    assert column is None if nothing else column in emptied
    named = refused.value.rules
    assert is_wrong(some(rules, named), column)
    for fewer in combinations(named, len(named) - 1):
        assert not is_wrong(some(rules, fewer), column)


def flag(name: str, column: int, *values: bool) -> RuleTable:
    return RuleTable(name, (column,), np.array(values))


def test_the_message_names_the_rules_and_the_column() -> None:
    same = RuleTable("same", (0, 1), np.eye(2, dtype=bool))
    free = flag("free", 2, True, True)
    with pytest.raises(ValueError, match=r"^'low', 'same', 'high': contradict each other, for no"):
        check(
            Rules(
                (2, 2, 2), (flag("low", 0, True, False), free, same, flag("high", 1, False, True))
            )
        )
    with pytest.raises(ValueError, match=r"^'none': no record obeys it$"):
        check(Rules((2, 2, 2), (free, flag("none", 1, False, False))))
    gone = Rules((2, 2, 2), (flag("gone", 1, False, True),), nullable=(1,))
    with pytest.raises(ValueError, match=r"^'gone': leaves income no value but null$"):
        check(gone, ("age", "income", "sex"))
    with pytest.raises(ValueError, match=r"^'gone': leaves column 1 no value but null$"):
        check(gone)


def test_dead_values_are_no_error_while_one_stays() -> None:
    check(Rules((3,), (flag("a", 0, True, False, True),), nullable=(0,)))


def test_a_contradiction_pickles() -> None:
    error = pickle.loads(pickle.dumps(Contradiction(("a", "b"), 1, "age")))
    assert (error.rules, error.column, str(error)) == (
        ("a", "b"),
        1,
        "'a', 'b': leave age no value but null",
    )
