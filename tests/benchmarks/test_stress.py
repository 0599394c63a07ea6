"""The stress tables are hard as they are said to be, and what is measured of them can be told."""

from itertools import combinations

import numpy as np
import pytest

from benchmarks.stress import TABLES, predicts, released, selections, shares, variation


@pytest.mark.parametrize("name", ["xor3", "xor4"])
def test_parts_of_a_parity_tell_nothing_and_the_whole_tells_all(name: str) -> None:
    stress, fresh = (TABLES[name](np.random.default_rng(seed)) for seed in (1, 2))
    *given, told = stress.hard
    for few in combinations(given, len(given) - 1):
        part = (*few, told)
        even = np.full(2 ** len(part), 0.5 ** len(part))
        assert variation(shares(stress.codes, part, stress.cells), even) < 0.02
    assert predicts(stress.codes, fresh.codes, stress.hard) > 0.94


@pytest.mark.parametrize("name", ["model", "subgroup"])
def test_the_whole_tells_more_than_pairs_do(name: str) -> None:
    stress = TABLES[name](np.random.default_rng(1))
    *given, told = stress.hard
    alone = max(predicts(stress.codes, stress.codes, (cause, told)) for cause in given)
    assert predicts(stress.codes, stress.codes, stress.hard) > alone + 0.02


@pytest.mark.slow
def test_a_parity_is_kept_by_the_default_or_if_it_is_named_and_pairs_lose_it() -> None:
    stress = TABLES["xor3"](np.random.default_rng(1))
    truth = shares(stress.codes, stress.hard, stress.cells)
    every = selections(stress)
    found = {
        what: variation(
            truth, shares(released(stress, every[what], "1", 1), stress.hard, stress.cells)
        )
        for what in ("default", "all pairs", "named")
    }
    assert found["all pairs"] > 0.4
    assert max(found["default"], found["named"]) < 0.02
