"""The board's page: what a release is for, what it risks and costs, and who must sign, on two
screens or two sheets of paper.

All of it is public, and known before a private byte is read. A page of a plan: what a release came
to is in its audit report.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from markupsafe import Markup

from hallmark.schemas.exact import decimal
from hallmark.schemas.visible import visible
from hallmark.tasks.forecast.frontier import frontier_plot
from hallmark.tasks.forecast.solution import Solution
from hallmark.tasks.installation.profile import approvals_of, profile
from hallmark.tasks.ledger.accounts import Balance
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.rendering.deployments import DEPLOYMENTS
from hallmark.tasks.rendering.templating import templates
from hallmark.tasks.rendering.wording import number, percent

MOST_NEEDS = 8  # that the page has room for
_GATES = {"plan": "before the private data are asked", "disclosure": "before publication"}


def board_page(
    prepared: Prepared, summary: Mapping[str, Any], found: Balance, solution: Solution | None
) -> str:
    """An HTML document that stands alone.

    Args:
        summary: as made by `summary.plan_summary`.
        solution: of the needs in `summary`; None where there are none.
    """
    spec, asked = prepared.spec, approvals_of(prepared.spec)
    least = {} if solution is None else _least(solution)
    needs = [
        one | {"least": least.get((one["question"], one["within"], one["confidence"]))}
        for one in summary["needs"]
    ]
    needs.sort(key=lambda one: (one["least"] is not None, -(one["least"] or 0)))
    picture = "" if solution is None else frontier_plot(solution, spec.privacy.epsilon)
    roles = {_GATES[gate]: getattr(asked, gate) for gate in _GATES}
    attacks = summary["attacks"]
    environment = templates(autoescape=True)
    environment.filters["visible"] = visible
    return environment.get_template("board.html.j2").render(
        spec=spec,
        curator=profile().agency.name or "",
        plan=summary,
        claim=f"epsilon {decimal(spec.privacy.epsilon)}"
        + (f", delta {decimal(spec.privacy.delta)}" if spec.privacy.delta else ""),
        left=found.words,
        refusal=found.refusal,
        needs=needs[:MOST_NEEDS],
        depending=sum(one["outlook"] == "depends" for one in needs),
        more=max(0, len(needs) - MOST_NEEDS),
        solution=solution,
        picture=Markup(picture),
        bars=(
            ("a coin", 0.5, "50 %"),
            ("one unit", attacks["best_guess"], percent(attacks["best_guess"], up=True)),
            ("four units", attacks["best_guess_of_four"],
             percent(attacks["best_guess_of_four"], up=True)),
        ),
        of_ten=number(1000 * attacks["of_one_percent"], 3, up=True),
        roles=roles,
        deployments=DEPLOYMENTS,
        decimal=decimal,
    )  # fmt: skip


def _least(solution: Solution) -> dict[tuple[str, float, float], Fraction | None]:
    """The least epsilon by need."""
    return {
        (told.question, told.within, told.confidence): epsilon
        for epsilon, told in solution.frontier
    }
