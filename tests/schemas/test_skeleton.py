"""Skeletons: they hold what is public, no byte of the rows, and are refused until filled in."""

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from hallmark.schemas.given_dictionary import (
    DictionaryError,
    GivenColumn,
    GivenDictionary,
    from_json,
)
from hallmark.schemas.loading import SpecError, load_spec
from hallmark.schemas.skeleton import (
    SkeletonError,
    skeleton_from_columns,
    skeleton_from_dictionary,
    skeleton_from_header,
)

NIST = Path(__file__).parents[2] / "schemas/examples/data/data_dictionary.json"
CANARY = "canary-7319"


def saved(folder: Path, text: str) -> Path:
    file = folder / "skeleton.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def table(folder: Path, header: str) -> Path:
    file = folder / "table.csv"
    file.write_text(f"{header}\n" + f"{CANARY},1\n" * 3, encoding="utf-8")
    return file


DICTIONARY = {
    "age": {"description": "Age", "values": {"N": "N/A (vacant)", "min": 0, "max": 99}},
    "rooms": {"description": "Rooms", "values": {"0": "none", "min": 1, "max": 19}},
    "sex": {"description": "Sex", "values": {"01": "Male", "02": "Female"}},
    "job": {"description": "Job"},
}


@pytest.fixture
def dictionary(tmp_path):
    file = tmp_path / "dictionary.json"
    file.write_text(json.dumps(DICTIONARY), encoding="utf-8")
    return file


def test_a_header_gives_every_column_and_nothing_of_the_rows(tmp_path):
    text = skeleton_from_header(table(tmp_path, 'name,"annual wage"'))
    assert "  name:\n" in text
    assert "  annual wage:\n" in text
    assert CANARY not in text


def test_every_marker_is_refused_with_its_line(tmp_path):
    text = skeleton_from_header(table(tmp_path, "name,wage"))
    file = saved(tmp_path, text)
    with pytest.raises(SpecError) as caught:
        load_spec(file)
    marked = [i for i, line in enumerate(text.splitlines(), 1) if ": FILL_IN" in line]
    assert [int(p.split(":")[1]) for p in caught.value.problems] == marked
    assert len(marked) > 10
    assert all("is still FILL_IN; write what is publicly known" in p for p in caught.value.problems)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_that_of_the_header(delimiter, tmp_path):
    text = skeleton_from_header(table(tmp_path, delimiter.join(["name", "wage", "sex"])))
    assert all(f"  {name}:\n" in text for name in ("name", "wage", "sex"))
    assert ("delimiter:" in text) == (delimiter != ",")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "windows-1252", "utf-16"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_the_encoding_is_guessed_where_the_header_is_not_in_utf_8(encoding, suffix, tmp_path):
    file = tmp_path / f"table.csv{suffix}"
    content = f"größe,wage\r\n{CANARY},1\r\n".encode(encoding)
    file.write_bytes(gzip.compress(content) if suffix else content)
    text = skeleton_from_header(file)
    assert all(f"  {name}:\n" in text for name in ("größe", "wage"))
    assert (f"encoding: {encoding}  # guessed" in text) == (not encoding.startswith("utf-8"))


@pytest.mark.parametrize("index", ["", "Unnamed: 0"])
def test_the_index_of_a_pandas_frame_is_ignored(index, tmp_path):
    text = skeleton_from_header(table(tmp_path, f"{index},wage, sex "))
    data, columns = text.split("columns:\n")
    assert YAML().load(data)["data"]["ignore"] == [index]
    assert list(YAML().load(columns)) == ["wage", "sex"]


@pytest.mark.parametrize("header", ["", ",", ",,wage", "12,name", "name,,wage", f"{CANARY},1"])
def test_a_first_line_that_looks_like_a_record_is_refused_without_showing_it(header, tmp_path):
    with pytest.raises(SkeletonError, match="does not look like a header") as caught:
        skeleton_from_header(table(tmp_path, header))
    assert CANARY not in str(caught.value)


