"""Recodes: what becomes of a code, and rules that do not suit their categories."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hallmark.schemas.columns.recoding import CodeMap, Recode
from hallmark.schemas.loading import load_spec
from hallmark.schemas.release_spec import ReleaseSpec
from tests.builders import wages
from tests.builders.wages import problems

SEX = 'categories: {"1": male, "2": female, "9": other}\n'


def spec(folder: Path, recode: str, categories: str = SEX) -> Path:
    return wages.written(folder, wages.edited((SEX, f"{categories}    recode: {recode}\n")))


def loaded(folder: Path, recode: str) -> ReleaseSpec:
    return load_spec(spec(folder, recode))


@pytest.mark.parametrize(
    ("rule", "becomes"),
    [
        ({"first": 2}, {"01067": "01", "01": "01", "1": None, "": None, "é1x": "é1"}),
        ({"first": 2, "of": 5}, {"01067": "01", "1067": None, "010670": None}),
        ({"codes": {"a": "x", "b": "x", "x": "y"}}, {"a": "x", "b": "x", "x": "y", "y": None}),
    ],
)
def test_a_code_becomes_what_the_rule_says(rule: Any, becomes: dict[str, str | None]) -> None:
    recode = Recode.model_validate(rule)
    assert {code: recode.of_code(code) for code in becomes} == becomes


def test_a_map_is_compared_and_told_by_what_it_says() -> None:
    codes = CodeMap({"a": "x", "b": "x", "c": "z", "d": "z", "e": "y"})
    assert codes.unknown(["y"]) == ["x", "z"]
    assert codes.unknown_old(["a", "b", "c"]) == ["d", "e"]
    assert [codes.renamed(code) for code in "abf"] == ["x", "x", "f"]
    assert codes.only(["e", "f"]) == CodeMap({"e": "y"})
    assert codes.only(["f"]) is None
    assert len(codes) == 5
    assert Recode(codes=codes).words == "a public map of 5 codes to 3"
    assert Recode(first=2).words == "the first 2 characters of a code"
    assert Recode(first=2, of=5).words == "the first 2 of 5 characters of a code"


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({}, "give exactly one of first and codes"),
        ({"first": 1, "codes": {"a": "b"}}, "give exactly one of first and codes"),
        ({"of": 3, "codes": {"a": "b"}}, "goes with first alone"),
        ({"first": 3, "of": 3}, "is 3, of which 3 are kept, so no code becomes another"),
        ({"first": 0}, "greater than or equal to 1"),
        ({"codes": {}}, "is empty; write {OLD: NEW"),
        ({"codes": {"file": "codes.csv"}}, "names a file, but not its column"),
    ],
)
def test_a_rule_that_says_nothing_is_refused(rule: Any, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Recode.model_validate(rule)


@pytest.mark.parametrize(
    ("recode", "says"),
    [
        ("{codes: {m: 1, f: 2, x: 3}}", "columns.sex.recode.codes: makes '3', not among the"),
        ("{codes: {m: 3, f: 4, x: 5}}", "codes: makes '3' and 2 more, not among the categories"),
        ("{first: 2}", "columns.sex.recode.first: is 2, but the category '1' has 1 characters"),
        ("{first: none}", "columns.sex.recode.first: must be a whole number"),
        ("{codes: {m: 1, f: 2, NA: 9}}", "columns.sex.recode: has the code 'NA', which is also"),
        ("{fist: 1}", "columns.sex.recode.fist: is not a key of the spec; did you mean first?"),
        ("{codes: {file: codes.csv, column: new}}", "recode.codes.file: codes.csv does not exist"),
    ],
)
def test_a_rule_that_does_not_suit_the_column_is_told_where_it_is(
    recode: str, says: str, tmp_path: Path
) -> None:
    assert any(says in problem for problem in problems(spec(tmp_path, recode)))


def test_the_catch_all_is_no_code_that_the_rule_makes(tmp_path: Path) -> None:
    listed = 'categories: {"01": a, "9": other}\n'
    found = load_spec(spec(tmp_path, "{first: 2}", listed)).columns["sex"]
    assert found.recode.of_code("0107") == "01"


def test_the_published_column_has_the_categories_for_codes(tmp_path: Path) -> None:
    found = loaded(tmp_path, "{codes: {m: 1, f: 2}}")
    assert found.columns["sex"].recode is not None
    assert found.published["sex"].recode is None
    assert found.published["sex"].categories == found.columns["sex"].categories
    assert found.recoded_by("sex") == "a public map of 2 codes to 2"
    assert found.recoded_by("wage") == found.recoded_by("nowhere") == ""


def test_another_rule_is_another_question(tmp_path: Path) -> None:
    plain = load_spec(wages.FILE).privacy_digest()
    digests = [
        loaded(tmp_path, recode).privacy_digest()
        for recode in ("{codes: {m: 1, f: 2}}", "{codes: {m: 1, f: 9}}", "{first: 1}")
    ]
    assert len({plain, *digests}) == 4


MAP = "code,new,label\n" + "".join(f"{code:06},{code % 3},x\n" for code in range(1000))


@pytest.mark.parametrize(
    "asked",
    [
        "{codes: {file: codes.csv, column: new}}",
        """
      # the codebook
      codes:
        file: codes.csv
        column: new""",
    ],
)
def test_a_map_from_a_file_is_published_with_the_spec(asked: str, tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text(MAP.replace(",0,", ",9,"))
    found = loaded(tmp_path, asked)
    recode = found.columns["sex"].recode
    assert len(recode.codes) == 1000
    assert [recode.of_code(code) for code in ("000000", "000001", "000999", "1")] == [
        "9", "1", "9", None,
    ]  # fmt: skip
    (file,) = found.category_files
    assert file.path == ("columns", "sex", "recode", "codes")
    text = found.with_categories((tmp_path / "spec.yaml").read_text())
    (tmp_path / "codes.csv").unlink()
    again = load_spec(wages.written(tmp_path, text))
    assert again.digest() == found.digest()
    assert again.category_files == ()


def test_a_hundred_thousand_codes_are_released_by_their_groups(tmp_path: Path) -> None:
    rows = (f"{code:06},{code // 40:04},title {code}\n" for code in range(100_000))
    (tmp_path / "codes.csv").write_text("code,group,label\n" + "".join(rows))
    listed = SEX.replace('{"1": male, "2": female, "9": other}', "{file: codes.csv}")
    text = wages.edited((SEX, listed), ('    other: "9"\n', '    other: "000009"\n'))
    (too_many,) = problems(wages.written(tmp_path, text))
    assert "columns.sex.categories: makes 100000 cells, but a column has at most 4096" in too_many
    assert "recode: {codes: {file: codes.csv, column: NAME}} with the group of every" in too_many
    (tmp_path / "groups.csv").write_text("code\n" + "".join(f"{n:04}\n" for n in range(2500)))
    recode = "    recode: {codes: {file: codes.csv, column: group}}\n"
    listed = listed.replace("codes.csv", "groups.csv") + recode
    text = wages.edited((SEX, listed), ('    other: "9"\n', '    other: "0009"\n'))
    found = load_spec(wages.written(tmp_path, text)).columns["sex"]
    assert found.levels == 2500
    assert found.recode.of_code("099999") == "2499"
