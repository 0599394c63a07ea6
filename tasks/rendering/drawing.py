"""The strokes of which plots are made: shapes and texts of inline SVG, everything escaped."""

import math
from collections.abc import Iterable
from html import escape

from markupsafe import Markup


def svg(width: float, height: float, title: str, text: str, parts: Iterable[str]) -> Markup:
    """A drawing with a title and a description for readers who do not see it."""
    return Markup(
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(title)}. '
        f'{escape(text)}"><title>{escape(title)}</title><desc>{escape(text)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def titled(text: str) -> str:
    """What a shape says when it is pointed at."""
    return f"<title>{escape(text)}</title>"


def rect(x: float, y: float, width: float, height: float, style: str) -> str:
    """A box, never of negative size."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}" '
        f'class="{style}"/>'
    )


def shade(x: float, y: float, width: float, height: float, style: str, share: float) -> str:
    """A box whose colour is as deep as `share`, 0 to 1, says."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'class="{style}" fill-opacity="{min(1.0, max(0.0, share)):.3f}"/>'
    )


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{style}"/>'


def grid(left: float, right: float, y: float) -> str:
    """A line of the grid from left to right."""
    return line(left, y, right, y, "grid")


def label(x: float, y: float, text: str, anchor: str, style: str = "") -> str:
    """A text, at whose `anchor` (start, middle or end) the point lies."""
    extra = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(text)}</text>'


def upright(x: float, y: float, text: str) -> str:
    """A text that is read from below and begins at the point."""
    turned = f'transform="rotate(-60 {x:.1f} {y:.1f})"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {turned} text-anchor="start">{escape(text)}</text>'


def short(text: str, length: int) -> str:
    """The text, cut off after so many characters."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def nice(value: float) -> float:
    """The least of 1, 2, 2.5, 4, 5, 8 times a power of ten that is at least `value`."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((m * power for m in (1, 2, 2.5, 4, 5, 8, 10) if m * power >= value), 10 * power)
