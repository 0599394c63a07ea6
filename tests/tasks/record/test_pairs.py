"""Columns together: matrices, merged cells, tables and groups, against slow or known answers."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.privacy.cells import ArrayCounter, count_codes
from hallmark.schemas.documents.internal_review import PairsReview
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.record import pairs as record_pairs
from hallmark.tasks.record.pairs import (
    MOST_GROUPS,
    association,
    correlation,
    cramers_v,
    joint_maps,
    joint_shares,
    merged_columns,
    pairs,
)
from hallmark.tasks.review import compared
from tests import example


@pytest.fixture(scope="module")
def codec(tmp_path_factory: pytest.TempPathFactory) -> TableCodec:
    columns: dict[str, Any] = example.spec(Path("t.csv"))["columns"]
    columns["age"] |= {"cell_width": 1}
    columns["region"] |= {"categories": {f"{i:02d}": f"region {i}" for i in range(30)}}
    folder = tmp_path_factory.mktemp("pairs")
    return prepare(example.write(folder, 3, columns=columns, constraints=[])).codec


@pytest.fixture(scope="module")
def codes(codec: TableCodec) -> AnyCodes:
    rng = np.random.default_rng(5)
    drawn = [rng.integers(0, size, 500) for size in codec.domain.shape]
    drawn[4] = drawn[0] * 6 // 100  # dates follow ages
    drawn[2] = np.minimum(drawn[2], rng.integers(0, 30, 500))
    return np.column_stack(drawn).astype(np.int32)


def test_association_is_0_for_independent_columns_and_1_for_the_same() -> None:
    assert cramers_v(np.outer([0.2, 0.8], [0.5, 0.3, 0.2])) == pytest.approx(0, abs=1e-9)
    assert cramers_v(np.diag([0.2, 0.3, 0.5])) == pytest.approx(1)
    assert cramers_v(np.array([[0.5, 0.5], [0.0, 0.0]])) is None  # the first does not vary
    assert cramers_v(np.array([[0.4, 0.1], [0.2, 0.3]])) == pytest.approx(0.40825, abs=1e-5)


def test_cells_are_merged_evenly_or_to_the_largest(codec: TableCodec, codes: AnyCodes) -> None:
    age, income, region, *_ = merged_columns(codes, range(5), codec.codecs)
    assert (age.labels[0], age.labels[-1]) == ("0 to 8", "99")
    assert len(age.labels) == MOST_GROUPS
    assert income.labels[-1] == "null"
    assert region.labels[-1] == "19 others"
    counts = np.bincount(codes[:, 2], minlength=30)
    kept = {label for label in region.labels if label != "19 others"}
    smallest_kept = min(counts[int(label.split()[1])] for label in kept)
    others = [counts[i] for i in range(30) if f"region {i}" not in kept]
    assert smallest_kept >= max(others)


def test_merged_shares_add_up_to_those_of_the_records(codec: TableCodec, codes: AnyCodes) -> None:
    groups = merged_columns(codes, range(5), codec.codecs)
    found = joint_shares(count_codes(codes, joint_maps(range(5), groups)), groups)
    for i, j in combinations(range(5), 2):
        shares = found[i, j]
        assert shares.sum() == pytest.approx(1)
        slow = np.zeros_like(shares)
        for row in codes:
            slow[groups[i].of[row[i]], groups[j].of[row[j]]] += 1 / len(codes)
        np.testing.assert_allclose(shares, slow)


def test_correlation_is_that_of_the_rows_with_both_values(
    codec: TableCodec, codes: AnyCodes
) -> None:
    found = correlation(codes, range(5), codec.codecs)
    assert found is not None
    assert found.columns == ("age", "income", "since")  # a nominal column has none
    known = codes[codes[:, 1] < codec.codecs[1].attribute.levels]
    expected = np.corrcoef(known[:, 0], known[:, 1])[0, 1]
    assert found.values[0][1] == found.values[1][0] == pytest.approx(expected, abs=1e-4)
    assert found.values[0][2] is not None
    assert found.values[0][2] > 0.95


def test_a_column_that_does_not_vary_goes_with_none(codec: TableCodec, codes: AnyCodes) -> None:
    still = codes.copy()
    still[:, 0] = 3
    told = correlation(still, range(5), codec.codecs)
    assert told is not None
    assert told.values[0] == (1.0, None, None)
    groups = merged_columns(still, range(5), codec.codecs)
    shares = joint_shares(count_codes(still, joint_maps(range(5), groups)), groups)
    assert association(shares, groups).values[0][1:] == (None,) * 4


def test_only_released_columns_are_shown(codec: TableCodec, codes: AnyCodes) -> None:
    told = pairs(codes, codec.codecs, ("age", "employed"))
    assert told is not None
    assert told.association.columns == ("age", "employed")
    assert told.correlation is None
    assert [table.columns for table in told.tables] == [("age", "employed")]
    assert "income" not in told.model_dump_json()
    assert pairs(codes, codec.codecs, ("age",)) is None


def test_groups_have_their_rows_and_means(codec: TableCodec, codes: AnyCodes) -> None:
    told = pairs(codes, codec.codecs, codec.names)
    assert told is not None
    (employed,) = told.subgroups  # 30 regions are too many
    assert employed.columns == ("age (years)", "income (dollars)")
    for cell, group in enumerate(employed.groups):
        rows = codes[codes[:, 3] == cell]
        assert group.rows == len(rows)
        assert group.means[0] == pytest.approx(rows[:, 0].mean())
        known = rows[rows[:, 1] < 8, 1]
        assert group.means[1] == pytest.approx(25 + 50 * known.mean())


def review(private: AnyCodes, made: AnyCodes, codec: TableCodec) -> PairsReview | None:
    return compared(ArrayCounter(private).count, private, made, made, codec.codecs)


def test_correlation_does_not_depend_on_the_blocks_that_rows_come_in(
    codec: TableCodec, codes: AnyCodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = correlation(codes, range(5), codec.codecs)
    monkeypatch.setattr(record_pairs, "_BLOCK", 37)
    assert correlation(codes, range(5), codec.codecs) == whole


def test_the_review_starts_with_the_worst_pair(codec: TableCodec, codes: AnyCodes) -> None:
    made = codes.copy()
    made[:, 4] = np.random.default_rng(1).permutation(made[:, 4])  # dates no longer follow ages
    told = review(codes, made, codec)
    assert told is not None
    assert told.worst[0].private.columns == ("age", "since")
    first = told.worst[0]
    apart = np.abs(np.array(first.private.shares) - np.array(first.synthetic.shares)).sum() / 2
    assert first.distance == pytest.approx(apart, abs=1e-4)
    assert [pair.distance for pair in told.worst] == sorted(
        (pair.distance for pair in told.worst), reverse=True
    )
    assert review(codes[:0], made, codec) is None


def test_codes_of_one_byte_say_the_same_up_to_all_256_cells(tmp_path: Path) -> None:
    columns: dict[str, Any] = example.spec(Path("t.csv"))["columns"]
    del columns["age"]["cell_width"]
    columns["age"] |= {"maximum": 255, "cells": 256}
    codec = prepare(example.write(tmp_path, 3, columns=columns, constraints=[])).codec
    rng = np.random.default_rng(6)
    codes = np.column_stack([rng.integers(0, size, 2000) for size in codec.domain.shape])
    codes[:, 4] = codes[:, 0] * 6 // 256
    names = list(codec.names)
    assert codes.max() == 255
    assert pairs(codes.astype(np.uint8), codec.codecs, names) == pairs(codes, codec.codecs, names)
