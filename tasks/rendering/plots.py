"""Plots of released quantities, as inline SVG.

Small drawings made for one page: text stays text, colours come from the page's style sheet, and
each carries a title and a description for readers who do not see it. Equal input gives equal bytes.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from markupsafe import Markup

from hallmark.schemas.documents.audit_privacy import Account, Curve
from hallmark.schemas.documents.audit_questions import GroupAnswer
from hallmark.schemas.documents.audit_utility import Answers, Marginal
from hallmark.schemas.documents.certificate import CertificateFile, CertifiedBound
from hallmark.schemas.documents.internal_review import ColumnReview
from hallmark.tasks.rendering.drawing import grid, label, line, nice, rect, short, svg, titled
from hallmark.tasks.rendering.wording import exact, number, percent

_MOST_BARS = 24  # categories drawn one by one; the rest is added up
_MOST_UPRIGHT = 60  # bars of ordered cells; neighbours are added up where there are more
_BAR_STEP = 16.5  # height of a lying bar with its gap
_MOST_POINTS = 300  # of a curve
_LABEL = 15  # characters of a category label
_MOST_BOUNDS = 24  # in one plot
_SHARE = "share of records"  # the unit of nominal columns' bounds
_END_TEXTS = 18  # characters of both ends of an axis that leave room for its unit

TERM_CLASSES = ("t0", "t1", "t2", "t3", "t4")


def marginal_plot(marginal: Marginal) -> Markup:
    """The column's synthetic distribution as bars, the measured one as a line in its error band.

    Many ordered cells are drawn in bars of several; their error bands then add up, which is wide
    enough whatever the noise of one has to do with that of another.
    """
    marginal = _binned(marginal)
    long = len(marginal.cells) > _MOST_BARS and marginal.kind not in ("nominal", "metric")
    upright = long or marginal.kind in ("numeric", "date")
    top = max(range(len(marginal.cells)), key=lambda i: marginal.synthetic[i])
    description = (
        f"{len(marginal.cells)} cells; the largest synthetic share is "
        f"{percent(marginal.synthetic[top])} in {marginal.cells[top]}."
    )
    if marginal.measured:
        gaps = [
            abs(s - m) <= h
            for s, m, h in zip(
                marginal.synthetic, marginal.measured, marginal.half_width, strict=True
            )
        ]
        description += f" {sum(gaps)} of {len(gaps)} synthetic shares lie within the error band."
    title = f"Distribution of {marginal.column}"
    if upright:
        return svg(320, 164, title, description, _columns(marginal))
    bars = _bars(marginal)
    return svg(320, 12 + _BAR_STEP * len(bars), title, description, _rows(bars))


def cells_in_words(cells: int, *, ordered: bool, has_null: bool = False) -> str:
    """How many cells a column has, and how they are drawn where they are not drawn one by one."""
    size = _cells_a_bar(cells - has_null) if ordered else 1
    words = f"{cells:,} cell{'s' if cells != 1 else ''}"
    return f"{words}, {size} to a bar" if size > 1 else words


def _cells_a_bar(cells: int) -> int:
    return -(-cells // _MOST_UPRIGHT)


def _binned(marginal: Marginal) -> Marginal:
    """The distribution with neighbouring cells added up, where they are ordered and too many."""
    values = len(marginal.cells) - marginal.has_null
    size = _cells_a_bar(values)
    if size == 1 or marginal.kind in ("nominal", "metric"):
        return marginal
    groups = [range(start, min(start + size, values)) for start in range(0, values, size)]
    groups += [range(values, len(marginal.cells))] if marginal.has_null else []

    def summed(shares: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(sum(shares[i] for i in group) for group in groups) if shares else ()

    ends = marginal.ends or (marginal.cells[0], marginal.cells[values - 1])
    return marginal.model_copy(
        update={
            "cells": tuple(_span([marginal.cells[i] for i in group]) for group in groups),
            "ends": ends,
            "synthetic": summed(marginal.synthetic),
            "measured": summed(marginal.measured),
            "half_width": summed(marginal.half_width),
        }
    )


def _span(cells: Sequence[str]) -> str:
    return cells[0] if len(cells) == 1 else f"{cells[0]} … {cells[-1]}"


def _columns(marginal: Marginal) -> list[str]:
    """Upright bars over the public interval; a null cell stands apart on the right."""
    left, right, top, base = 40.0, 312.0, 8.0, 142.0
    values = len(marginal.cells) - marginal.has_null
    null_room = 34.0 if marginal.has_null else 0.0
    step = (right - left - null_room) / values
    peak = nice(
        max((*marginal.synthetic, *(m + h for m, h in _bands(marginal)))),
    )

    def y(share: float) -> float:
        return base - (base - top) * min(1.0, max(0.0, share) / peak)

    def span(index: int) -> tuple[float, float]:
        if marginal.has_null and index == values:
            return right - 20.0, right - 4.0
        return left + index * step, left + (index + 1) * step

    gap = 1.0 if step > 5 else 0.0
    parts = [grid(left, right, y(peak)), grid(left, right, y(peak / 2)), grid(left, right, base)]
    parts += [label(left - 4, y(s) + 3.5, percent(s, 3), "end") for s in (peak, peak / 2)]
    for index, share in enumerate(marginal.synthetic):
        start, stop = span(index)
        parts.append(rect(start, y(share), stop - start - gap, base - y(share), "bar"))
    for index, (middle, half) in enumerate(_bands(marginal)):
        start, stop = span(index)
        low, high = y(middle - half), y(middle + half)
        parts.append(rect(start, high, stop - start - gap, max(low - high, 0.8), "band"))
        parts.append(line(start, y(middle), stop - gap, y(middle), "measured"))
    low_end, high_end = marginal.ends or (marginal.cells[0], marginal.cells[values - 1])
    end = left + values * step
    parts.append(label(left, base + 14, short(low_end, 16), "start"))
    parts.append(label(end, base + 14, short(high_end, 16), "end"))
    if marginal.unit and len(low_end) + len(high_end) < _END_TEXTS:
        parts.append(label((left + end) / 2, base + 14, short(marginal.unit, 22), "middle", "dim"))
    if marginal.has_null:
        parts.append(label(right - 12, base + 14, "null", "middle"))
    return parts


@dataclass(frozen=True)
class _Bar:
    label: str
    share: float
    band: tuple[float, float] | None  # measured share and half-width
    drawn: bool = True


def _bars(marginal: Marginal) -> list[_Bar]:
    """One bar a category; where there are many, the largest, and the sum of the rest."""
    order = list(range(len(marginal.cells)))
    rest: list[int] = []
    if len(order) > _MOST_BARS:
        largest = sorted(order, key=lambda i: (-marginal.synthetic[i], i))[: _MOST_BARS - 1]
        order, rest = largest, [i for i in order if i not in largest]
    bands = dict(enumerate(_bands(marginal)))
    bars = [_Bar(marginal.cells[i], marginal.synthetic[i], bands.get(i)) for i in order]
    if rest:  # the sum has another scale: it is told, not drawn
        share = sum(marginal.synthetic[i] for i in rest)
        bars.append(_Bar(f"{len(rest)} further", share, None, drawn=False))
    return bars


def _rows(bars: Sequence[_Bar]) -> list[str]:
    left, right, top = 120.0, 262.0, 6.0
    peak = max(1e-9, *(max(bar.share, sum(bar.band or ())) for bar in bars if bar.drawn))

    def x(share: float) -> float:
        return left + (right - left) * min(1.0, max(0.0, share) / peak)

    parts = [line(left, top, left, top + _BAR_STEP * len(bars), "axis")]
    for index, bar in enumerate(bars):
        upper = top + index * _BAR_STEP + 2
        height = _BAR_STEP - 4
        baseline = upper + height / 2 + 3.5
        parts.append(label(left - 6, baseline, short(bar.label, _LABEL), "end"))
        if bar.drawn:
            parts.append(rect(left, upper, max(x(bar.share) - left, 0.5), height, "bar"))
        if bar.band:
            middle, half = bar.band
            low, high = x(middle - half), x(middle + half)
            parts.append(rect(low, upper, max(high - low, 0.8), height, "band"))
            parts.append(line(x(middle), upper, x(middle), upper + height, "measured"))
        parts.append(label(right + 6, baseline, percent(bar.share), "start", "dim"))
    return parts


def certificate_plot(certificate: CertificateFile) -> Markup:
    """The terms of the largest bounds, stacked; largest first."""
    bounds = sorted(certificate.bounds, key=lambda b: -b.value)[:_MOST_BOUNDS]
    terms = term_names(certificate)
    left, right, step = 150.0, 770.0, 20.0
    height = step * len(bounds) + 30
    peak = nice(max(bound.value for bound in bounds))

    def x(value: float) -> float:
        return left + (right - left) * min(1.0, value / peak)

    parts = []
    for tick in range(5):
        at = x(peak * tick / 4)
        parts.append(line(at, 4, at, height - 22, "grid"))
        parts.append(label(at, height - 8, percent(peak * tick / 4, 3), "middle", "dim"))
    for index, bound in enumerate(bounds):
        upper = 6 + index * step
        parts.append(label(left - 8, upper + 11, short(bound.target, 22), "end"))
        parts += _stack(bound, terms, x, upper)
        parts.append(label(x(bound.value) + 8, upper + 11, bound_in_words(bound), "start", "dim"))
    worst = bounds[0]
    description = (
        f"{len(certificate.bounds)} bounds, each the sum of {', '.join(terms)}. The largest is "
        f"{percent(worst.value, up=True)} of {worst.share_of}, for {worst.target}."
    )
    return svg(960, height, "Certified bounds by column and term", description, parts)


def bars_left_out(certificate: CertificateFile) -> str:
    """A sentence on bounds that the plot has no room for; empty where it has all of them."""
    others = len(certificate.bounds) - _MOST_BOUNDS
    return f"The {others} smallest of the bounds are in the table alone. " if others > 0 else ""


def by_loss(certificate: CertificateFile) -> dict[str, list[CertifiedBound]]:
    """The bounds, grouped by the loss that they bound, in order of first appearance."""
    groups: dict[str, list[CertifiedBound]] = {}
    for bound in certificate.bounds:
        groups.setdefault(bound.metric, []).append(bound)
    return groups


def wholes(certificate: CertificateFile) -> str:
    """What the bounds are shares of, in words."""
    return " or ".join(dict.fromkeys(bound.share_of for bound in certificate.bounds))


def term_names(certificate: CertificateFile) -> list[str]:
    """Names of all terms, in order of first appearance."""
    return list(dict.fromkeys(name for bound in certificate.bounds for name in bound.terms))


def term_class(index: int) -> str:
    """Style class of the term at `index`; past the last one, the last colour is repeated."""
    return TERM_CLASSES[min(index, len(TERM_CLASSES) - 1)]


def bound_in_words(bound: CertifiedBound) -> str:
    """A bound for people, rounded up: in percent of the whole, and in its unit if it has one."""
    text = percent(bound.value, up=True)
    if bound.unit not in ("", _SHARE):
        text += f" = {in_its_unit(bound)}"
    return text + (" (vacuous)" if bound.vacuous else "")


def in_its_unit(bound: CertifiedBound) -> str:
    """A bound that has a unit, in that unit and rounded up, such as `8.6 years`."""
    if bound.unit == _SHARE:
        return f"{percent(bound.in_unit, up=True)} of records"
    return f"{number(bound.in_unit, 3, up=True)} {bound.unit}"


def answers_plot(answers: Answers) -> Markup:
    """The largest answers with the band that the private ones lie in, and those of the records."""
    first = answers.shown[0]
    description = (
        f"The {len(answers.shown)} largest of {answers.queries:,} answers, each with its error "
        f"bound. The largest is {number(first.answer, 3)}, plus or minus "
        f"{number(first.bound, 3, up=True)}, for {first.query}."
    )
    bands = [
        _Band(
            one.query,
            one.answer - one.bound,
            one.answer,
            one.answer + one.bound,
            f"{number(one.answer, 3)} ± {number(one.bound, 2, up=True)}",
            one.records,
        )
        for one in answers.shown
    ]
    return _bands_plot("Answers of queries", description, bands)


def learnt_plot(title: str, answers: Sequence[GroupAnswer]) -> Markup:
    """Answers with their intervals, and those of the records."""
    largest = max(answers, key=lambda one: abs(one.estimate))
    description = (
        f"{len(answers)} answers with their intervals. The largest is "
        f"{number(largest.estimate, 3)}, for {largest.group}."
    )
    bands = [
        _Band(
            one.group,
            one.low,
            one.estimate,
            one.high,
            f"{number(one.low, 3)} to {number(one.high, 3)}",
            one.of_records,
        )
        for one in answers
    ]
    return _bands_plot(title, description, bands)


@dataclass(frozen=True)
class _Band:
    """One line of a plot of answers: its name, the band, and what it says in words."""

    name: str
    low: float
    value: float
    high: float
    words: str
    of_records: float | None = None


def _bands_plot(title: str, description: str, bands: Sequence[_Band]) -> Markup:
    left, right, step = 330.0, 800.0, 20.0
    height = step * len(bands) + 30
    reach = nice(max(max(abs(one.low), abs(one.high), abs(one.value)) for one in bands))
    start = -reach if min(min(one.low, one.value) for one in bands) < 0 else 0.0

    def x(value: float) -> float:
        return left + (right - left) * (value - start) / (reach - start)

    parts = []
    for tick in range(5):
        value = start + (reach - start) * tick / 4
        parts.append(line(x(value), 4, x(value), height - 22, "grid"))
        parts.append(label(x(value), height - 8, number(value, 3), "middle", "dim"))
    for index, one in enumerate(bands):
        upper = 6 + index * step
        parts.append(label(left - 8, upper + 11, short(one.name, 52), "end"))
        parts.append(rect(x(one.low), upper + 3, max(x(one.high) - x(one.low), 0.8), 8, "band"))
        parts.append(line(x(one.value), upper, x(one.value), upper + 14, "measured"))
        if one.of_records is not None:
            parts.append(rect(x(one.of_records) - 2.5, upper + 4.5, 5, 5, "now"))
        parts.append(label(right + 8, upper + 11, one.words, "start", "dim"))
    return svg(960, height, title, description, parts)


def budget_plot(account: Account) -> Markup:
    """The account's epsilon: spent before, spent by this release, left; or spent together."""
    if account.composed is None:
        held = Fraction(0) if account.reserved is None else account.reserved.epsilon
        parts_of = [
            ("earlier releases", account.previously_spent.epsilon, "spent"),
            ("this release", account.this_release.epsilon, "now"),
            ("reserved for others", held, "held"),
            ("remaining", account.remaining.epsilon, "left"),
        ]
    else:
        parts_of = [
            ("all releases so far", account.composed, "spent"),
            ("below the cap", account.cap.epsilon - account.composed, "left"),
        ]
    whole = max(account.cap.epsilon, sum(value for _, value, _ in parts_of))
    left, right = 4.0, 956.0
    at = left
    parts = []
    for name, value, style in parts_of:
        if not value:
            continue
        width = (right - left) * float(value / whole)
        parts.append(
            f"<g>{titled(f'{name}: epsilon {exact(value)}')}{rect(at, 4, width, 28, style)}</g>"
        )
        at += width
    description = ", ".join(f"{name} {exact(value)}" for name, value, _ in parts_of if value)
    return svg(
        960,
        36,
        "Privacy budget of the account",
        f"Epsilon, of {exact(account.cap.epsilon)} authorised: {description}.",
        parts,
    )


