"""The one way to a terminal: text is shown as it is, and nothing in it is obeyed.

Titles, reasons, names of files, messages of libraries: most of what a command shows was written by
others. A terminal would obey escape sequences in it, rich its own [marks] and :names:, and a line
break or a change of the direction of writing would let it pass for words of ours. So all that is
shown goes through here, and styles are given beside the text, never inside it.
"""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from schemas.visible import visible

if TYPE_CHECKING:  # imported where something is laid out, to keep short answers quick
    from rich.console import Console
    from rich.table import Column
    from rich.text import Text

Part = str | tuple[str, str]
"""Text, or text with a style of rich's, such as `("void", "yellow")`."""

Cell = Part | list[Part]
"""What stands in a cell of a table; a list is one below the other."""


def say(text: str, *, err: bool = False, style: str | None = None) -> None:
    """One line, however long; for people and for programs that read lines."""
    typer.secho(visible(text), err=err, fg=style)


def say_json(value: Any, *, indent: int | None = 1) -> None:
    """A value as JSON in ASCII, where all that is not seen is escaped."""
    typer.echo(json.dumps(value, indent=indent))


def line(*parts: Part) -> None:
    """One line, wrapped between words where it is longer than the terminal is wide."""
    console().print(_laid_out(parts))


def table(
    headings: Sequence["str | Column"],
    rows: Iterable[Sequence[Cell]],
    *,
    title: str | None = None,
    plain: bool = False,
) -> None:
    """A table, ruled unless it is `plain`; without a heading where no column has one."""
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
    """The terminal, for what is laid out; text that is not ours goes through `visible` first."""
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
