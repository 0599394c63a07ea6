"""Public maps of codes as people write them, and what is wrong with those that are refused."""

from pathlib import Path
from typing import Any

import pytest

from hallmark.tasks.changes.common_cells import NotComparable
from hallmark.tasks.changes.recoding import read_recoding, recoding_of


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_yaml_and_csv_say_the_same(tmp_path: Path) -> None:
    wanted = recoding_of({"region": {"021": "02", "022": "02"}, "sex": {"1": "m"}})
    yaml = "region: {021: 02, 022: 02}\nsex:\n  1: m\n"
    assert read_recoding(write(tmp_path, "a.yaml", yaml)) == wanted
    rows = "column,old,new\nregion,021,02\nregion,022,02\nsex,1,m\n"
    assert read_recoding(write(tmp_path, "a.csv", rows)) == wanted


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", "old,new\n1,2\n", "begins with old,new; begin with column,old,new"),
        ("a.csv", "", "begins with nothing"),
        ("a.csv", "column,old,new\nsex,1\n", "line 2: give a column"),
        ("a.csv", "column,old,new\nsex,1,m\nsex,1,f\n", "line 3: takes '1' of sex twice"),
        ("a.yaml", "sex: m\n", "sex: write {old code: new code}"),
        ("a.yaml", "sex: {1: [m]}\n", "line 1: give a column"),
        ("a.yaml", "- 1\n", "must be a mapping"),
        ("a.yaml", "sex: {1: m, 1: f}\n", "1"),
    ],
)
def test_a_map_that_cannot_be_read_is_refused_with_its_place(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    with pytest.raises(NotComparable) as refused:
        read_recoding(write(tmp_path, name, text))
    assert words in str(refused.value)
    assert name in str(refused.value)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(NotComparable, match="is not UTF-8 text"):
        read_recoding(tmp_path / "a.csv")
    with pytest.raises(NotComparable, match="cannot be read"):
        read_recoding(tmp_path / "none.csv")
    with pytest.raises(NotComparable, match="there is no such file"):
        read_recoding(tmp_path / "none.yaml")


@pytest.mark.parametrize("codes", [{}, {1: "m"}, {"1": 2}, "m"])
def test_what_is_no_map_of_codes_is_refused(codes: Any) -> None:
    with pytest.raises(NotComparable, match="the map of sex is no map of codes"):
        recoding_of({"sex": codes})
