"""Flat tables say what the tables say."""

import numpy as np
import pytest

from hallmark.mechanisms.domain.rules import obeys
from tests.mechanisms.domain.rules.small_rules import random_rules, records


@pytest.mark.parametrize("seed", range(20))
def test_obeys_looks_at_all_tables_of_an_attribute_and_at_no_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rules = random_rules(rng)
    flat = rules.compiled()
    everything = records(rules.shape)
    for row in everything[rng.permutation(len(everything))[:30]]:
        for attribute, size in enumerate(rules.shape):
            for code in range(size):
                new = row.copy()
                new[attribute] = code
                expected = all(
                    table.allowed[tuple(new[list(table.columns)])]
                    for table in rules.tables
                    if attribute in table.columns
                )
                assert obeys(row, attribute, code, flat) == expected


def test_tables_on_the_same_columns_are_looked_at_once() -> None:
    for seed in range(20):
        rules = random_rules(np.random.default_rng(seed))
        assert len(rules.compiled().offsets) == len({table.columns for table in rules.tables})
