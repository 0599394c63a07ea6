"""The frontier of epsilon against needs, as a picture that stands alone: from which epsilon on each
need is met, so that a board sees which needs it gives up for which privacy."""

from collections.abc import Iterator
from fractions import Fraction
from html import escape
from math import ceil, floor, log

from hallmark.schemas.exact import decimal
from hallmark.tasks.forecast.least_epsilon import MOST
from hallmark.tasks.forecast.needs import NeedForecast
from hallmark.tasks.forecast.solution import Solution
from hallmark.tasks.rendering.drawing import label, line, rect, short, titled

_WIDTH, _LEFT, _RIGHT = 360.0, 12.0, 348.0
_ROW, _TOP, _BAR = 36.0, 46.0, 10.0
_NUMBER = 36.0  # width of an epsilon
_LETTERS = 58  # of a line
_TICKS = (1, 2, 5)  # of each power of ten
_STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#1c1f24}.head{font-size:14px;font-weight:700}"
    ".dim{fill:#54595f}.inside{fill:#fff}.never{fill:#a3161c}.base{fill:#e3e7ec}.met{fill:#14508c}"
    ".assumed{fill:#5b80a8}.grid{stroke:#c9ced4}.own{stroke:#1c1f24;stroke-dasharray:4 3}"
)


def frontier_plot(solution: Solution, own: Fraction) -> str:
    """An SVG document; `own` is the epsilon of the spec."""
    shown = [float(own), *(float(one) for one, _ in solution.frontier if one is not None)]
    low, high = log(min(shown) / 2), log(max(shown) * 2)
    base = _TOP + _ROW * len(solution.frontier)

    def x(epsilon: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * (log(epsilon) - low) / (high - low)

    parts = [label(_LEFT, 20, "From which epsilon on needs are met", "start", "head")]
    for tick in _ticks(low, high):
        parts.append(line(x(tick), _TOP - 10, x(tick), base, "grid"))
        parts.append(label(x(tick), base + 14, f"{tick:g}", "middle", "dim"))
    parts.append(line(x(float(own)), _TOP - 10, x(float(own)), base, "own"))
    parts.append(label(x(float(own)), _TOP - 13, f"spec {decimal(own)}", "middle", "dim"))
    for number, (epsilon, told) in enumerate(solution.frontier):
        top = _TOP + _ROW * number
        parts.append(label(_LEFT, top + 8, short(_need(told), _LETTERS), "start"))
        if epsilon is None:
            never = f"no epsilon up to {MOST} meets it"
            parts.append(label(_LEFT, top + 22, never, "start", "never"))
            continue
        start, bar = x(float(epsilon)), top + 13
        style = "met" if told.outlook == "met" else "assumed"
        parts.append(rect(_LEFT, bar, _RIGHT - _LEFT, _BAR, "base"))
        parts.append(f"<g>{titled(told.words)}{rect(start, bar, _RIGHT - start, _BAR, style)}</g>")
        is_inside = start < _LEFT + _NUMBER
        at, anchor, colour = (start + 3, "start", "inside") if is_inside else (start - 3, "end", "")
        parts.append(label(at, bar + 9, decimal(epsilon), anchor, colour))
    text = " ".join(in_sentences(solution))
    parts += [
        label(
            _LEFT,
            base + 32,
            "epsilon; dark where it is met whatever the answers are,",
            "start",
            "dim",
        ),
        label(
            _LEFT, base + 46, "lighter where it rests on what is stated or assumed", "start", "dim"
        ),
    ]
    height = base + 56
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {height:g}" '
        f'width="{_WIDTH:g}" height="{height:g}" role="img" aria-label="{escape(text)}">'
        f"<title>From which epsilon on needs are met</title><desc>{escape(text)}</desc>"
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>'
        f"{''.join(parts)}</svg>\n"
    )


def in_sentences(solution: Solution) -> Iterator[str]:
    """What the picture shows, a sentence a need, for those who do not see it."""
    for epsilon, told in solution.frontier:
        if epsilon is None:
            yield f"{_need(told)}: no epsilon up to {MOST} meets it."
        else:
            sure = "" if told.outlook == "met" else ", if answers and groups are as assumed"
            yield f"{_need(told)}: met from epsilon {decimal(epsilon)} on{sure}."


def _need(told: NeedForecast) -> str:
    return f"{told.question} within {told.within:g}"


def _ticks(low: float, high: float) -> Iterator[float]:
    """Round epsilons between two logarithms."""
    for power in range(floor(low / log(10)), ceil(high / log(10)) + 1):
        for digit in _TICKS:
            if low <= log(tick := digit * 10.0**power) <= high:
                yield tick
