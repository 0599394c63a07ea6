"""Rules as texts: what is written is read as the same statement, or refused."""

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
from hallmark.schemas.rules.rule_writing import written

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
