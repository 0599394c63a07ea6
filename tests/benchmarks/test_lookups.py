"""The benchmark of lookups: its judge gives a table itself the full score."""

import pytest

from benchmarks.data import excerpt
from benchmarks.lookups import judged, scores


@pytest.mark.slow
def test_a_table_has_the_full_score_and_a_shuffled_one_less() -> None:
    real = excerpt("ma2019")
    assert scores(*judged(real, real.copy())) == pytest.approx((1000, 1000, 1000))
    mixed = real.assign(DENSITY=real["DENSITY"].sample(frac=1, random_state=0).to_numpy())
    every, density, others = scores(*judged(real, mixed))
    assert density < every < others == pytest.approx(1000)


def test_every_cell_of_the_judge_holds_a_twentieth_of_the_numbers() -> None:
    real, _ = judged(excerpt("ma2019"), excerpt("ma2019"))
    assert real["AGEP"].nunique() == 20
    assert set(real["POVPIP"]) == {-1.0, *map(float, range(21))}
