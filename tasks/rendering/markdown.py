"""Text that others wrote, in the Markdown of the dashboard, which shows it and obeys none of it."""

import re
from collections.abc import Iterable, Iterator

from hallmark.schemas.visible import visible

_MARKS = re.compile(r"[\\`*_~\[\]|#@]|:(?=//)|(?<=www)\.")  # the last two would become links


def plain(text: str) -> str:
    """The text as it is, for the middle of a line, a heading or a cell of a table."""
    entities = visible(" ".join(text.split())).replace("&", "&amp;").replace("<", "&lt;")
    return _MARKS.sub(r"\\\g<0>", entities)


def code(text: str) -> str:
    """The text letter by letter, as a piece of code; not for a cell of a table."""
    seen = visible(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", seen)), default=0))
    padding = " " if "`" in seen or seen.startswith(" ") else ""  # one space is taken off
    return f"{fence}{padding}{seen}{padding}{fence}"


def table(heading: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """The lines of a table, whose cells are text of others; an empty line ends it."""
    titles = list(heading)
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"
    for row in rows:
        yield f"| {' | '.join(map(plain, row))} |"
    yield ""
