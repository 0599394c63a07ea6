"""The internal review: it compares with the private data, and stays in the workspace."""

import html
import re
from itertools import combinations
from pathlib import Path

import numpy as np

from hallmark.tasks.evaluate import evaluate_files, in_words
from hallmark.tasks.rendering.wording import number
from hallmark.tasks.review import sampled
from tests import example
from tests.tasks.released import ROWS, Released, released


def test_it_is_marked_internal_and_lies_in_the_workspace_for_its_owner(run: Released) -> None:
    page = run.workspace.review
    assert "INTERNAL" in page.read_text()
    assert page.stat().st_mode & 0o777 == 0o600
    assert run.workspace.path.stat().st_mode & 0o777 == 0o700


def test_it_tells_the_number_of_private_rows_and_the_findings(run: Released) -> None:
    text = run.workspace.review.read_text()
    assert str(ROWS) in text
    for column in run.prepared.spec.columns:
        assert column in text
    assert "are whole numbers or null" in text


def test_its_utility_metrics_are_those_of_the_published_file(run: Released) -> None:
    found = evaluate_files(run.prepared.path, str(run.folder / "data.csv")).metrics
    page = html.unescape(run.workspace.review.read_text())
    for line in in_words(found):
        assert line.value is not None
        assert f'<th scope="row">{line.metric}</th>' in page
        assert f'{number(line.value, 3)} <span class="unit">{line.unit}</span>' in page
        assert line.meaning in page
    assert "Downstream" not in page


def test_it_compares_columns_together_and_the_public_report_does_not(run: Released) -> None:
    page = run.workspace.review.read_text()
    assert "The worst pairs" in page
    assert "below the diagonal private, above it synthetic" in page
    public = (run.folder / "audit-report.html").read_text()
    assert "Columns together" in public
    assert "The worst pairs" not in public
    assert '"private"' not in (run.folder / "audit-report.json").read_text()


def test_no_file_of_the_release_holds_or_mentions_it(run: Released) -> None:
    names = {path.name for path in run.folder.iterdir()}
    assert run.workspace.review.name not in names
    for path in run.folder.iterdir():
        assert b"INTERNAL - CONFIDENTIAL" not in path.read_bytes().upper(), path.name


def test_bounds_on_several_columns_are_compared_with_what_encloses_the_truth(
    prefect: None, tmp_path: Path
) -> None:
    with released(
        tmp_path,
        certificate={"confidence": 0.9, "share": "1/2", "cells": 4},
        **example.some_columns("age", "region", "since"),
    ) as done:
        page = done.workspace.review.read_text()
        rows = page.partition("<caption>Columns together")[2].partition("</table>")[0]
        lines = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', rows)
        names = list(done.prepared.spec.columns)
        assert {name for name, _ in lines} == {f"{a} x {b}" for a, b in combinations(names, 2)}
        for name, cells in lines:
            least, most, bound = (float(share) for share in re.findall(r"([\d.]+) ?%", cells))
            assert least <= most, name
            assert least <= bound, name  # fails for one release in ten at most


def test_a_sample_is_of_all_files_alike_and_whole_where_they_are_few(tmp_path: Path) -> None:
    codes = np.arange(6_000, dtype=np.uint16).reshape(-1, 2)
    files = [tmp_path / f"{i}.npy" for i in range(3)]
    for file, part in zip(files, np.split(codes, [10, 2_000]), strict=True):
        np.save(file, np.asfortranarray(part))
    few = sampled(files, 500, np.random.default_rng(0))
    assert few.shape == (500, 2)
    assert len(set(few[:, 0])) == 500  # none twice
    np.testing.assert_array_equal(few[:, 1], few[:, 0] + 1)  # whole records
    np.testing.assert_array_equal(np.sort(few[:, 0]), few[:, 0])
    # 333 are expected of the 2,000 first, with a deviation of 9.6: outside in one of 10^7 draws.
    assert 280 < (few[:, 0] < 4_000).sum() < 390
    np.testing.assert_array_equal(sampled(files, 5_000, np.random.default_rng(0)), codes)