def test_repeated_names_are_refused_without_showing_them(tmp_path):
    with pytest.raises(SkeletonError, match="repeats 1 of its column names") as caught:
        skeleton_from_header(table(tmp_path, f"{CANARY},{CANARY}"))
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("content", [b"PAR1\xff\xfe", None])
def test_a_file_that_is_no_csv_is_refused(content, tmp_path):
    file = tmp_path / "table.csv"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SkeletonError, match="cannot be read as a CSV file"):
        skeleton_from_header(file)


def test_names_alone_make_a_skeleton():
    assert "  wage:\n" in skeleton_from_columns(["wage"], source="wages.parquet")


def test_a_dictionary_gives_categories_bounds_and_null_markers(dictionary):
    text = skeleton_from_dictionary(from_json(dictionary))
    assert "    minimum: 0\n    maximum: 99\n" in text
    assert "      '01': Male\n" in text
    assert "  - N\n" in text
    assert text.count("reference: data dictionary dictionary.json") == 3


def test_codes_beside_the_bounds_widen_the_interval(dictionary):
    assert "    minimum: 0\n    maximum: 19\n" in skeleton_from_dictionary(from_json(dictionary))


def test_a_filled_in_skeleton_of_a_dictionary_is_a_sound_spec(dictionary, tmp_path):
    lines = []
    answers = {
        "release": "people", "title": "People", "account": "people", "source": "people.csv",
        "description": "all", "expected_rows": "10", "record": "one person",
        "neighbours": "add_remove", "unit": "record", "epsilon": "1", "delta": "1e-5",
        "integer": "true", "cells": "5", "outside": "refuse", "kind": "public",
        "type": 'boolean\n    outside: refuse\n    values: {"y": true, "n": false}',
    }  # fmt: skip
    for line in skeleton_from_dictionary(from_json(dictionary)).splitlines():
        key = line.strip().partition(":")[0]
        marked = ": FILL_IN" in line
        lines.append(line.partition("FILL_IN")[0] + answers[key] if marked else line)
    spec = load_spec(saved(tmp_path, "\n".join(lines)))
    assert spec.columns["sex"].codes == ("01", "02")
    assert spec.columns["age"].nulls
    assert spec.columns["rooms"].maximum == 19


GIVEN = GivenDictionary(
    file="book.xlsx",
    columns={
        "Age": GivenColumn(
            description="years: all", type="numeric", integer=True, minimum="0", maximum="a\nlot",
            unit="years", codes={"-2": "unborn"}, missing=("-9",), nullable=True, where="row 2",
        ),
        "born": GivenColumn(type="date", minimum="1990-01-01", maximum="later", where="row 3"),
        "school": GivenColumn(type="ordinal", codes={"01": "low", "02": "#1"}, where="row 4"),
        "paid": GivenColumn(type="boolean", codes={"1": "Ja", "0": "nein"}, where="row 5"),
        "x": GivenColumn(type="nominal", where="row 6"),
        "X": GivenColumn(type="nominal", where="row 7"),
        "rest": GivenColumn(where="row 8\x1b"),
        "term": GivenColumn(
            type="date", minimum="1990-01-01", maximum="1999-12-31", where="row 9"
        ),
    },
)  # fmt: skip


def test_what_a_dictionary_leaves_open_is_asked_and_the_rest_names_its_place():
    text = skeleton_from_columns(
        ["AGE", "born", "school", "paid", "x", "gone", "term"], source="t.csv", dictionary=GIVEN
    )
    columns = YAML(typ="safe").load(text)["columns"]
    assert columns["AGE"] == {
        "type": "numeric", "description": "years: all", "unit": "years", "integer": True,
        "minimum": -2, "maximum": "FILL_IN", "cells": "FILL_IN", "detail": 16, "nulls": True,
        "outside": "FILL_IN", "null_markers": ["-9", ""],
        "bound_source": {"kind": "FILL_IN", "reference": "FILL_IN"},
    }  # fmt: skip
    assert columns["term"]["bound_source"] == {"kind": "FILL_IN", "reference": "row 9"}
    assert columns["x"]["bound_source"]["reference"] == "FILL_IN"  # it lists no categories
    assert str(columns["born"]["minimum"]) == "1990-01-01"
    assert columns["born"]["maximum"] == columns["born"]["format"] == "FILL_IN"
    assert columns["school"]["categories"] == {"01": "low", "02": "#1"}
    assert columns["school"]["bound_source"] == {"kind": "public", "reference": "row 4"}
    assert columns["paid"]["values"] == {"1": True, "0": False}
    assert columns["x"]["categories"] == "FILL_IN"
    assert columns["gone"] == {"type": "FILL_IN", "description": ""}
    assert "maximum: FILL_IN  # the dictionary says 'a\\nlot'" in text
    assert "  # type, codes: row 4\n  school:\n" in text
    assert "  # not in book.xlsx\n  gone:\n" in text
    assert "# book.xlsx describes columns beside these: X, rest\ncolumns:" in text


