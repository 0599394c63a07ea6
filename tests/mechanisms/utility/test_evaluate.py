"""All metrics together: the reference implementation, small domains, and what is refused."""

from dataclasses import asdict

import numpy as np
import pytest

from benchmarks.data import load
from hallmark.mechanisms.utility import Label, counting_queries, evaluate, split
from tests.mechanisms.utility import reference
from tests.mechanisms.utility.tables import SIZES, Table, table


def assert_measured_as_defined(
    train: Table, test: Table, synthetic: Table, sizes: tuple[int, ...], label: Label
) -> None:
    """All numbers are those of the slow reference."""
    ours = evaluate(train, synthetic, sizes, test=test, label=label, baseline=True)
    theirs = reference.metrics(train, synthetic, sizes) | {
        "downstream": reference.downstream(synthetic, test, label),
        "downstream_real": reference.downstream(train, test, label),
        "rows_real": len(train),
        "rows_test": len(test),
        "count_queries": reference.QUERIES,
    }
    mine = {name: value for name, value in asdict(ours).items() if name in theirs}
    assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-14)


def test_census_records_are_measured_as_defined() -> None:
    census = load("acs_nat")
    columns = slice(census.label + 1)
    sizes = tuple(census.cells.values())[columns]
    train, test = census.train[::6, columns], census.test[::4, columns]
    rng = np.random.default_rng(1)
    synthetic = np.column_stack([rng.permutation(column) for column in train.T])[:2000]
    synthetic[:1000] = train[:1000]
    assert_measured_as_defined(train, test, synthetic, sizes, Label(column=census.label, equals=1))


@pytest.mark.parametrize("seed", range(4))
def test_any_table_is_measured_as_defined(seed: int) -> None:
    train, test = split(table(700, seed))
    assert_measured_as_defined(
        train, test, table(500, seed + 5), SIZES, Label(column=4, number=True)
    )


@pytest.mark.slow
def test_classes_of_many_codes_are_predicted_as_defined() -> None:
    assert_measured_as_defined(table(300, 0), table(100, 1), table(300, 2), SIZES, Label(column=0))


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
