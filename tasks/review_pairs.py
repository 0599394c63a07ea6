"""Columns together in the private and the synthetic table. Internal: the private one is exact."""

from collections.abc import Callable, Sequence

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes, Counts
from hallmark.mechanisms.privacy.cells import CellMap, count_codes
from hallmark.schemas.documents.internal_review import PairReview, PairsReview
from hallmark.tasks.planning.coding import Codec
from hallmark.tasks.record.pairs import (
    association,
    correlation,
    joint_maps,
    joint_shares,
    merged_columns,
    pair_table,
    subgroups,
)

_WORST = 9  # pairs shown


def compared(
    count: Callable[[Sequence[CellMap]], list[Counts]],
    sample: AnyCodes,
    synthetic: AnyCodes,
    synthetic_sample: AnyCodes,
    codecs: Sequence[Codec],
) -> PairsReview | None:
    """Both tables' matrices, worst pairs and groups; None for one column, or without records.

    Cells are merged by the synthetic records, alike in both. Pairs are counted over all records;
    correlations and means are those of the samples.

    Args:
        count: counts all private records.
        sample: private records, shape (rows, columns).
    """
    if len(codecs) < 2 or not len(sample) or not len(synthetic):
        return None
    columns = range(len(codecs))
    groups = merged_columns(synthetic, columns, codecs)
    maps = joint_maps(columns, groups)
    true = joint_shares(count(maps), groups)
    made = joint_shares(count_codes(synthetic, maps), groups)
    distances = {pair: min(1.0, float(np.abs(true[pair] - made[pair]).sum() / 2)) for pair in true}
    worst = sorted(distances, key=lambda pair: (-distances[pair], pair))
    return PairsReview(
        association=association(true, groups),
        association_synthetic=association(made, groups),
        correlation=correlation(sample, columns, codecs),
        correlation_synthetic=correlation(synthetic_sample, columns, codecs),
        worst=tuple(
            PairReview(
                distance=distances[i, j],
                private=pair_table(groups[i], groups[j], true[i, j]),
                synthetic=pair_table(groups[i], groups[j], made[i, j]),
            )
            for i, j in worst[:_WORST]
        ),
        subgroups=subgroups(sample, columns, codecs),
        subgroups_synthetic=subgroups(synthetic_sample, columns, codecs),
    )