def test_a_column_is_known_in_other_capitals_unless_two_are():
    assert GIVEN.of("aGe") is GIVEN.columns["Age"]
    assert GIVEN.of("x") is GIVEN.columns["x"]
    both = dict.fromkeys(("ab", "AB"), GIVEN.columns["x"])
    assert GivenDictionary(file="f", columns=both).of("Ab") is None


def test_every_column_of_a_dictionary_can_be_read_again(tmp_path):
    text = skeleton_from_dictionary(GIVEN)
    assert "\x1b" not in text
    with pytest.raises(SpecError) as caught:
        load_spec(saved(tmp_path, text))
    assert all("FILL_IN" in one or "are 7" in one for one in caught.value.problems)


@pytest.mark.parametrize("content", ["", "[1]", '{"age": 3}', '{"age": {"values": [1]}}'])
def test_what_is_no_dictionary_is_refused(content, tmp_path):
    file = tmp_path / "dictionary.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(DictionaryError, match="data dictionary"):
        from_json(file)


@pytest.mark.parametrize("values", [{"min": 0}, {"min": "low", "max": 9}])
def test_half_an_interval_is_refused(values, tmp_path):
    file = tmp_path / "dictionary.json"
    file.write_text(json.dumps({"age": {"values": values}}), encoding="utf-8")
    with pytest.raises(DictionaryError, match='"min" or "max" in the dictionary is not a number'):
        from_json(file)


def test_the_nist_dictionary_gives_all_its_columns():
    text = skeleton_from_dictionary(from_json(NIST))
    assert all(f"  {name}:\n" in text for name in json.loads(NIST.read_text()))
    assert "    minimum: -9000\n    maximum: 1341000\n" in text
    assert "    minimum: 0\n    maximum: 501\n" in text  # POVPIP: 0..500 and the code 501


def bomb(file: Path, megabytes: int) -> Path:
    """A small file that holds a single line of so many megabytes."""
    with gzip.open(file, "wb") as stream:
        for _ in range(megabytes):
            stream.write(b"a" * 2**20)
    return file


def test_a_line_without_an_end_is_not_read_to_its_end(tmp_path):
    file = bomb(tmp_path / "table.csv.gz", 64)
    tracemalloc.start()
    with pytest.raises(SkeletonError, match="longer than 1,048,576 bytes, so it is no header"):
        skeleton_from_header(file)
    assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (f"{CANARY}{'a' * 200_000},wage", "cannot be split into column names"),
        (",".join(f"{CANARY}{i}" for i in range(10_001)), "has 10,001 columns"),
    ],
)
def test_a_header_that_no_table_has_is_refused_without_showing_it(header, says, tmp_path):
    with pytest.raises(SkeletonError, match=says) as caught:
        skeleton_from_header(table(tmp_path, header))
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[" * 200_000, "cannot be read as JSON"),
        ('{"age": {"values": {"min": 1' + "0" * 5_000 + "}}}", "cannot be read as JSON"),
        (" " * (2**24 + 1), "cannot be read as JSON"),
        (json.dumps({"age": {"values": dict.fromkeys(range(200_001), "")}}), "lists more than"),
    ],
)
def test_a_dictionary_that_is_deep_long_or_large_is_refused(content, says, tmp_path):
    file = tmp_path / "dictionary.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(DictionaryError, match=says):
        from_json(file)
