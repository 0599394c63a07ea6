"""The downstream error on rules that can be learnt, and on those that cannot."""

import numpy as np
import pytest

from hallmark.mechanisms.utility.downstream import (
    LEAST_LEARNT,
    MOST_LEARNT,
    Label,
    downstream_error,
    sampled,
)


def ruled(rows: int, seed: int) -> np.ndarray:
    """Column 2 says whether column 0 is 5 at least; column 1 is noise; column 3 is column 0."""
    rng = np.random.default_rng(seed)
    first, noise = rng.integers(0, 10, rows), rng.integers(0, 4, rows)
    return np.column_stack([first, noise, first >= 5, first])


@pytest.mark.parametrize("label", [Label(column=2, equals=1), Label(column=2)])
def test_a_rule_that_holds_is_learnt(label: Label) -> None:
    assert downstream_error(ruled(300, 1), ruled(200, 2), label) == 0


def test_a_rule_turned_around_is_always_wrong() -> None:
    turned = ruled(300, 1)
    turned[:, 2] = 1 - turned[:, 2]
    assert downstream_error(turned, ruled(200, 2), Label(column=2, equals=1)) == 1


def test_noise_cannot_be_learnt() -> None:
    """Of four equally likely values, guessing is wrong on 3/4 of 4000; five standard deviations."""
    train, test = ruled(400, 1), ruled(4000, 2)
    error = downstream_error(train, test, Label(column=1))
    assert abs(error - 3 / 4) < 5 * np.sqrt(3 / 16 / 4000)


def test_numbers_are_judged_by_their_squared_error_in_cells() -> None:
    train, test = ruled(300, 1), ruled(200, 2)
    assert downstream_error(train, test, Label(column=0, number=True)) < 0.01
    shifted = train.copy()
    shifted[:, 0] += 2
    error = downstream_error(shifted, test, Label(column=0, number=True))
    assert error == pytest.approx(4, rel=0.01)


def test_the_label_itself_is_not_among_what_is_predicted_from() -> None:
    train = np.column_stack([np.arange(100) % 2, np.zeros(100, dtype=int)])
    assert downstream_error(train, train, Label(column=0, equals=1)) == 0.5


def test_one_class_is_predicted_where_no_other_was_seen() -> None:
    train, test = ruled(50, 1), ruled(200, 2)
    train = train[train[:, 2] == 1]
    share = (test[:, 2] != 1).mean()
    assert downstream_error(train, test, Label(column=2, equals=1)) == share


def test_without_another_column_the_best_constant_is_predicted() -> None:
    train, test = np.array([[0], [2], [2], [3]]), np.array([[2], [2], [0], [1]])
    assert downstream_error(train, test, Label(column=0)) == 0.5
    error = downstream_error(train, test, Label(column=0, number=True))
    assert error == np.mean((np.array([2, 2, 0, 1]) - 1.75) ** 2)


def test_it_is_the_same_at_each_call() -> None:
    train, test = ruled(200, 1), ruled(200, 2)
    first = downstream_error(train, test, Label(column=1))
    assert first == downstream_error(train, test, Label(column=1))


def test_a_label_that_equals_something_is_no_number() -> None:
    with pytest.raises(ValueError, match="a class, not a number"):
        Label(column=0, equals=1, number=True)


@pytest.mark.parametrize(
    ("label", "most"),
    [
        (Label(column=0, number=True), MOST_LEARNT),
        (Label(column=0, equals=3), MOST_LEARNT),
        (Label(column=2), MOST_LEARNT),  # two classes
        (Label(column=1), MOST_LEARNT // 4),
        (Label(column=3), LEAST_LEARNT),  # ten
    ],
)
def test_the_more_trees_a_label_takes_the_fewer_records_are_learnt_from(
    label: Label, most: int
) -> None:
    codes = ruled(50_000, 1)
    some = sampled(codes, label)
    assert len(some) == most
    np.testing.assert_array_equal(some, sampled(codes, label))
    few = codes[:LEAST_LEARNT]
    assert sampled(few, label) is few
