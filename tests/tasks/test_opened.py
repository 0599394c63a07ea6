"""A release as Python and notebooks show it, beside the files that it is read from."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import hallmark
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.opened import Release
from tests.tasks.released import ROWS, Released
from tests.tasks.test_loading import loader


@pytest.fixture
def opened(run: Released) -> Release:
    return hallmark.open(run.folder)


def test_the_records_are_those_that_the_script_of_the_release_loads(
    run: Released, opened: Release, tmp_path: Path
) -> None:
    copy = shutil.copytree(run.folder, tmp_path / "copy")  # Python leaves its byte code there
    pd.testing.assert_frame_equal(opened.data, loader(copy).load())
    assert str(opened.data["employed"].dtype) == "boolean"
    assert len(opened.data) == ROWS


def test_columns_and_certificate_are_those_of_the_files(run: Released, opened: Release) -> None:
    told = json.loads((run.folder / "data-dictionary.json").read_text())["columns"]
    assert opened.columns.index.to_list() == [one["name"] for one in told]
    assert opened.columns.loc["age", "unit"] == "years"
    assert opened.columns.loc["region", "categories"]["01"] == "north"
    assert opened.columns.loc["income", "may_miss"]
    bounds = {one["name"]: one["error"]["bound"] for one in told if one["error"]}
    assert opened.columns["bound"].dropna().to_dict() == pytest.approx(bounds)
    certificate = json.loads((run.folder / "certificate.json").read_text())
    assert len(opened.certificate.bounds) == len(certificate["bounds"])


def test_it_verifies_its_folder(opened: Release) -> None:
    assert opened.verify().ok


def test_it_is_shown_in_one_line_and_in_notebooks_as_a_table(opened: Release) -> None:
    assert repr(opened).startswith("<release test-release: A table made up for the tests; 5 colum")
    assert len(repr(opened)) < 300
    shown = opened._repr_html_()
    assert "&lt;release test-release" in shown
    assert "<table" in shown


def test_a_folder_that_is_no_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SafeError, match="is not a release folder"):
        hallmark.open(tmp_path)


def test_the_package_has_four_names_and_imports_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules); import hallmark; "
        "print(*dir(hallmark), len(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["__version__", "compare", "open", "panel", "1"]
    assert hallmark.__version__.count(".") == 2
    with pytest.raises(AttributeError, match="has no attribute 'close'"):
        hallmark.close  # noqa: B018
