"""The reference of the release spec: current, and complete."""

from docs.site.spec_reference import PAGE, page
from hallmark.schemas.json_schema import release_spec_schema


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "refresh it with: python -m docs.site.spec_reference"
    )


def test_every_key_of_every_section_has_a_row() -> None:
    schema = release_spec_schema()
    sections = [schema, *schema["$defs"].values()]
    keys = [key for section in sections for key in section.get("properties", {})]
    rows = [line for line in page().splitlines() if line.startswith("| `")]
    assert sorted(line.split("`")[1] for line in rows) == sorted(keys)
