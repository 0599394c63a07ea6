"""Downstream error: how well a model learnt on the synthetic data predicts held-out real data.

Claim.   Error on `test` of scikit-learn's gradient boosting with default settings, learnt on
         `train`, from the codes of all other columns: 0-1 error of classes, mean squared error
         of numbers (in squared cells).
Source.  Donhauser et al. (2024), section 4.1.
Oracle.  tests/mechanisms/utility/test_downstream.py: rules that can and cannot be learnt; and the
         benchmark's reference.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import AnyCodes

_SEED = 14  # of the booster's ties, the same for all tables
_SAMPLE_SEED = 15
MOST_LEARNT = 20_000  # records: more take minutes, and move an error by less than its own spread
LEAST_LEARNT = 2_000  # records, where a label of many classes makes each of them slow


@dataclass(frozen=True, kw_only=True)
class Label:
    """What is predicted of a record.

    Attributes:
        column: position of the column.
        equals: predict whether it has this code; None: predict its code.
        number: whether a code is predicted as a number, by regression; else as a class.
    """

    column: int
    equals: int | None = None
    number: bool = False

    def __post_init__(self) -> None:
        if self.number and self.equals is not None:
            raise ValueError("label: whether a column equals a code is a class, not a number")

    def of(self, codes: AnyCodes) -> NDArray[np.int64]:
        """The label of every record."""
        column = codes[:, self.column]
        return np.asarray(column if self.equals is None else column == self.equals, dtype=np.int64)


def downstream_error(train: AnyCodes, test: AnyCodes, label: Label) -> float:
    """The error on `test` of a model learnt on `train`.

    Where all records of `train` have one class, so has the prediction. Where there is no other
    column to predict from, the prediction is the most common class, or the mean.
    """
    learn, ask = label.of(train), label.of(test)
    others = [column for column in range(train.shape[1]) if column != label.column]
    if label.number:
        return float(np.square(_predicted(train, learn, test, others, label) - ask).mean())
    return float((_predicted(train, learn, test, others, label) != ask).mean())


def sampled(codes: AnyCodes, label: Label) -> AnyCodes:
    """Records enough to learn the label from, or to be asked about: all, or always the same sample.

    A booster grows a tree for every class (one for two of them, and for a number) in each of its
    rounds, so the more classes there are, the fewer records are taken.
    """
    classes = 2 if label.number or label.equals is not None else len(np.unique(label.of(codes)))
    most = MOST_LEARNT if classes <= 2 else max(LEAST_LEARNT, MOST_LEARNT // classes)
    if len(codes) <= most:
        return codes
    chosen = np.random.default_rng(_SAMPLE_SEED).choice(len(codes), most, replace=False)
    return codes[np.sort(chosen)]


def _predicted(
    train: AnyCodes, learn: NDArray[np.int64], test: AnyCodes, others: list[int], label: Label
) -> NDArray[np.float64] | NDArray[np.int64]:
    if not others or (not label.number and len(np.unique(learn)) == 1):
        best = learn.mean() if label.number else np.bincount(learn).argmax()
        return np.full(len(test), best)
    # Imported here: it takes a second, and most evaluations predict nothing.
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

    booster = GradientBoostingRegressor if label.number else GradientBoostingClassifier
    model = booster(random_state=_SEED).fit(train[:, others], learn)
    predicted: NDArray[np.float64] = model.predict(test[:, others])
    return predicted
