"""The project's own pages, served where they help: `docs/` as a manual of the desk.

The pages come with the installed package: `manual/` holds a link to each, which the package's build
follows. They are made of Markdown here, with the anchors that links in them expect, and one for
every key of the reference of specs. What a page names and the desk does not serve, such as a
picture or a page for developers, is named without a link. Nothing of them comes from a release.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import APIRouter, HTTPException, Request, Response
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from hallmark.flows.desk.pages import page
from hallmark.schemas.visible import visible

router = APIRouter()
FOLDER = Path(__file__).parent / "manual"
REFERENCE = "spec-reference"
_WHOLE, _COLUMN = "The whole spec", "columns.NAME of type "
_BY_ITSELF = ("http", "https", "mailto")
_SHOWN = {
    "<table": '<div class="rows" tabindex="0"><table',  # what is wide is scrolled, also by keys
    "</table>": "</table></div>",
    "<pre": '<pre tabindex="0"',
    "<th></th>": "<td></td>",
}
"""Tags that the renderer makes, which it makes of nothing that a page says."""
_markdown = MarkdownIt("commonmark", {"html": False}).enable("table")


@dataclass(frozen=True)
class Manual:
    """One page.

    Attributes:
        headings: of its sections, with their anchors.
        anchors: all that links can name.
    """

    title: str
    body: Markup
    headings: Sequence[tuple[str, str]]
    anchors: frozenset[str]


@router.get("/docs")
def manual(request: Request) -> Response:
    """All pages of the documentation."""
    return page(request, "manual", pages={name: manual_of(name).title for name in names()})


@router.get("/docs/{name}")
def manual_page(request: Request, name: str) -> Response:
    """One page of the documentation."""
    if name not in names():
        raise HTTPException(404, f"there is no page {visible(name)!r} in the documentation here")
    return page(request, "manual-page", one=manual_of(name))


@lru_cache
def names() -> tuple[str, ...]:
    """The names of all pages."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.md")))


def reference(keys: Sequence[str], type_: str = "") -> str:
    """The address of the entry about a key of a spec in the reference.

    Args:
        keys: that lead to it, from the whole spec inwards, or from the section of a column.
        type_: of that column; empty for a key of the whole spec.
    """
    *sections, key = keys
    if type_:
        heading = ".".join(("columns.NAME", *sections)) if sections else f"{_COLUMN}{type_}"
    else:
        heading = ".".join(sections) or _WHOLE
    return f"/docs/{REFERENCE}#{_key_anchor(heading, key)}"


@lru_cache
def manual_of(name: str) -> Manual:
    """A page as HTML: made once, since it comes with the program."""
    tokens = _markdown.parse((FOLDER / f"{name}.md").read_text(encoding="utf-8"))
    headings = list(_with_anchors(tokens))
    anchors = {anchor for _, anchor in headings}
    if name == REFERENCE:
        anchors |= set(_with_key_anchors(tokens))
    for token in tokens:
        if token.type == "table_open":
            token.attrSet("class", "wide")
        if token.children is not None:
            token.children = list(_inner(token.children))
    body = _markdown.renderer.render(tokens, _markdown.options, {})
    for made, shown in _SHOWN.items():
        body = body.replace(made, shown)
    (title,) = (text for text, _ in headings[:1])
    return Manual(title, Markup(body), headings[1:], frozenset(anchors))


def _with_anchors(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Give every heading its anchor; yields them with their texts."""
    seen: set[str] = set()
    for token, inline in pairwise(tokens):
        if token.type != "heading_open":
            continue
        text = "".join(one.content for one in inline.children or ())
        anchor, number = slug(text), 1
        while anchor in seen:
            anchor, number = f"{slug(text)}_{number}", number + 1
        seen.add(anchor)
        token.attrSet("id", anchor)
        yield text, anchor


def _with_key_anchors(tokens: Sequence[Token]) -> Iterator[str]:
    """Give every row of the reference of specs, which is about a key, an anchor; yields them."""
    heading, row = "", None
    for token in tokens:
        if token.type == "heading_open":
            heading, row = str(token.attrGet("id")), None
        elif token.type == "tr_open":
            row = token
        elif token.type == "inline" and row is not None:
            first = (token.children or [token])[0]
            if first.type == "code_inline":
                anchor = f"{heading}--{first.content}"
                row.attrSet("id", anchor)
                yield anchor
            row = None


def _key_anchor(heading: str, key: str) -> str:
    return f"{slug(heading)}--{key}"


def slug(heading: str) -> str:
    """The anchor of a heading, as the site of the documentation names it."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def _inner(tokens: Sequence[Token]) -> Iterator[Token]:
    """What stands in a paragraph, with links to what the desk serves, and no picture."""
    is_linked = True
    for token in tokens:
        if token.type == "image":
            yield Token("text", "", 0, content=f"(Picture, in the repository: {token.content})")
        elif token.type == "link_open":
            address = _address(str(token.attrGet("href")))
            is_linked = address is not None
            if address is not None:
                token.attrSet("href", address)
                token.attrSet("rel", "noopener")
                yield token
        elif token.type != "link_close" or is_linked:
            yield token


def _address(link: str) -> str | None:
    """Where a link of a page leads at the desk; None where the desk has nothing."""
    url = urlsplit(link)
    if url.scheme in _BY_ITSELF:
        return link
    name = url.path.removesuffix(".md")
    fragment = f"#{url.fragment}" if url.fragment else ""
    if not url.path:
        return fragment
    return f"/docs/{name}{fragment}" if name in names() and url.path != name else None