def curve_plot(curve: Curve) -> Markup:
    """A series over the generator's steps; on a logarithmic scale where it spans decades."""
    left, right, top, base = 92.0, 948.0, 10.0, 170.0
    values = curve.values
    lowest, highest = min(values), max(values)
    logarithmic = lowest > 0 and highest > 30 * lowest

    def scaled(value: float) -> float:
        return math.log10(value) if logarithmic else value

    floor, ceiling = scaled(lowest), scaled(highest)
    room = ceiling - floor or 1.0

    def y(value: float) -> float:
        return base - (base - top) * (scaled(value) - floor) / room

    stride = math.ceil(len(values) / _MOST_POINTS)
    shown = sorted({*range(0, len(values), stride), len(values) - 1})
    points = " ".join(
        f"{left + (right - left) * i / (len(values) - 1 or 1):.1f},{y(values[i]):.1f}"
        for i in shown
    )
    middle = 10 ** ((floor + ceiling) / 2) if logarithmic else (lowest + highest) / 2
    parts = [grid(left, right, y(v)) for v in (lowest, middle, highest)]
    parts += [label(left - 6, y(v) + 3.5, number(v, 3), "end") for v in (lowest, middle, highest)]
    parts.append(f'<polyline points="{points}" class="curve"/>')
    parts.append(label(left, base + 16, "step 1", "start"))
    parts.append(label(right, base + 16, f"step {len(values):,}", "end"))
    if logarithmic:
        parts.append(label((left + right) / 2, base + 16, "logarithmic scale", "middle", "dim"))
    description = (
        f"{len(values):,} steps, from {number(values[0], 3)} at the first to "
        f"{number(values[-1], 3)} at the last."
    )
    return svg(960, 192, f"{curve.name} over the generator's steps", description, parts)


