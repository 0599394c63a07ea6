"""A spec begun for a file of any format: only the names of its columns are read."""

from pathlib import Path

import pyreadstat
import pytest

from hallmark.schemas.given_dictionary import DictionaryError
from hallmark.schemas.loading import load_spec
from hallmark.schemas.skeleton import SkeletonError
from hallmark.tasks.installation.signing import digest
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.planning.likeness import Likeness
from hallmark.tasks.planning.private_tables import note
from hallmark.tasks.planning.skeletons import dictionary_of, skeleton
from tests import example, messy
from tests.tasks.sources.test_workbooks import SECRET, book


def test_a_workbook_gives_its_columns_and_nothing_of_its_rows(tmp_path: Path):
    text = skeleton(book(tmp_path / "t.xlsx"), tmp_path)
    assert "source: t.xlsx" in text
    for name in ("age:", "code:", "born:", "income:"):
        assert name in text
    assert SECRET not in text
    with pytest.raises(SkeletonError, match=r"has 2 sheets; say data\.sheet"):
        skeleton(book(tmp_path / "u.xlsx", "one", "two"), tmp_path)


def test_a_private_table_of_the_installation_is_no_dictionary(tmp_path: Path, home: Path):
    spec = load_spec(example.write(tmp_path / "one", 20, release="one"))
    file = tmp_path / "named-otherwise.csv"
    file.write_text(f"name,label\n{SECRET},1\n")
    assert list(dictionary_of(file).columns) == [SECRET]
    note(Workspace.of("one"), spec, tmp_path, Likeness(frozenset({digest(file)})))
    with pytest.raises(DictionaryError, match="is a private table; give the dictionary") as told:
        dictionary_of(file)
    assert SECRET not in str(told.value)


def test_a_labelled_file_gives_its_columns(tmp_path: Path):
    plain = messy.table(5)[["sexe", "loyer"]].astype({"sexe": "object"})
    pyreadstat.write_sav(plain, str(tmp_path / "t.sav"))
    assert "loyer:" in skeleton(tmp_path / "t.sav", tmp_path)
    (tmp_path / "t.dta").write_bytes(SECRET.encode() * 9)
    with pytest.raises(SkeletonError, match="cannot be read as dta") as told:
        skeleton(tmp_path / "t.dta", tmp_path)
    assert SECRET not in str(told.value)
