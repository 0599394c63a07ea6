"""Edit rules: how they are read, and what they say about rows with and without nulls."""

import math
import operator
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from hallmark.schemas.columns.columns import Column
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
from hallmark.schemas.rules.rules import RuleError, parse_rule

PUBLIC = {"kind": "public", "reference": "codebook"}
GRADES = ["low", "middle", "high"]  # not in alphabetic order


def columns():
    specs = {
        "a": {"type": "numeric", "minimum": 0, "maximum": 9, "cells": 9, "outside": "clamp"},
        "b": {"type": "numeric", "minimum": 0, "maximum": 9, "cells": 9, "outside": "clamp"},
        "s": {"type": "nominal", "categories": ["x", "y", "01"], "outside": "refuse"},
        "g": {"type": "ordinal", "categories": GRADES, "outside": "refuse"},
        "h": {"type": "ordinal", "categories": GRADES, "outside": "refuse"},
        "d": {
            "type": "date",
            "minimum": "2000-01-01",
            "maximum": "2009-12-31",
            "cells": 9,
            "outside": "clamp",
        },
        "full": {"type": "nominal", "categories": ["x", "q"], "outside": "refuse", "nulls": False},
    }
    read = TypeAdapter(Column).validate_python
    made = {
        name: read({"nulls": True, "bound_source": PUBLIC, **spec}) for name, spec in specs.items()
    }
    texts = {"1": True, "yes": True, "0": False}
    made["t"] = read({"type": "boolean", "values": texts, "outside": "refuse", "nulls": True})
    return made


COLUMNS = columns()


def frame(**values):
    return pd.DataFrame(
        {
            name: pd.Series(
                column, dtype="datetime64[ns]" if name == "d" else float if name in "ab" else object
            )
            for name, column in values.items()
        }
    )


def refusal(text) -> str:
    """Why the rule cannot be read."""
    with pytest.raises(RuleError) as caught:
        parse_rule(text)
    return str(caught.value)


def broken(text, **values):
    return list(parse_rule(text).bound_to(COLUMNS).violations(frame(**values)))


# Reading


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("a < 15", Comparison("a", "<", Value("15"))),
        ("a<=-1.5e3", Comparison("a", "<=", Value("-1.5e3"))),
        ("a != b", Comparison("a", "!=", ColumnName("b"))),
        ('s = "b"', Comparison("s", "=", Value("b"))),
        ("s = 01-01301", Comparison("s", "=", Value("01-01301"))),
        ("s in {01, 'a b', c}", Member("s", (Value("01"), Value("a b"), Value("c")))),
        ("s not in {1}", Not(Member("s", (Value("1"),)))),
        ("t = true", Comparison("t", "=", Value("true"))),
        ("truth = trueish", Comparison("truth", "=", ColumnName("trueish"))),
        ("order is null", IsNull("order")),
        ("`odd name` is not null", Not(IsNull("odd name"))),
        ("a determines b", Determines("a", "b")),
        ("d >= 1999-12-31", Comparison("d", ">=", Value("1999-12-31"))),
        (
            "a=1 or a=2 and not a=3",
            Or(
                (
                    Comparison("a", "=", Value("1")),
                    And(
                        (
                            Comparison("a", "=", Value("2")),
                            Not(Comparison("a", "=", Value("3"))),
                        )
                    ),
                )
            ),
        ),
        (
            "a is null <=> b is null <=> s is null",
            Equivalent((IsNull("a"), IsNull("b"), IsNull("s"))),
        ),
        (
            "a is null or b is null => s is null",
            Implies(Or((IsNull("a"), IsNull("b"))), IsNull("s")),
        ),
        (
            "a is null => b is null <=> s is null",
            Equivalent((Implies(IsNull("a"), IsNull("b")), IsNull("s"))),
        ),
        ("not a is null and b is null", And((Not(IsNull("a")), IsNull("b")))),
    ],
)
def test_a_rule_is_read_as_it_says(text, body):
    assert parse_rule(text).body == body


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the rule is empty; write one such as: AGE < 15 => INCOME is null"),
        ("a <", "the rule ends too early, but expected a column or a value"),
        (
            "a == 3",
            "found '=' at character 4, but expected a column or a value; write a single =",
        ),
        (
            "15 > a",
            "found '15' at character 1, but expected (, a column or not; "
            "write the column first, then the value",
        ),
        ("s in {}", "found '}' at character 7, but expected a column or a value"),
        ("(a = 1", "the rule ends too early, but expected )"),
        (
            "a = 'x",
            'found "\'" at character 5, but expected a column or a value; close the quotes',
        ),
        ("a is nul", "found 'nul' at character 6, but expected not or null"),
        (
            "own rent = 0",
            "found 'rent' at character 5, but expected a comparison (= != < <= > >=), determines, "
            "in, is or not; put a column name with spaces or symbols in backticks, and a value in "
            "quotes",
        ),
        (
            "a in [1, 2]",
            "found '[' at character 6, but expected {; put the values in braces",
        ),
        ("a determines b and s = 1", "found 'and' at character 16, but expected the end"),
        (
            "a = 1 AND b = 2",
            "found 'AND' at character 7, but expected <=>, =>, and, or or the end; "
            "write and in lowercase",
        ),
        (
            "a = 1 => b = 1 => s = 1",
            "found '=>' at character 16, but expected <=> or the end; "
            "put nested implications in parentheses",
        ),
        (
            "a > 300,000",
            "found ',' at character 8, but expected <=>, =>, and, or or the end; "
            "write numbers without separators, such as 300000",
        ),
    ],
)
def test_a_rule_that_cannot_be_read_says_where_and_what_belongs_there(text, message):
    assert refusal(text) == message


