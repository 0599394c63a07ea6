"""Heat maps: matrices over columns, and tables of two columns, as inline SVG."""

from collections.abc import Sequence

from markupsafe import Markup

from hallmark.schemas.documents.audit_pairs import Matrix, PairTable
from hallmark.tasks.rendering.drawing import label, rect, shade, short, svg, titled, upright
from hallmark.tasks.rendering.wording import number, percent

_WRITTEN = 14  # columns of a matrix up to which its numbers are written in
_LABEL = 18  # characters
_DEEPEST = 0.6  # opacity on which dark text can still be read


def matrix_plot(matrix: Matrix, what: str, other: Matrix | None = None) -> Markup:
    """A number for every two columns, the deeper the farther from 0; negative ones in brown.

    Args:
        other: of the same columns; then it stands above the diagonal and `matrix` below it.
    """
    count = len(matrix.columns)
    side = max(13.0, min(46.0, 700.0 / count))
    left, top = 140.0, 96.0
    parts = []
    for row, name in enumerate(matrix.columns):
        middle = top + (row + 0.5) * side
        parts.append(label(left - 6, middle + 3.5, short(name, _LABEL), "end"))
        parts.append(upright(left + (row + 0.6) * side, top - 6, short(name, _LABEL)))
        for column in range(count):
            shown = other if other is not None and column > row else matrix
            value = shown.values[row][column]
            x, y = left + column * side, top + row * side
            words = "not defined" if value is None else number(value, 2)
            tip = f"{name}, {matrix.columns[column]}: {words}"
            style = "cold" if (value or 0) < 0 else "heat"
            box = shade(x + 0.5, y + 0.5, side - 1, side - 1, style, abs(value or 0) * _DEEPEST)
            parts.append(f"<g>{titled(tip)}{rect(x, y, side, side, 'frame')}{box}</g>")
            if count <= _WRITTEN and row != column:
                text = "–" if value is None else f"{value + 0.0:.2f}".replace("-0.00", "0.00")
                parts.append(label(x + side / 2, middle + 3.5, text, "middle"))
    widest = max(960.0, left + count * side + 80)
    return svg(widest, top + count * side + 8, what, _strongest(matrix), parts)


def _strongest(matrix: Matrix) -> str:
    """The pair with the number farthest from 0, in words."""
    found = [
        (abs(value), a, b, value)
        for i, a in enumerate(matrix.columns)
        for b, value in zip(matrix.columns[:i], matrix.values[i], strict=False)
        if value is not None
    ]
    if not found:
        return f"{len(matrix.columns)} columns."
    _, a, b, value = max(found, key=lambda pair: pair[0])
    return f"{len(matrix.columns)} columns; farthest from 0 are {b} and {a}, {number(value, 2)}."


def pair_plot(table: PairTable, other: PairTable | None = None) -> Markup:
    """Shares of two columns together, a row of boxes for each cell of the first.

    Args:
        other: what is taken off `table`, of the same cells: then more is blue, and less brown.
    """
    base: Sequence[Sequence[float]] = (
        other.shares if other else [[0.0] * len(table.across)] * len(table.down)
    )
    values = [
        [share - less for share, less in zip(row, off, strict=True)]
        for row, off in zip(table.shares, base, strict=True)
    ]
    peak = max(max(abs(value) for value in row) for row in values) or 1.0
    left, top, right = 98.0, 62.0, 288.0
    wide, high = (right - left) / len(table.across), 15.0
    parts = []
    for column, name in enumerate(table.across):
        parts.append(upright(left + (column + 0.6) * wide, top - 5, short(name, 11)))
    for row, name in enumerate(table.down):
        y = top + row * high
        parts.append(label(left - 5, y + high - 4, short(name, 15), "end"))
        for column, value in enumerate(values[row]):
            x = left + column * wide
            tip = f"{name}, {table.across[column]}: {percent(value, 3)}"
            style = "cold" if value < 0 else "heat"
            box = shade(x + 0.5, y + 0.5, wide - 1, high - 1, style, abs(value) / peak)
            parts.append(f"<g>{titled(tip)}{rect(x, y, wide, high, 'frame')}{box}</g>")
    one, two = table.columns
    height = top + high * len(table.down) + 20
    parts.append(label(left, height - 6, f"deepest: {percent(peak, 3)}", "start", "dim"))
    title = f"{one} (down) and {two} (across)"
    text = f"{len(table.down)} by {len(table.across)} cells; the deepest is {percent(peak, 3)}."
    return svg(320, height, title, text, parts)
