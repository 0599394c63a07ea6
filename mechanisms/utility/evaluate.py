"""All metrics of a synthetic table at once.

Queries and directions come from fixed seeds and from the real table alone, so every synthetic
table of one real table meets the same ones, and equal tables give equal numbers.

Oracle.  tests/mechanisms/utility/test_evaluate.py: the benchmark's reference implementation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.utility.coded import by_column, check
from hallmark.mechanisms.utility.counting_queries import counting_error
from hallmark.mechanisms.utility.covariance import covariance_error
from hallmark.mechanisms.utility.downstream import Label, downstream_error
from hallmark.mechanisms.utility.pairs import mean_one_way_variation, mean_total_variation
from hallmark.mechanisms.utility.sliced_pairs import mean_sliced_w1
from hallmark.mechanisms.utility.threshold_queries import threshold_error

_COUNTING_SEED, _THRESHOLD_SEED, _SPLIT_SEED = 11, 12, 20240613


@dataclass(frozen=True, kw_only=True)
class UtilityScores:
    """How far a synthetic table is from a real one; 0 is best for all but the rows.

    Attributes:
        rows_real, rows_synthetic, rows_test: records compared; no test records without a label.
        downstream: error on the test records of a model learnt on the synthetic ones: a share of
            records, or squared cells where the label is a number; None without a label.
        downstream_real: likewise learnt on the real records, for comparison; None if not asked for.
        covariance: Frobenius distance of the covariances relative to the synthetic one; None
            where the synthetic covariance is 0 and the real one is not.
        covariance_real: relative to the real one, likewise.
        count: mean error of the counting queries relative to their mean answer; None where no
            query was found, or where all real answers are 0 and the synthetic ones are not.
        count_abs: mean error of the counting queries, a share of records; None without a query.
        count_queries: how many were found, 200 at most.
        thresh, thresh_abs: likewise of 200 threshold queries.
        sw1: mean sliced W1 of all pairs of columns, on the scale where a column has length 1;
            None where there is one column only, as for the next two.
        tv: mean total variation of all pairs of columns, in [0, 1].
        l1: the same as the L1 distance, twice `tv`: what the paper calls total variation.
        tv1: mean total variation of single columns.
    """

    rows_real: int
    rows_synthetic: int
    rows_test: int | None
    downstream: float | None
    downstream_real: float | None
    covariance: float | None
    covariance_real: float | None
    count: float | None
    count_abs: float | None
    count_queries: int
    thresh: float | None
    thresh_abs: float
    sw1: float | None
    tv: float | None
    l1: float | None
    tv1: float


def evaluate(
    real: AnyCodes,
    synthetic: AnyCodes,
    sizes: Sequence[int],
    *,
    test: AnyCodes | None = None,
    label: Label | None = None,
    baseline: bool = False,
) -> UtilityScores:
    """The metrics of `synthetic` against `real`.

    Args:
        real, synthetic: integer codes of shapes (n, d) and (m, d), two records each at least.
        sizes: cells of every column.
        test: held-out real records for the downstream error. Where a label is asked for and these
            are not given, a fifth of `real` is held out, and what is left is the real table for
            all other metrics too.
        label: what to predict; None leaves the downstream error out.
        baseline: whether to learn on the real records too.
    Raises:
        ValueError: shapes or codes do not fit, there are too few records, or the label is not of
            these columns.
    """
    check(real, sizes, what="real", least=2)
    check(synthetic, sizes, what="synthetic", least=2)
    if label is not None:
        _check_label(label, sizes)
        if test is None:
            real, test = split(real)
        check(real, sizes, what="real", least=2)
        check(test, sizes, what="test")
    ours, theirs = by_column(real, sizes), by_column(synthetic, sizes)
    covariance = covariance_error(real, synthetic, sizes)
    count = counting_error(ours, theirs, sizes, rng=np.random.default_rng(_COUNTING_SEED))
    thresh = threshold_error(ours, theirs, sizes, rng=np.random.default_rng(_THRESHOLD_SEED))
    tv = mean_total_variation(ours, theirs, sizes)
    downstream = downstream_real = None
    if label is not None and test is not None:
        downstream = downstream_error(synthetic, test, label)
        downstream_real = downstream_error(real, test, label) if baseline else None
    return UtilityScores(
        rows_real=len(real),
        rows_synthetic=len(synthetic),
        rows_test=len(test) if label is not None and test is not None else None,
        downstream=downstream,
        downstream_real=downstream_real,
        covariance=covariance.by_synthetic,
        covariance_real=covariance.by_real,
        count=count.relative if count else None,
        count_abs=count.absolute if count else None,
        count_queries=count.queries if count else 0,
        thresh=thresh.relative,
        thresh_abs=thresh.absolute,
        sw1=mean_sliced_w1(ours, theirs, sizes),
        tv=tv,
        l1=None if tv is None else 2 * tv,
        tv1=mean_one_way_variation(ours, theirs, sizes),
    )


def split(real: AnyCodes) -> tuple[AnyCodes, AnyCodes]:
    """Four fifths of the records and the rest, always the same ones of a table."""
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(real))
    kept = int(0.8 * len(real))
    return real[order[:kept]], real[order[kept:]]


def _check_label(label: Label, sizes: Sequence[int]) -> None:
    if not 0 <= label.column < len(sizes):
        raise ValueError(f"label: column {label.column}, but there are {len(sizes)} columns")
    if label.equals is not None and not 0 <= label.equals < sizes[label.column]:
        raise ValueError(
            f"label: code {label.equals} is not in 0..{sizes[label.column] - 1}, the codes of "
            f"column {label.column}"
        )