@pytest.mark.parametrize(
    ("text", "mend"),
    [
        ("a <> 2", "write !="),
        ("a = 1 -> b = 1", "write =>"),
        ("a = 1 && b = 1", "write and"),
        ("a = 1 || b = 1", "write or"),
        ("a in (1, 2)", "put the values in braces"),
        ("a = 1 => b null", "write is null"),
        ("a = 1 and 'x' = s", "write the column first"),
        ("2nd = 0", "backticks"),
        ("own-rent = 0", "backticks"),
        ("é = 0", "backticks"),
        ("s = young adult", "quotes"),
    ],
)
def test_what_other_languages_write_has_its_mend(text, mend):
    assert mend in refusal(text).partition(";")[2]


def written(body) -> str:
    """The rule in full parentheses."""

    def value(v):
        return f'"{v.text}"' if isinstance(v, Value) else f"`{v.name}`"

    match body:
        case Comparison(column, sign, right):
            return f"`{column}` {sign} {value(right)}"
        case Member(column, values):
            return f"`{column}` in {{{', '.join(map(value, values))}}}"
        case IsNull(column):
            return f"`{column}` is null"
        case Not(part):
            return f"not ({written(part)})"
        case Implies(premise, conclusion):
            return f"({written(premise)}) => ({written(conclusion)})"
        case And(parts) | Or(parts) | Equivalent(parts):
            sign = {And: "and", Or: "or", Equivalent: "<=>"}[type(body)]
            return f" {sign} ".join(f"({written(part)})" for part in parts)
    raise AssertionError(body)


def expressions(atoms):
    def grown(inner):
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            st.builds(Not, inner),
            st.builds(And, several),
            st.builds(Or, several),
            st.builds(Implies, inner, inner),
            st.builds(Equivalent, several),
        )

    return st.recursive(atoms, grown, max_leaves=6)


SIGNS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
ANY_NAME = st.text(st.characters(exclude_characters="`", exclude_categories=["C", "Z"]), min_size=1)
ANY_VALUE = st.builds(Value, st.text(st.characters(exclude_characters='"', codec="utf-8")))
ANY_ATOM = st.one_of(
    st.builds(Comparison, ANY_NAME, SIGNS, ANY_VALUE | st.builds(ColumnName, ANY_NAME)),
    st.builds(Member, ANY_NAME, st.lists(ANY_VALUE, min_size=1, max_size=3).map(tuple)),
    st.builds(IsNull, ANY_NAME),
)


