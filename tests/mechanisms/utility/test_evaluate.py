"""All metrics together: the reference implementation, small domains, and what is refused."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from hallmark.mechanisms.utility import Label, UtilityScores, counting_queries, evaluate, split
from tests.mechanisms.utility.tables import SIZES, benchmark_file, reference, table

LABELS = {"acs_nat": "OWN_RENT", "adult": "income>50K"}


def assert_as_in_reference(ours: UtilityScores, theirs: dict[str, float]) -> None:
    mine = {name: value for name, value in asdict(ours).items() if value is not None}
    compared = ("covariance", "covariance_real", "count", "count_abs", "thresh", "thresh_abs",
                "sw1", "tv", "l1", "tv1")  # fmt: skip
    for name in (*compared, *(n for n in ("downstream", "downstream_real") if n in theirs)):
        assert mine[name] == pytest.approx(theirs[name], rel=1e-9, abs=1e-14), name


@pytest.mark.parametrize("name", LABELS)
def test_the_benchmark_is_measured_as_its_reference_measures_it(name: str) -> None:
    module = reference()
    cells = json.loads(benchmark_file(f"{name}-domain.json").read_text())
    sizes, label = list(cells.values()), list(cells).index(LABELS[name])
    train, test = (
        pd.read_csv(benchmark_file(f"{name}-{part}.csv"))[list(cells)].to_numpy(dtype=np.int64)
        for part in ("train", "test")
    )
    rng = np.random.default_rng(1)
    synthetic = np.column_stack([rng.permutation(column) for column in train.T])[:3000]
    synthetic[:1500] = train[:1500]
    ours = evaluate(train, synthetic, sizes, test=test, label=Label(column=label, equals=1))
    theirs = module.evaluate(train, test, synthetic, sizes, label, "eq:1", "classification")
    assert_as_in_reference(ours, theirs)
    assert (ours.rows_real, ours.rows_test) == (theirs["rows_real"], theirs["rows_test"])
    assert ours.count_queries == 200


@pytest.mark.parametrize("seed", range(4))
def test_any_table_is_measured_as_by_the_reference(seed: int) -> None:
    module = reference()
    real, synthetic = table(700, seed), table(500, seed + 5)
    train, test = split(real)
    ours = evaluate(real, synthetic, SIZES, label=Label(column=4, number=True), baseline=True)
    theirs = module.evaluate(
        train, test, synthetic, list(SIZES), 4, "code", "regression", reference=True
    )
    assert_as_in_reference(ours, theirs)


def test_classes_of_many_codes_are_predicted_as_by_the_reference() -> None:
    module = reference()
    real, test, synthetic = table(300, 0), table(100, 1), table(300, 2)
    ours = evaluate(real, synthetic, SIZES, test=test, label=Label(column=0))
    theirs = module.evaluate(real, test, synthetic, list(SIZES), 0, "code", "classification")
    assert_as_in_reference(ours, theirs)


def test_a_table_is_like_itself() -> None:
    real = table(300, 1)
    found = evaluate(real, real[::-1], SIZES)
    for name in ("covariance", "covariance_real", "count", "thresh", "sw1", "tv", "l1", "tv1"):
        assert getattr(found, name) == pytest.approx(0, abs=1e-15), name
    assert (found.downstream, found.downstream_real, found.rows_test) == (None, None, None)


def test_l1_is_twice_the_total_variation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting_queries, "MOST_IN_VAIN", 500)
    low, high = np.zeros((5, 3), dtype=int), np.full((7, 3), 3)
    found = evaluate(low, high, (4, 4, 4))
    assert (found.tv, found.l1, found.tv1) == (1.0, 2.0, 1.0)


def test_numbers_depend_on_nothing_but_the_tables() -> None:
    real, synthetic = table(300, 1), table(200, 2)
    np.random.seed(1)  # noqa: NPY002  # that the global generator does not matter is the claim
    first = evaluate(real, synthetic, SIZES)
    np.random.seed(2)  # noqa: NPY002
    assert evaluate(real.astype(np.uint8), synthetic.astype(np.int16), SIZES) == first


@pytest.mark.parametrize("sizes", [(2,), (5, 2), (1, 1, 1)])
def test_small_domains_have_the_metrics_that_make_sense_there(
    sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting_queries, "MOST_IN_VAIN", 500)
    real, synthetic = table(50, 1, sizes), table(40, 3, sizes)
    found = evaluate(real, synthetic, sizes)
    assert (found.sw1 is None) == (found.tv is None) == (found.l1 is None) == (len(sizes) == 1)
    varies = max(sizes) > 1
    assert found.count_queries == (200 if varies else 0)
    assert (found.count is None) == (not varies)
    assert found.covariance is not None
    assert found.thresh is not None
    if not varies:
        assert (found.covariance, found.thresh, found.tv, found.tv1) == (0, 0, 0, 0)


def test_without_held_out_records_a_fifth_is_held_out_if_there_is_a_label() -> None:
    real, synthetic = table(100, 1), table(100, 2)
    train, test = split(real)
    assert (len(train), len(test)) == (80, 20)
    assert sorted(map(tuple, [*train.tolist(), *test.tolist()])) == sorted(
        map(tuple, real.tolist())
    )
    held = evaluate(real, synthetic, SIZES, label=Label(column=3, equals=1))
    assert (held.rows_real, held.rows_test) == (80, 20)
    given = evaluate(train, synthetic, SIZES, test=test, label=Label(column=3, equals=1))
    assert held == given
    assert evaluate(real, synthetic, SIZES).rows_real == 100


@pytest.mark.parametrize(
    ("label", "said"),
    [
        (Label(column=6), "column 6, but there are 6 columns"),
        (Label(column=-1), "column -1"),
        (Label(column=0, equals=5), "code 5 is not in 0..4"),
    ],
)
def test_a_label_that_is_not_there_is_refused(label: Label, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        evaluate(table(20, 1), table(20, 1), SIZES, label=label)


def test_tables_of_too_few_records_are_refused() -> None:
    with pytest.raises(ValueError, match=r"real: too few records.*2 at least"):
        evaluate(table(1, 1), table(9, 1), SIZES)
    with pytest.raises(ValueError, match=r"synthetic: too few records.*2 at least"):
        evaluate(table(9, 1), table(1, 1), SIZES)
    with pytest.raises(ValueError, match=r"real: too few records.*2 at least"):
        evaluate(table(2, 1), table(9, 1), SIZES, label=Label(column=0))
    with pytest.raises(ValueError, match=r"test: too few records.*1 at least"):
        evaluate(table(9, 1), table(9, 1), SIZES, test=table(0, 1), label=Label(column=0))
