"""Text in the dashboard's Markdown, as a reader of Markdown shows it."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hallmark.schemas.visible import visible
from hallmark.tasks.rendering.markdown import code, plain, table

_MARKS = (
    "*", "**", "_", "`", "``", "[a](http://b)", "![i](x)", "<b>", "&lt;", "~~", "|", "#", "\\",
    "\n", "\n\n# ", "\u202e", "\x1b", "https://a.b", "www.a.b", "a@b.c", "{{ x }}", "a", " ",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(_MARKS) | st.characters(codec="utf-8"), max_size=6).map("".join)
_reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def read(markdown: str) -> tuple[list[str], str]:
    """The tags of the page, and its text."""
    page = _reader.render(markdown)
    return re.findall(r"<(\w+)", page), html.unescape(re.sub(r"<[^>]*>", "", page)).strip()


@given(text=TEXTS)
def test_plain_text_is_read_as_it_is(text: str) -> None:
    text = f"x{text}x"
    seen = visible(" ".join(text.split()))
    assert read(f"# {plain(text)}") == (["h1"], seen)
    assert read(f"- {plain(text)}") == (["ul", "li"], seen)
    tags, words = read("\n".join(table(["a"], [[text]])))
    assert tags == ["table", "thead", "tr", "th", "tbody", "tr", "td"]
    assert seen in words


@given(text=TEXTS.filter(str.strip))
def test_code_is_read_letter_by_letter(text: str) -> None:
    tags, words = read(f"In {code(text)}.")
    assert tags == ["p", "code"]
    assert words == f"In {visible(text)}."


@pytest.mark.parametrize("link", ["https://evil.example", "www.evil.example", "me@evil.example"])
def test_an_address_becomes_no_link(link: str) -> None:
    assert link not in plain(link)
    assert read(f"x {plain(link)}") == (["p"], f"x {link}")