@given(expressions(ANY_ATOM))
def test_whatever_can_be_said_can_be_written_and_read_back(body):
    assert parse_rule(written(body)).body == body


@given(st.text(st.sampled_from("ab <>=!()\"'{}`,01.andornotisull\n")))
def test_any_text_is_a_rule_or_a_rule_error(text):
    with suppress(RuleError):
        assert parse_rule(text).columns()


def test_columns_are_named_once_in_the_order_of_the_rule():
    assert parse_rule("b < a => s = 1 or b is null").columns() == ("b", "a", "s")
    assert parse_rule("b determines a").columns() == ("b", "a")


# Truth

PLACES = st.sampled_from([None, *GRADES])
NUMBERS = st.sampled_from([None, 0.0, 1.0, 2.0])
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, st.sampled_from([None, "x", "y"]), PLACES), max_size=8)
ATOMS = st.one_of(
    st.builds(
        Comparison,
        st.sampled_from("ab"),
        SIGNS,
        st.sampled_from([Value("1"), Value("0.5"), ColumnName("a"), ColumnName("b")]),
    ),
    st.builds(
        Comparison,
        st.just("s"),
        st.sampled_from(["=", "!="]),
        st.sampled_from([Value("x"), Value("y"), ColumnName("s")]),
    ),
    st.builds(Comparison, st.just("g"), SIGNS, st.sampled_from([Value(grade) for grade in GRADES])),
    st.just(Member("s", (Value("x"), Value("01")))),
    st.just(Member("a", (Value("1"), Value("2")))),
    st.builds(IsNull, st.sampled_from("absg")),
)
COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def truth(body, row) -> bool | None:
    """Truth in one row, None for unknown: the definition, written out slowly."""

    def ranked(column, value):
        return GRADES.index(value) if column == "g" and value is not None else value

    match body:
        case IsNull(column):
            return row[column] is None
        case Comparison(column, sign, right):
            left = ranked(column, row[column])
            if isinstance(right, ColumnName):
                other = ranked(column, row[right.name])
            else:
                other = float(right.text) if column in "ab" else ranked(column, right.text)
            return None if left is None or other is None else COMPARE[sign](left, other)
        case Member(column, values):
            if row[column] is None:
                return None
            return row[column] in [float(v.text) if column in "ab" else v.text for v in values]
        case Not(part):
            known = truth(part, row)
            return None if known is None else not known
        case And(parts):
            known = [truth(part, row) for part in parts]
            return False if False in known else None if None in known else True
        case Or(parts):
            known = [truth(part, row) for part in parts]
            return True if True in known else None if None in known else False
        case Implies(premise, conclusion):
            return truth(Or((Not(premise), conclusion)), row)
        case Equivalent(parts):
            known = [truth(part, row) for part in parts]
            return False if {True, False} <= set(known) else None if None in known else True
    raise AssertionError(body)


@given(expressions(ATOMS), ROWS)
def test_a_row_breaks_a_rule_exactly_where_it_is_known_to_be_false(body, rows):
    table = (
        dict(zip("absg", zip(*rows, strict=True), strict=True)) if rows else {c: [] for c in "absg"}
    )
    found = broken(written(body), **{name: list(values) for name, values in table.items()})
    assert found == [truth(body, dict(zip("absg", row, strict=True))) is False for row in rows]


def test_a_comparison_with_a_null_is_never_broken():
    nan = math.nan
    assert broken("a < b", a=[1, 2, 2, nan, nan], b=[2, 1, nan, 1, nan]) == [
        False, True, False, False, False,
    ]  # fmt: skip


def test_the_negation_of_an_unknown_comparison_is_unknown_too():
    assert broken("not a < 5", a=[math.nan, 1]) == [False, True]


def test_an_equivalence_is_broken_once_two_parts_are_known_to_differ():
    assert broken("a < 5 <=> b < 5 <=> s is null", a=[1, 9, 1], b=[9, math.nan, math.nan],
                  s=["x", None, None]) == [True, True, False]  # fmt: skip


