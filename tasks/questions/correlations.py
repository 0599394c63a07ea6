"""Correlations from the noisy tables, beside those of the records: where dependence was lost.

Generators pull dependence that noise hides towards independence. The noisy tables are unbiased, so
where their correlation stands out of the noise beyond that of the records, the loss is seen.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.special import ndtri

from hallmark.mechanisms.arrays import AnyCodes, Floats
from hallmark.mechanisms.inference.blue import NotMeasured
from hallmark.mechanisms.inference.estimates import Estimates
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.privacy.cells import count_codes, marginal
from hallmark.tasks.planning.coding import TableCodec, cell_labels
from hallmark.tasks.questions.functions import Function, cells_between, known

MOST_CATEGORIES = 12  # of a column without order; of one with more, no correlation is looked at
_CLEAR = 4  # deviations that a variance is from 0, for a correlation to be told


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """Pearson's correlation of two columns' positions, where neither is null.

    A column without order is represented by the indicator of one of its categories.

    Attributes:
        first, second: the columns, or `column = category`.
        low, high: interval of the private table's correlation, by linear approximation.
        of_records: that of the synthetic records; 0 where one of the two is constant there.
        contradicted: whether estimate and records differ by more than noise explains: for all
            correlations together, one is said to with at most the probability 1 - confidence.
    """

    first: str
    second: str
    estimate: float
    low: float
    high: float
    deviation: float
    of_records: float
    contradicted: bool = False

    @property
    def is_attenuated(self) -> bool:
        """Whether the records have lost dependence that the noisy tables show."""
        return self.contradicted and abs(self.of_records) < abs(self.estimate)


def correlations(
    codec: TableCodec,
    names: Sequence[str],
    estimator: Estimator,
    records: AnyCodes,
    confidence: float,
) -> tuple[Correlation, ...]:
    """The correlations of all pairs of columns that some noisy table tells.

    Each is estimated from the tables that have both columns, or one of them alone. All others would
    sharpen the columns' own moments a little, and take many times as long.

    Args:
        names: the columns to look at.
        records: cell codes of the synthetic records, shape (records, columns of the table).
    """
    scores = {name: _scores(codec, name) for name in names}
    found = [
        one
        for first, second in combinations([name for name in names if scores[name]], 2)
        for one in _of_pair(
            known(codec, first) * known(codec, second),
            scores[first],
            scores[second],
            estimator.about([codec.names.index(first), codec.names.index(second)]),
            records,
            confidence,
        )
    ]
    if not found:
        return ()
    critical = -float(ndtri((1 - confidence) / (2 * len(found))))
    return tuple(
        replace(one, contradicted=abs(one.estimate - one.of_records) > critical * one.deviation)
        for one in found
    )


def _scores(codec: TableCodec, name: str) -> dict[str, Function]:
    """What of a column is correlated: its position, or the indicators of its categories."""
    one = codec.named(name)
    attribute, column = one.attribute, codec.names.index(name)
    if attribute.levels < 2:
        return {}
    if attribute.kind.ordered:
        positions = np.zeros(attribute.cells)
        positions[: attribute.levels] = attribute.positions
        return {name: Function((column,), positions)}
    if attribute.levels > MOST_CATEGORIES:
        return {}
    first = 1 if attribute.levels == 2 else 0  # of two, one tells the other
    labels = cell_labels(one)
    return {
        f"{name} = {labels[code]}": cells_between(codec, name, code, code)
        for code in range(first, attribute.levels)
    }


def _of_pair(
    both: Function,
    first: dict[str, Function],
    second: dict[str, Function],
    estimator: Estimator,
    records: AnyCodes,
    confidence: float,
) -> Iterator[Correlation]:
    """The correlations of two columns' scores; none where no table tells them.

    Args:
        both: 1 where neither column is null.
    """
    moments: dict[tuple[str, ...], Function] = {(): both}
    for scores in (first, second):
        for name, score in scores.items():
            moments[(name,)] = both * score
            moments[name, name] = both * score * score
    for one, score in first.items():
        for other, its in second.items():
            moments[one, other] = both * score * its
    try:
        estimates = estimator.estimates([moment.query() for moment in moments.values()])
    except NotMeasured:
        return
    units = dict(zip(moments, np.eye(len(moments)), strict=True))
    sums = dict(zip(moments, _sums(list(moments.values()), records), strict=True))
    for one in first:
        for other in second:
            keys = ((), (one,), (other,), (one, one), (other, other), (one, other))
            told = _noisy(estimates, np.array([units[key] for key in keys]))
            if told is None:
                continue
            value, slope = told
            half = estimates.half_width(slope, confidence)
            yield Correlation(
                first=one,
                second=other,
                estimate=value,
                low=max(value - half, -1.0),
                high=min(value + half, 1.0),
                deviation=estimates.deviation(slope),
                of_records=_pearson(np.array([sums[key] for key in keys])),
            )


def _sums(functions: Sequence[Function], records: AnyCodes) -> list[float]:
    """Sums of functions of the same columns over the records, which are counted once."""
    columns, shape = functions[0].columns, functions[0].values.shape
    sizes = [1] * records.shape[1]
    for column, size in zip(columns, shape, strict=True):
        sizes[column] = size
    (counts,) = count_codes(records, [marginal(columns, sizes)])
    assert all(function.columns == columns for function in functions), "of the same columns"
    return [float((function.values * counts.reshape(shape)).sum()) for function in functions]


def _noisy(estimates: Estimates, moments: Floats) -> tuple[float, Floats] | None:
    """A correlation and its slope in all queries; None where noise may hide all variation.

    Args:
        moments: combinations of the queries, shape (6, queries): the sums of 1, x, y, x², y², xy.
    """
    n, x, y, xx, yy, xy = moments @ estimates.values
    row_n, row_x, row_y, row_xx, row_yy, row_xy = moments
    of_x, of_y = n * xx - x * x, n * yy - y * y
    slope_x = n * row_xx + xx * row_n - 2 * x * row_x
    slope_y = n * row_yy + yy * row_n - 2 * y * row_y
    if of_x <= _CLEAR * estimates.deviation(slope_x):
        return None
    if of_y <= _CLEAR * estimates.deviation(slope_y):
        return None
    root = (of_x * of_y) ** 0.5
    value = (n * xy - x * y) / root
    slope = (n * row_xy + xy * row_n - x * row_y - y * row_x) / root
    slope = slope - value * (slope_x / of_x + slope_y / of_y) / 2
    return float(value), slope


def _pearson(moments: Floats) -> float:
    """The correlation from the sums of 1, x, y, x², y², xy; 0 where x or y does not vary."""
    n, x, y, xx, yy, xy = moments
    variances = max(n * xx - x * x, 0.0) * max(n * yy - y * y, 0.0)
    return float((n * xy - x * y) / variances**0.5) if variances > 1e-9 * n**4 else 0.0
