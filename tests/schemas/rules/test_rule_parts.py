"""Clauses of a rule: a row breaks one of them exactly where it breaks the rule."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hallmark.schemas.rules import rule_parts
from hallmark.schemas.rules.rule_parts import atoms, clauses, compared
from hallmark.schemas.rules.rule_syntax import (
    And,
    ColumnName,
    Comparison,
    Determines,
    Equivalent,
    Implies,
    IsNull,
    Member,
    Not,
    Or,
    Value,
)
from hallmark.schemas.rules.rules import Rule, parse_rule

NAMES = ("a", "b", "c")
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")

simple = st.one_of(
    st.builds(
        Comparison,
        st.sampled_from(NAMES),
        st.sampled_from(OPERATORS),
        st.one_of(
            st.builds(ColumnName, st.sampled_from(NAMES)),
            st.builds(Value, st.sampled_from(["0", "1"])),
        ),
    ),
    st.builds(Member, st.sampled_from(NAMES), st.just((Value("0"), Value("2")))),
    st.builds(IsNull, st.sampled_from(NAMES)),
)
statements = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(And, st.tuples(inner, inner)),
        st.builds(Or, st.tuples(inner, inner)),
        st.builds(Implies, inner, inner),
        st.builds(Equivalent, st.one_of(st.tuples(inner, inner), st.tuples(inner, inner, inner))),
    ),
    max_leaves=6,
)
VALUES = [0.0, 1.0, 2.0, np.nan]
GRID = np.array(np.meshgrid(VALUES, VALUES, VALUES)).reshape(3, -1).T
EVERY_ROW = pd.DataFrame(GRID, columns=list(NAMES))


@pytest.mark.parametrize("most", [64, 2])
@given(body=statements)
@settings(max_examples=150)
def test_a_row_breaks_a_clause_exactly_where_it_breaks_the_rule(most, body) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule_parts, "MOST_CLAUSES", most)
        parts = clauses(body)
    whole = Rule("whole", body).violations(EVERY_ROW).to_numpy()
    broken = [Rule("part", part).violations(EVERY_ROW).to_numpy() for part in parts]
    assert np.array_equal(np.logical_or.reduce(broken), whole)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("a < 1 and b < 1", [("a",), ("b",)]),
        ("a < 1 => b is null and c is null", [("a", "b"), ("a", "c")]),
        ("a < 1 or b < 1 => c is null", [("a", "c"), ("b", "c")]),
        ("a is null <=> b is null <=> c is null", [("a", "b"), ("a", "c"), ("b", "c")]),
        ("not (a < 1 or b < 1)", [("a",), ("b",)]),
        ("not (a < 1 => b < 1)", [("a",), ("b",)]),
        ("(a < 1 => b < 1) and (a < 2 => c < 1 and b > 0)", [("a", "b"), ("a", "c")]),
        ("a < 1 or b < 1 or c < 1", [("a", "b", "c")]),
        ("a determines b", [("a", "b")]),
    ],
)
def test_rules_are_split_into_statements_on_few_columns(text, columns) -> None:
    parts = parse_rule(text).clauses()
    assert sorted({tuple(sorted(part.columns())) for part in parts}) == columns
    assert {part.text for part in parts} == {text}


def test_a_statement_with_too_many_clauses_stays_whole() -> None:
    text = " or ".join(["(a < 1 and b < 1)"] * 6 + ["(c < 1 and b > 0)"])
    assert len(parse_rule(text).clauses()) == 1
    assert parse_rule(text).clauses()[0].columns() == ("a", "b", "c")


def test_atoms_and_compared_columns_are_found_at_any_depth() -> None:
    body = parse_rule("not (a < b and c in {1}) => a is null <=> c >= a").body
    assert not isinstance(body, Determines)
    assert [type(atom) for atom in atoms(body)] == [Comparison, Member, IsNull, Comparison]
    assert list(compared(body)) == [("a", "b"), ("c", "a")]
