"""Rules that are put together in a form."""

import pytest

from hallmark.schemas.rule_answers import INPUTS, rule_of
from hallmark.schemas.rules.rule_syntax import RuleError


def typed(**answers: str) -> dict[str, str]:
    inputs = [one for several in INPUTS.values() for one in several]
    empty = {one.name: one.choices[0][0] if one.choices else "" for one in inputs}
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