def review_plot(review: ColumnReview) -> Markup:
    """Private and synthetic shares of a column side by side. Internal."""
    left, right, top, base = 40.0, 312.0, 8.0, 142.0
    bars = _review_bars(review)
    step = (right - left) / len(bars)
    peak = nice(max(max(private, synthetic) for _, private, synthetic in bars))

    def y(share: float) -> float:
        return base - (base - top) * share / peak

    parts = [grid(left, right, y(peak)), grid(left, right, y(peak / 2)), grid(left, right, base)]
    parts += [label(left - 4, y(s) + 3.5, percent(s, 3), "end") for s in (peak, peak / 2)]
    half = step * 0.42
    for index, (name, private, synthetic) in enumerate(bars):
        start = left + index * step + step * 0.08
        tip = titled(f"{name}: private {percent(private, 3)}, synthetic {percent(synthetic, 3)}")
        boxes = rect(start, y(private), half, base - y(private), "private")
        boxes += rect(start + half, y(synthetic), half, base - y(synthetic), "bar")
        parts.append(f"<g>{tip}{boxes}</g>")
    first, last = bars[0][0], bars[-1][0]
    if review.is_ordered:
        first, last = first.split(" to ")[0], last.split(" to ")[-1]
    parts.append(label(left, base + 14, short(first, 20), "start"))
    if len(bars) > 1:
        parts.append(label(right, base + 14, short(last, 20), "end"))
    description = f"Private against synthetic shares in {len(review.cells)} cells."
    return svg(320, 168, f"Internal: {review.column}", description, parts)


