"""All output to the terminal: text is shown as it is, and nothing in it is obeyed.

Titles, reasons, file names, messages of libraries: most of what a command shows was written by
others. A terminal would obey escape sequences in it, rich would obey its own [marks] and :names:,
and with line breaks or a change of writing direction it could pass for Hallmark's own words. So
everything shown goes through this module, and styles are given separately from the text.
"""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from hallmark.schemas.visible import visible

if TYPE_CHECKING:  # imported where something is laid out, to keep short answers quick
    from rich.console import Console
    from rich.table import Column
    from rich.text import Text

Part = str | tuple[str, str]
"""Text, or text with a rich style, such as `("void", "yellow")`."""

Cell = Part | list[Part]
"""The content of a table cell; parts of a list are shown one below the other."""


def say(text: str, *, err: bool = False, style: str | None = None) -> None:
    """Print one line, however long, for people and for programs that read lines."""
    typer.secho(visible(text), err=err, fg=style)


def say_json(value: Any, *, indent: int | None = 1) -> None:
    """Print a value as JSON in ASCII, in which everything invisible is escaped."""
    typer.echo(json.dumps(value, indent=indent))


def line(*parts: Part) -> None:
    """Print one line, wrapped between words if it is wider than the terminal."""
    console().print(_laid_out(parts))


def table(
    headings: Sequence["str | Column"],
    rows: Iterable[Sequence[Cell]],
    *,
    title: str | None = None,
    plain: bool = False,
) -> None:
    """Print a table, ruled unless it is `plain`, and without headings if no column has one."""
    from rich import box
    from rich.table import Column, Table

    columns = [one if isinstance(one, Column) else Column(_cell(one)) for one in headings]
    headed = any(column.header for column in columns)
    ruled = Table(
        *columns,
        title=None if title is None else _laid_out([title]),
        box=None if not headed else box.SIMPLE if plain else box.HEAVY_HEAD,
        show_header=headed,
    )
    for cells in rows:
        ruled.add_row(*map(_cell, cells))
    console().print(ruled)


def console(*, err: bool = False) -> "Console":
    """The terminal, for formatted output; text by others must go through `visible` first."""
    from rich.console import Console

    return Console(stderr=err, markup=False, emoji=False, highlight=False)


def _cell(cell: Cell) -> "Text":
    from rich.text import Text

    parts = cell if isinstance(cell, list) else [cell]
    return Text("\n").join(_laid_out([part]) for part in parts)


def _laid_out(parts: Sequence[Part]) -> "Text":
    from rich.text import Text

    pairs = (part if isinstance(part, tuple) else (part, "") for part in parts)
    return Text.assemble(*((visible(text), style) for text, style in pairs))
