"""Keys of the section `data`, said in the text of a spec that keeps all else."""

import pytest

from hallmark.schemas.source_text import NoSection, with_keys

TEXT = """\
# of the agency
hallmark: 1   # the version
data:   # private
  source: a.csv   # the table
  null_markers:   # as the codebook says
  - ''
  - NA
  # the register
  expected_rows: FILL_IN
columns: {}
"""


def test_keys_are_said_after_the_source_and_comments_stay():
    found = with_keys(TEXT, {"delimiter": ";", "encoding": "latin-1"})
    assert found == TEXT.replace(
        "# the table\n", '# the table\n  delimiter: ";"\n  encoding: "latin-1"\n'
    )


def test_a_key_that_is_there_is_replaced_and_one_without_a_value_taken_out():
    found = with_keys(TEXT, {"null_markers": ["", "-"], "thousands": None})
    assert found == TEXT.replace("  - NA\n", '  - "-"\n')
    before, after = TEXT.split("  null_markers:   # as the codebook says\n  - ''\n  - NA\n")
    assert with_keys(TEXT, {"null_markers": None}) == before + after


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("data: {source: a.csv}", 'data: {source: a.csv, delimiter: ";"}'),
        ("data: {thousands: x, source: a.csv}\n", 'data: {source: a.csv, delimiter: ";"}\n'),
        ("data: {source: a.csv, thousands: x}\n", 'data: {source: a.csv, delimiter: ";"}\n'),
        ("data:\n  source: a.csv", 'data:\n  source: a.csv\n  delimiter: ";"'),
        ("data:\n  thousands: x\n  source: a.csv", 'data:\n  source: a.csv\n  delimiter: ";"'),
    ],
)
def test_a_section_in_braces_stays_one(text: str, found: str):
    assert with_keys(text, {"delimiter": ";", "thousands": None}) == found


@pytest.mark.parametrize(
    "text",
    ["", "- a", "data: x", "data: {}", "data: [", "a: 1", "data: {source: a}\ndata: {source: b}",
     "data: &a {source: a.csv}\nx: *a", "[" * 90],
)  # fmt: skip
def test_a_text_without_the_section_is_refused(text: str):
    with pytest.raises(NoSection, match="cannot be read as YAML with a section data"):
        with_keys(text, {"delimiter": ";"})
