"""A domain knows its shape and its rules."""

import pickle

import numpy as np
import pytest

from hallmark.mechanisms.domain.domain import Attribute, Domain, Kind
from hallmark.mechanisms.domain.rules import Rules, RuleTable

TWO = Attribute(name="a", kind=Kind.NOMINAL, positions=np.array([0.0, 1.0]), widths=np.zeros(2))
THREE = Attribute(
    name="b",
    kind=Kind.ORDINAL,
    positions=np.array([0.0, 1.0]),
    widths=np.zeros(2),
    has_null=True,
)
TABLE = RuleTable("r", (0, 1), np.array([[True, False, True], [True, True, False]]))


def test_a_domain_without_rules_allows_every_record_of_its_shape() -> None:
    domain = Domain((TWO, THREE))
    assert domain.shape == domain.rules.shape == (2, 3)
    assert not domain.rules
    assert domain.rules.allowed((0, 1)).all()
    assert Domain(()).rules.shape == ()


def test_a_domain_keeps_its_rules_also_on_the_way_to_another_machine() -> None:
    domain = Domain((TWO, THREE), rules=Rules((2, 3), (TABLE,)))
    for copy in (domain, pickle.loads(pickle.dumps(domain))):
        assert np.array_equal(copy.rules.allowed((0, 1)), TABLE.allowed)
    part = Domain((domain.attributes[1],))
    assert part.rules.shape == (3,)
    assert pickle.loads(pickle.dumps(part)).rules.allowed((0,)).all()


def test_rules_about_other_cells_are_refused() -> None:
    with pytest.raises(ValueError, match=r"the rules are about cells \(2, 3\), not \(3, 2\)"):
        Domain((THREE, TWO), rules=Rules((2, 3)))
