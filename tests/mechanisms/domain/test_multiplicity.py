"""Rare combinations: none is left, the nearest takes its place, and rules still hold."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hallmark.mechanisms.arrays import Codes
from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.domain.multiplicity import NothingCommon, without_rare
from hallmark.mechanisms.domain.rules import Rules
from hallmark.mechanisms.domain.rules.tables import RuleTable

SHAPE = (5, 3, 2, 4)
KINDS = (Kind.ORDINAL, Kind.NOMINAL, Kind.NOMINAL, Kind.NUMERIC)


def domain(rules: Rules | None = None) -> Domain:
    attributes = tuple(
        Attribute(
            name=f"c{i}",
            kind=kind,
            positions=(np.arange(k - null) + 0.5) / (k - null),
            widths=np.zeros(k - null),
            has_null=bool(null),
        )
        for i, (k, kind, null) in enumerate(zip(SHAPE, KINDS, (1, 0, 0, 0), strict=True))
    )
    return Domain(attributes) if rules is None else Domain(attributes, rules)


def records(seed: int, rows: int = 60) -> Codes:
    rng = np.random.default_rng(seed)
    skewed = [rng.choice(k, rows, p=rng.dirichlet(np.full(k, 0.4))) for k in SHAPE]
    return np.column_stack(skewed).astype(np.int32)


def far(one: tuple[int, ...], other: tuple[int, ...], keys: list[int]) -> tuple[int, float]:
    """How many keys differ, and how far ordered ones do; the null cell is far from all."""
    differing = [k for k, a, b in zip(keys, one, other, strict=True) if a != b]
    ordered = 0.0
    for key, a, b in zip(keys, one, other, strict=True):
        if a != b and KINDS[key].ordered:
            levels = SHAPE[key] - (key == 0)
            ordered += abs(a - b) / levels if max(a, b) < levels else 1.0
    return len(differing), ordered


@given(
    st.integers(0, 10**6),
    st.lists(st.sampled_from(range(4)), min_size=1, max_size=3, unique=True),
    st.integers(2, 5),
)
def test_no_combination_is_rare_and_each_rare_one_went_to_the_nearest(
    seed: int, keys: list[int], least: int
):
    codes = records(seed)
    before = [tuple(row) for row in codes[:, keys].tolist()]
    counts = Counter(before)
    common = [one for one, number in counts.items() if number >= least]
    if not common:
        with pytest.raises(NothingCommon, match=f"is that of {least} records"):
            without_rare(codes, domain(), keys, least, np.random.default_rng(0))
        return
    made = without_rare(codes, domain(), keys, least, np.random.default_rng(0))
    after = [tuple(row) for row in made[:, keys].tolist()]
    assert min(Counter(after).values()) >= least
    others = [c for c in range(4) if c not in keys]
    np.testing.assert_array_equal(made[:, others], codes[:, others])
    for was, now in zip(before, after, strict=True):
        if counts[was] >= least:
            assert now == was
        else:
            nearest = min(far(was, one, keys) for one in common)
            assert far(was, now, keys) == pytest.approx(nearest)
            ties = [one for one in common if far(was, one, keys) == pytest.approx(nearest)]
            assert counts[now] == max(counts[one] for one in ties)


def test_columns_that_a_rule_ties_to_the_keys_follow():
    allowed = np.ones((5, 4), dtype=bool)
    allowed[0, 1:] = False  # the first value of c0 goes with the first of c3 alone
    rules = Rules(SHAPE, (RuleTable("tests", (0, 3), allowed),))
    codes = np.array([[0, 0, 0, 0]] * 5 + [[1, 0, 0, 3]], dtype=np.int32)
    made = without_rare(codes, domain(rules), [0], 2, np.random.default_rng(0))
    assert made.tolist() == [[0, 0, 0, 0]] * 6


def test_records_without_rare_combinations_are_the_same():
    codes = np.repeat(records(3, 8), 3, axis=0)
    assert without_rare(codes, domain(), [0, 1], 3, np.random.default_rng(0)) is codes