def _review_bars(review: ColumnReview) -> list[tuple[str, float, float]]:
    """Name, private and synthetic share of every bar; few enough to be seen."""
    rows = list(zip(review.cells, review.private, review.synthetic, strict=True))
    if review.is_ordered:
        values = [row for row in rows if row[0] != "null"]
        size = _cells_a_bar(len(values))
        groups = [values[start : start + size] for start in range(0, len(values), size)]
        groups += [[row] for row in rows[len(values) :]]
    elif len(rows) > _MOST_BARS:
        rows.sort(key=lambda row: -row[1])
        groups = [[row] for row in rows[: _MOST_BARS - 1]]
        name = f"{len(rows) - len(groups)} further"
        rest = rows[_MOST_BARS - 1 :]
        groups.append([(name, sum(r[1] for r in rest), sum(r[2] for r in rest))])
    else:
        groups = [[row] for row in rows]
    return [
        (_span([r[0] for r in group]), sum(r[1] for r in group), sum(r[2] for r in group))
        for group in groups
    ]


def _stack(
    bound: CertifiedBound, terms: Sequence[str], x: Callable[[float], float], upper: float
) -> Iterable[str]:
    total = sum(bound.terms.values())
    # A bound capped at the diameter is smaller than its terms: they shrink in proportion.
    shrink = bound.value / total if total > bound.value > 0 else 1.0
    at = 0.0
    for index, name in enumerate(terms):
        width = bound.terms.get(name, 0.0) * shrink
        box = rect(x(at), upper, x(at + width) - x(at), 14, term_class(index))
        title = f"{bound.target}: {name} {percent(bound.terms.get(name, 0.0), up=True)}"
        yield f"<g>{titled(title)}{box}</g>"
        at += width
    if at < bound.value:
        yield rect(x(at), upper, x(bound.value) - x(at), 14, "spent")


def _bands(marginal: Marginal) -> list[tuple[float, float]]:
    return list(zip(marginal.measured, marginal.half_width, strict=True))
