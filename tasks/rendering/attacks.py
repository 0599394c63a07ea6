"""What attacks on a release can reach at most, in numbers that people compare."""

from collections.abc import Iterator

from markupsafe import Markup

from hallmark.mechanisms.privacy.rounding import float_above
from hallmark.mechanisms.privacy.trade_off import TradeOff
from hallmark.schemas.documents.audit_attacks import AttackAudit
from hallmark.schemas.documents.audit_privacy import Guarantee
from hallmark.tasks.rendering.drawing import grid, label, line, rect, svg
from hallmark.tasks.rendering.wording import number, percent

HOUSEHOLD = 4
_CHANCES = (0.001, 0.01, 0.1, 0.5)
_POINTS = 100  # of a curve


def attacks_on(guarantee: Guarantee) -> TradeOff:
    """All pairs that hold of a release; of one by an earlier version, what it has of them."""
    claim = guarantee.claim
    claimed = float_above(claim.epsilon), float_above(claim.delta)
    return TradeOff((*guarantee.curve, claimed))


def chances(guarantee: Guarantee) -> Iterator[tuple[str, str, str]]:
    """Of 1,000 guesses: right without a unit's data; with them, at most; with those of four."""
    attacks = attacks_on(guarantee)
    for chance in _CHANCES:
        yield (
            number(1000 * chance, 4),
            number(1000 * attacks.power(chance), 4, up=True),
            number(1000 * attacks.power(chance, HOUSEHOLD), 4, up=True),
        )


def tried_plot(audit: AttackAudit) -> Markup:
    """How often attacks were surely right, beside what is allowed, by units that tables differ in;
    from a coin's half to always."""
    left, right, row, top = 110.0, 560.0, 34.0, 14.0
    base = top + row * len(audit.attacks)

    def x(share: float) -> float:
        return left + (right - left) * (max(share, 0.5) - 0.5) * 2

    parts = [line(x(share), top, x(share), base, "grid") for share in (0.5, 0.75, 1)]
    parts += [label(x(share), base + 14, percent(share), "middle") for share in (0.5, 0.75, 1)]
    for position, one in enumerate(audit.attacks):
        y = top + row * position
        units = "1 unit" if one.units == 1 else f"{one.units} units"
        allowed, least = percent(one.allowed, up=True), percent(one.least)
        parts.append(label(left - 8, y + 17, units, "end"))
        parts.append(rect(x(0.5), y + 4, x(one.allowed) - x(0.5), 18, "band"))
        parts.append(rect(x(0.5), y + 9, x(one.least) - x(0.5), 8, "now"))
        told = f"{least} surely, {allowed} allowed"
        at, anchor = (x(one.allowed) + 6, "start") if one.allowed < 0.7 else (x(0.5) + 4, "start")
        parts.append(label(at, y + 17 if one.allowed < 0.7 else y + 32, told, anchor, "dim"))
    description = " ".join(
        f"Tables that differ in {one.units}: right in at least {percent(one.least)} of cases, "
        f"allowed at most {percent(one.allowed, up=True)}."
        for one in audit.attacks
    )
    return svg(620, base + 24, "Attacks that were run", description, parts)


def attacks_plot(guarantee: Guarantee) -> Markup:
    """The trade-off curve: how often at most an attack is right, by how often it is without."""
    attacks = attacks_on(guarantee)
    left, right, top, base = 60.0, 300.0, 10.0, 250.0

    def x(chance: float) -> float:
        return left + (right - left) * chance

    def y(chance: float) -> float:
        return base - (base - top) * chance

    def drawn(units: int, style: str) -> str:
        steps = (step / _POINTS for step in range(_POINTS + 1))
        points = " ".join(f"{x(c):.1f},{y(attacks.power(c, units)):.1f}" for c in steps)
        return f'<polyline points="{points}" class="{style}"/>'

    parts = [grid(left, right, y(share)) for share in (0, 0.5, 1)]
    parts += [label(left - 6, y(share) + 3.5, percent(share), "end") for share in (0, 0.5, 1)]
    parts += [label(x(share), base + 16, percent(share), "middle") for share in (0, 0.5, 1)]
    parts.append(line(x(0), y(0), x(1), y(1), "axis"))
    parts += [drawn(HOUSEHOLD, "curve second"), drawn(1, "curve")]
    parts.append(label((left + right) / 2, base + 34, "right without your data", "middle", "dim"))
    least, most = attacks.best_guess(), attacks.best_guess(HOUSEHOLD)
    description = (
        f"The best guess between two tables that differ in one unit is right in at most "
        f"{percent(least, 3, up=True)} of cases, in four units in {percent(most, 3, up=True)}; a "
        "coin in 50 %."
    )
    return svg(320, 290, "What attacks can reach", description, parts)
