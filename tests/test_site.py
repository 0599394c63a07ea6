"""The check of the documentation's site finds what it looks for."""

from pathlib import Path

import pytest

from docs.site.build import deeper_in_lists, not_in_the_menu, problems


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ('<a href="other.html#here">', []),
        ('<a href="folder/">', []),
        ('<a href="https://example.org/">', []),
        ('<a href="gone.html">', ["page.html: gone.html leads nowhere"]),
        ('<a href="other.html#x">', ["page.html: other.html#x names no anchor of that page"]),
        ('<a href="#x">', ["page.html: #x names no anchor of that page"]),
        ('<img src="gone.png">', ["page.html: gone.png leads nowhere"]),
        ('<script src="https://example.org/a.js">', ["page.html: loads https://example.org/a.js"]),
        ('<link href="//example.org/a.css">', ["page.html: loads //example.org/a.css"]),
    ],
)  # fmt: skip
def test_a_page_is_checked(tmp_path: Path, body: str, found: list[str]) -> None:
    (tmp_path / "page.html").write_text(body)
    (tmp_path / "other.html").write_text('<h2 id="here">')
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/index.html").write_text("")
    assert list(problems(tmp_path)) == found


def test_a_style_sheet_that_loads_a_font_from_another_host_is_found(tmp_path: Path) -> None:
    (tmp_path / "site.css").write_text('@import url("https://example.org/font.css");')
    assert list(problems(tmp_path)) == ["site.css: loads https://example.org/font.css"]


def test_a_page_that_nobody_finds_is_found(tmp_path: Path) -> None:
    for name in ("read.md", "unread.md"):
        (tmp_path / name).write_text("")
    menu = [{"Developers": [{"Read": "read.md"}]}]
    (found,) = not_in_the_menu(tmp_path, menu)
    assert found.startswith("unread.md: ")


def test_what_belongs_to_an_item_is_indented_by_four() -> None:
    page = "1. One\n   more\n\n   ```\n   code\n   ```\n\n- Two\n  more\n\nNo item\n  more\n"
    assert deeper_in_lists(page) == (
        "1. One\n    more\n\n    ```\n    code\n    ```\n\n- Two\n    more\n\nNo item\n  more\n"
    )


def test_code_is_no_list() -> None:
    page = "```yaml\n- name: Ada\n  key: u7C\n```\n"
    assert deeper_in_lists(page) == page
