"""The table of mechanisms in README.md: `python -m hallmark.mechanisms.catalogue_table`.

A test fails while it is out of date.
"""

from collections.abc import Iterator
from pathlib import Path

from hallmark.mechanisms.catalogue import CATALOGUE, Entry

PAGE = Path(__file__).parents[2] / "README.md"
BEGIN, END = "<!-- mechanisms: begin -->\n", "<!-- mechanisms: end -->\n"
"""The marks between which the table stands."""


def with_table(page: str) -> str:
    """The page with the table as it should be between the marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{_table()}{END}{after}"


def _table() -> str:
    head = "| name | guarantee | takes | for what, and how |\n|---|---|---|---|\n"
    return head + "".join(
        f"| `{entry.name}` | {entry.guarantee.value} | {', '.join(_taken(entry)) or '–'} "
        f"| {entry.sentence} |\n"
        for entry in CATALOGUE.values()
    )


def _taken(entry: Entry) -> Iterator[str]:
    if entry.answers_queries:
        yield "queries"
    if entry.takes_places:
        yield "places"
    if entry.takes_bins:
        yield "bins"
    if entry.takes_public_data:
        yield "public records"
    if entry.takes_share:
        yield "a share"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
