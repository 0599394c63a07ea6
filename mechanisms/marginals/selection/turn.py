"""One round of a selection: the marginal that a model fits worst is chosen, and measured."""

from collections.abc import Mapping
from fractions import Fraction

from hallmark.mechanisms.domain.cliques import Clique, cells
from hallmark.mechanisms.marginals.evidence import Evidence
from hallmark.mechanisms.marginals.generators.generator import Model
from hallmark.mechanisms.marginals.selection.design import Answer, Asked
from hallmark.mechanisms.marginals.selection.misfit import misfit, noise_misfit
from hallmark.mechanisms.privacy.calls import MarginalRounds
from hallmark.mechanisms.privacy.events import ExponentialMechanism


def choice_call(number: int) -> str:
    """The curator's call for the choice of round `number`."""
    return f"round-{number}-choice"


def take_turn(
    curator: MarginalRounds,
    number: int,
    candidates: Mapping[Clique, int],
    model: Model,
    evidence: Evidence,
    *,
    event: ExponentialMechanism,
    sigma2: Fraction,
) -> Answer:
    """The answer of round `number`, whose choice is charged as `event`.

    A candidate's score is its weight times its misfit, less the misfit of noise alone.

    Args:
        candidates: with their weights.
        evidence: what the model was fitted to; says how many records there are.
        sigma2: of the chosen marginal, records^2.
    """
    shape = evidence.domain.shape
    scores = [
        misfit(
            clique,
            evidence.total * model.marginal(clique),
            shape,
            weight=weight,
            penalty=noise_misfit(sigma2, cells(clique, shape)),
        )
        for clique, weight in candidates.items()
    ]
    chosen = list(candidates)[curator.choose(choice_call(number), scores, event)]
    asked = Asked(chosen, sigma2, adaptive=event.adaptive)
    call = f"round-{number}-marginal"
    (table,) = curator.histograms(call, [asked.query(shape)])
    return Answer(asked, table, call)
