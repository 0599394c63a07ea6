"""Build the documentation's site from the pages where they lie: `make docs`, into build/site.

Pages are copied to build/pages, under their paths in the repository and with the files that they
link to, so that a link works in the site as it does there. The build fails where a link or an
anchor leads nowhere, or where a page would load anything from another host: an agency's network is
closed.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[2]
PAGES, SITE = ROOT / "build/pages", ROOT / "build/site"
SOURCES = (
    "*.md",
    "docs/**/*.md",
    "deploy/*.md",
    *(f"{name}/**/*.md" for name in ("flows", "tasks", "mechanisms", "schemas")),
    "docs/site/*.[cj]s*",
)
EXAMPLES = Path("schemas/examples")
LINK = re.compile(r"\]\(([^)\s#]+)")
SHIM = "https://unpkg.com/iframe-worker/shim"  # the theme's; ours is beside this file
OUR_SHIM = "docs/site/iframe-worker.js"
LOADED_BY_CSS = re.compile(r"""(?:url\(|@import )["']?((?:https?:)?//[^"')\s]+)""")
LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}


def lay_out_pages() -> None:
    """Copy pages and the files that they link to, and list the examples on a page of their own."""
    shutil.rmtree(PAGES, ignore_errors=True)
    for page in (page for pattern in SOURCES for page in ROOT.glob(pattern)):
        if (
            "node_modules" in page.parts or page.is_symlink()
        ):  # fetched by `make editor`; the desk's
            continue
        text = page.read_text(encoding="utf-8")
        for link in LINK.findall(text):
            file = page.parent / link
            if file.is_file() and file.suffix != ".md":
                _copy(file)
        text = text.replace(f"{EXAMPLES})", f"{EXAMPLES}/README.md)")
        _write(page.relative_to(ROOT), deeper_in_lists(text))
    _write(EXAMPLES / "README.md", _examples())


def deeper_in_lists(text: str) -> str:
    """The same page with what belongs to an item of a list indented by four spaces.

    Markdown as repositories show it wants as many as the item's mark has; the site's wants four.
    """
    lines, mark, fenced = [], 0, False
    for line in text.splitlines(keepends=True):
        fenced ^= line.startswith("```")
        item = re.match(r"(?:\d+\.|[-*]) +", line)
        if item and not fenced:
            mark = item.end()
        elif mark and line.startswith(" " * mark):
            line = " " * (4 - mark) + line
        elif line.strip():
            mark = 0
        lines.append(line)
    return "".join(lines)


def _copy(file: Path) -> None:
    target = PAGES / file.resolve().relative_to(ROOT)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, target)


def _write(path: Path, text: str) -> None:
    target = PAGES / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def _examples() -> str:
    """A page with the text of every example spec."""
    parts = ["# Example specs\n"]
    for file in sorted((ROOT / EXAMPLES).glob("*.yaml")):
        parts.append(f"## {file.name}\n\n```yaml\n{file.read_text(encoding='utf-8')}```\n")
    return "\n".join(parts)


class Page(HTMLParser):
    """Anchors of a page, what it links to, and what a browser loads to show it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and LOADED[tag] in given and given.get("rel") != "canonical":
            self.loaded.append(given[LOADED[tag]])


def not_in_the_menu(pages: Path, menu: object) -> Iterator[str]:
    """Pages that no entry of the menu (the key `nav` of the configuration) leads to."""
    named = set(re.findall(r"'([^']+\.md)'", repr(menu)))
    for page in sorted(str(file.relative_to(pages)) for file in pages.rglob("*.md")):
        if page not in named:
            yield f"{page}: no entry of `nav` in zensical.toml leads here"


def problems(site: Path) -> Iterator[str]:
    """What is wrong with the built pages: links that lead nowhere, and files of other hosts."""
    pages = {file: Page(file) for file in site.rglob("*.html")}
    for file, page in pages.items():
        where = file.relative_to(site)
        for address in page.links + page.loaded:
            url = urlsplit(address)
            if url.scheme in ("http", "https") or url.netloc:
                if address in page.loaded:
                    yield f"{where}: loads {address}"
                continue
            if url.scheme or file.name == "404.html":  # data:, mailto:; its links are from the root
                continue
            target = (file.parent / unquote(url.path)).resolve() if url.path else file
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                yield f"{where}: {address} leads nowhere"
            elif url.fragment and unquote(url.fragment) not in pages[target].anchors:
                yield f"{where}: {address} names no anchor of that page"
    for sheet in site.rglob("*.css"):
        for address in LOADED_BY_CSS.findall(sheet.read_text(encoding="utf-8")):
            yield f"{sheet.relative_to(site)}: loads {address}"


def load_our_shim(site: Path) -> None:
    """Have pages load our copy of the one script that the theme takes from another host."""
    for file in site.rglob("*.html"):
        up = "../" * (len(file.relative_to(site).parts) - 1)
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(SHIM, f"{up}{OUR_SHIM}"), encoding="utf-8")


def main() -> int:
    """Build the site and check it; 1 where something is wrong."""
    lay_out_pages()
    shutil.rmtree(SITE, ignore_errors=True)
    zensical = Path(sys.executable).with_name("zensical")
    built = subprocess.run([zensical, "build", "--clean", "--strict"], cwd=ROOT, check=False)
    if built.returncode:
        return built.returncode
    load_our_shim(SITE)
    menu = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    found = [*problems(SITE), *not_in_the_menu(PAGES, menu)]
    print("\n".join(found) or f"{SITE.relative_to(ROOT)}/index.html is ready")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
