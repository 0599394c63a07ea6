"""How a file is written, said once for all columns, and the formats by the names of files."""

import pytest

from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.table_sections import FORMATS_BY_SUFFIX, format_by_name
from tests import messy


def spec(data: dict[str, object], **columns: dict[str, object]) -> ReleaseSpec:
    content = messy.spec("t.csv")
    content["data"] |= data
    for name, more in columns.items():
        content["columns"][name] = content["columns"][name] | more
    return ReleaseSpec.model_validate(content)


def test_columns_are_written_as_the_file_unless_they_say_otherwise():
    found = spec({"thousands": "."}, loyer={"decimal_mark": "."}, née={"format": "%Y-%m-%d"})
    assert found.columns["revenu"].marks.decimal == ","
    assert found.columns["revenu"].marks.thousands == "."
    assert found.columns["loyer"].marks.decimal == "."
    assert found.columns["loyer"].marks.thousands == ""  # the file's would be its decimal mark
    assert found.columns["déménagé"].format == "%d/%m/%Y"
    assert found.columns["née"].format == "%Y-%m-%d"


def test_what_was_filled_in_is_what_a_spec_that_writes_it_out_says():
    filled = spec({})
    again = ReleaseSpec.model_validate_json(filled.canonical_json())
    assert again == filled
    assert again.digest() == filled.digest()


def test_a_spec_that_says_nothing_of_it_keeps_its_digest():
    plain = messy.spec("t.csv")
    plain["data"] = {key: plain["data"][key] for key in ("source", "expected_rows", "record")}
    content = ReleaseSpec.model_validate(plain).content()
    assert not {"decimal_mark", "thousands", "date_format", "sheet"} & set(content["data"])
    assert "decimal_mark" not in content["columns"]["revenu"]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *((f"a.b.{suffix}", form) for suffix, form in FORMATS_BY_SUFFIX.items()),
        ("T.CSV.GZ", "csv"), ("T.XLSX", "xlsx"), ("t.xls", None), ("folder/", None), ("csv", None),
    ],
)  # fmt: skip
def test_a_format_is_known_by_the_end_of_a_name(name: str, form: str | None):
    assert format_by_name(name) == form