def test_ordinals_follow_the_order_of_the_spec_not_the_alphabet():
    assert broken('g < "high"', g=["low", "middle", "high", None]) == [False, False, True, False]
    assert broken("g <= h", g=["low", "high"], h=["middle", "middle"]) == [False, True]


def test_categories_compare_as_text():
    assert broken("s = 01", s=["01", "x"]) == [False, True]
    assert broken("s = full", s=["x", "x"], full=["x", "q"]) == [False, True]


def test_days_compare_as_days():
    assert broken("d < 2005-01-01", d=["2004-12-31", "2005-01-01", None]) == [False, True, False]


def test_a_boolean_is_compared_with_true_false_or_any_of_its_texts():
    for text in ("t = true", 't = "yes"', "t = 1", "t in {yes}", "t != false"):
        assert broken(text, t=["1", "0", None]) == [False, True, False]


def test_determines_flags_rows_that_differ_from_the_most_common_value():
    assert broken(
        "s determines a",
        s=["x", "x", "x", "y", "y", None, "y"],
        a=[1, 1, 2, 4, 3, 5, math.nan],
    ) == [False, False, True, True, False, False, False]


@given(ROWS)
def test_determines_leaves_a_table_in_which_it_holds_once_broken_rows_are_gone(rows):
    s, a = [row[2] for row in rows], [row[0] for row in rows]
    flags = broken("s determines a", s=s, a=a)
    kept = {
        (x, y) for x, y, flag in zip(s, a, flags, strict=True) if not flag and x and y is not None
    }
    assert len({x for x, _ in kept}) == len(kept)
    assert {x for x, y in zip(s, a, strict=True) if x and y is not None} == {x for x, _ in kept}


def test_flags_keep_the_index_of_the_frame():
    table = pd.DataFrame({"a": [1.0, 9.0]}, index=[7, 3])
    found = parse_rule("a < 5").violations(table)
    assert (list(found.index), list(found)) == ([7, 3], [False, True])


def test_pandas_own_missing_values_are_nulls():
    table = pd.DataFrame({"s": pd.array(["x", pd.NA], dtype="string"), "a": [1.0, np.nan]})
    rule = parse_rule('s = "x" <=> a = 1').bound_to(COLUMNS)
    assert list(rule.violations(table)) == [False, False]
    assert list(parse_rule("s is null").violations(table)) == [True, False]


def test_a_rule_on_a_column_that_the_table_lacks_is_refused():
    with pytest.raises(RuleError, match="the table has no column b"):
        parse_rule("b = 1").violations(pd.DataFrame({"a": [1.0]}))


# Types


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("z = 1", "there is no column z"),
        ("a = z", "there is no column z"),
        ("a determines z", "there is no column z"),
        ("a determines a", "a determines itself, as every column does; name two columns"),
        ("a = s", "a is numeric and s is nominal"),
        ("a = 01-01", "a is numeric, but is compared with '01-01'; write a number"),
        ("d = 5", "d is a date, but is compared with '5'; write a day like 1999-12-31"),
        ("s < y", "s is nominal and has no order"),
        ("t < true", "t is boolean and has no order"),
        ("t = maybe", "there is no column maybe"),
        ("t = 2", "t is boolean, but is compared with '2'; write true or false"),
        ("s = 1", "'1' is not a category of s; did you mean 01?"),
        ("s in {x, w}", "'w' is not a category of s"),
        ("s = y", 'write its code in quotes: s = "y"'),
        ("full is null", "full is never null"),
        ("not (a = 1 and full is not null)", "full is never null"),
    ],
)
def test_a_rule_that_does_not_suit_the_columns_is_refused(text, problem):
    with pytest.raises(RuleError) as caught:
        parse_rule(text).bound_to(COLUMNS)
    assert problem in str(caught.value)


def test_ordinals_with_different_categories_are_not_compared():
    other = TypeAdapter(Column).validate_python(
        {
            "type": "ordinal",
            "categories": ["high", "low"],
            "outside": "refuse",
            "bound_source": PUBLIC,
        }
    )
    (problem,) = parse_rule("g < other").problems({**COLUMNS, "other": other})
    assert problem.startswith("g and other list different categories")
