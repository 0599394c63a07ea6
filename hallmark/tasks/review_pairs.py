"""Columns together in the private and the synthetic table. Internal: the private one is exact."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.schemas.documents.internal_review import PairReview, PairsReview
from hallmark.tasks.record.pairs import (
    association,
    correlation,
    joint_shares,
    merged_columns,
    pair_table,
    subgroups,
)
from hallmark.tasks.spec.coding import Codec

_WORST = 9  # pairs shown


def compared(private: AnyCodes, synthetic: AnyCodes, codecs: Sequence[Codec]) -> PairsReview | None:
    """Both tables' matrices, worst pairs and groups; None for one column, or without records.

    Cells are merged by the synthetic records, alike in both.
    """
    if len(codecs) < 2 or not len(private) or not len(synthetic):
        return None
    columns = range(len(codecs))
    groups = merged_columns(synthetic, columns, codecs)
    found = []
    for i, j in combinations(columns, 2):
        true = joint_shares(private, i, j, groups[i], groups[j])
        made = joint_shares(synthetic, i, j, groups[i], groups[j])
        found.append((min(1.0, float(np.abs(true - made).sum() / 2)), i, j, true, made))
    found.sort(key=lambda pair: (-pair[0], pair[1], pair[2]))
    return PairsReview(
        association=association(private, columns, groups),
        association_synthetic=association(synthetic, columns, groups),
        correlation=correlation(private, columns, codecs),
        correlation_synthetic=correlation(synthetic, columns, codecs),
        worst=tuple(
            PairReview(
                distance=distance,
                private=pair_table(groups[i], groups[j], true),
                synthetic=pair_table(groups[i], groups[j], made),
            )
            for distance, i, j, true, made in found[:_WORST]
        ),
        subgroups=subgroups(private, columns, codecs),
        subgroups_synthetic=subgroups(synthetic, columns, codecs),
    )
