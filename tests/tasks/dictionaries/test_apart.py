"""Dictionaries that were uploaded: read in a process of their own, which may break on them."""

from pathlib import Path

import pytest

from hallmark.schemas.given_dictionary import DictionaryError
from hallmark.tasks.dictionaries import read_dictionary
from hallmark.tasks.dictionaries.apart import read_apart
from hallmark.tasks.sources import apart
from tests.tasks.dictionaries.test_ddi import codebook
from tests.tasks.dictionaries.test_sheets import CODES, COLUMNS, book


def test_it_says_what_is_said_here(tmp_path: Path) -> None:
    for file in (codebook(tmp_path), book(tmp_path, Variables=COLUMNS, Codes=CODES)):
        found, here = read_apart(file), read_dictionary(file)
        assert list(found.columns) == list(here.columns)
        for name, given in found.columns.items():
            assert given.facts == here.columns[name].facts
            assert (given.where, dict(given.codes)) == (
                here.columns[name].where, here.columns[name].codes,
            )  # fmt: skip


def test_a_refusal_names_the_file_without_its_folder(tmp_path: Path) -> None:
    (tmp_path / "study.xml").write_text("<a/>")
    with pytest.raises(DictionaryError, match=r"^study\.xml: is no DDI codebook"):
        read_apart(tmp_path / "study.xml")


def test_what_breaks_the_reader_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart.sys, "executable", "/bin/false")
    monkeypatch.setattr(apart, "_idle", [])
    with pytest.raises(DictionaryError, match=r"^study\.xml: took too much memory or time"):
        read_apart(codebook(tmp_path))
