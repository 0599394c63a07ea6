"""Rules put together in a form: what is written is read as the same statement, or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hallmark.schemas.rules.rule_syntax import (
    Body,
    ColumnName,
    Comparison,
    Determines,
    Equivalent,
    Implies,
    IsNull,
    Member,
    Not,
    RuleError,
    Value,
    parse_body,
)
from hallmark.schemas.rules.rule_writing import INPUTS, rule_of, written

names = st.sampled_from(["age", "in", "own rent", "a.b", "née", "1st", "`", "=> x", "true"])
values = st.builds(
    Value,
    st.text(max_size=4)
    | st.sampled_from(["01", "no", "1.0", "-3", "1999-12-31", "true", 'a"', "a'\"", "null", ""]),
)
signs = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
members = st.builds(Member, names, st.lists(values, min_size=1, max_size=3).map(tuple))
comparisons = (
    st.builds(Comparison, names, signs, values | st.builds(ColumnName, names))
    | members
    | st.builds(IsNull, names)
    | st.builds(Not, members | st.builds(IsNull, names))
)
pairs = st.tuples(comparisons, comparisons)
bodies = (
    comparisons
    | st.builds(Implies, comparisons, comparisons)
    | st.builds(Equivalent, pairs)
    | st.builds(Determines, names, names)
)


@given(bodies)
def test_what_is_written_is_read_as_the_same_statement_or_refused(body: Body):
    try:
        text = written(body)
    except RuleError:
        assert "`" in repr(body) or ("'" in repr(body) and '"' in repr(body))
    else:
        assert parse_body(text) == body


def typed(**answers: str) -> dict[str, str]:
    empty = {one.name: one.choices[0][0] if one.choices else "" for one in INPUTS}
    return empty | {name.replace("_", "."): value for name, value in answers.items()}


def test_a_form_says_comparisons_and_what_follows_from_them():
    assert rule_of(typed(then_column="a", then_is="<", then_other="b c")) == "a < `b c`"
    child = typed(if_column="age", if_is="<", if_value="15", then_column="pay", then_is="is null")
    assert rule_of(child) == "age < 15 => pay is null"
    assert rule_of(child | {"so": "<=>"}) == "age < 15 <=> pay is null"
    several = typed(then_column="sex", then_is="not in", then_value='F, "a, b",01')
    assert rule_of(several) == 'sex not in {"F", "a, b", 01}'


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({}, "name the column"),
        ({"then_column": "a"}, "give one of the two"),
        ({"then_column": "a", "then_value": "1", "then_other": "b"}, "give one of the two"),
        ({"then_column": "a", "then_is": "in", "then_other": "b"}, "is compared by one of ="),
        ({"then_column": "a", "then_is": "~", "then_value": "b"}, "is compared by one of ="),
        ({"then_column": "a", "then_value": "'\""}, "expected|cannot say"),
    ],
)
def test_what_is_no_rule_is_refused(answers: dict[str, str], says: str):
    with pytest.raises(RuleError, match=says):
        rule_of(typed(**answers))
