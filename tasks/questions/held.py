"""How often intervals from replicate weights held, by the kind of question.

The shares are of nominal 95 % intervals for the noise in releases by `privpgd` at epsilon 0.5, 1
and 3 of three tables on which no setting was chosen, 7 to 16 releases each, as an independent judge
found them (docs/replicates.md). Of other kinds nobody has measured it, and nothing is said.
"""

from hallmark.schemas.question import Question

_COUNTS = {1: "92 to 99 %", 2: "92 to 99 %", 3: "92 to 99 %", 4: "82 to 98 %"}
_MEANS = {1: "82 to 91 %", 2: "91 to 96 %", 3: "86 to 94 %"}
_QUANTILES = {1: "82 to 95 %"}
_BY_COLUMNS = {"count": _COUNTS, "share": _COUNTS, "mean": _MEANS, "quantile": _QUANTILES}


def held(question: Question) -> str:
    """A clause that says how often nominal 95 % intervals of the question's kind held."""
    by_columns = {} if question.compared is not None else _BY_COLUMNS.get(question.first.kind, {})
    share = by_columns.get(len(question.columns))
    if share is None:
        return "how often intervals of this kind hold was not measured"
    small = ", of numbers below 10 in 74 to 91 %" if by_columns is _COUNTS else ""
    return f"in trials on other tables, those of 95 % held in {share} of cases{small}"
