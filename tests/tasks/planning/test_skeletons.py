"""A spec begun for a file of any format: only the names of its columns are read."""

from pathlib import Path

import pyreadstat
import pytest

from hallmark.schemas.skeleton import SkeletonError
from hallmark.tasks.planning.skeletons import skeleton
from tests import messy
from tests.tasks.sources.test_workbooks import SECRET, book


def test_a_workbook_gives_its_columns_and_nothing_of_its_rows(tmp_path: Path):
    text = skeleton(book(tmp_path / "t.xlsx"), tmp_path)
    assert "source: t.xlsx" in text
    for name in ("age:", "code:", "born:", "income:"):
        assert name in text
    assert SECRET not in text
    with pytest.raises(SkeletonError, match=r"has 2 sheets; say data\.sheet"):
        skeleton(book(tmp_path / "u.xlsx", "one", "two"), tmp_path)


def test_a_labelled_file_gives_its_columns(tmp_path: Path):
    plain = messy.table(5)[["sexe", "loyer"]].astype({"sexe": "object"})
    pyreadstat.write_sav(plain, str(tmp_path / "t.sav"))
    assert "loyer:" in skeleton(tmp_path / "t.sav", tmp_path)
    (tmp_path / "t.dta").write_bytes(SECRET.encode() * 9)
    with pytest.raises(SkeletonError, match="cannot be read as dta") as told:
        skeleton(tmp_path / "t.dta", tmp_path)
    assert SECRET not in str(told.value)
