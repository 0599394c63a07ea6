"""The parameters of every mechanism: what each is for, what it may be, and what it is by default.

Forms offer them, and specs are checked against them before a plan is made. Plain data, as the
catalogue: only the standard library is imported. `tests/mechanisms/test_parameters.py` holds the
mechanisms to it: each takes these parameters, and no other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import isfinite
from typing import Any


class Kind(Enum):
    """What a parameter may be, with the words for it."""

    WHOLE = "a whole number"
    NUMBER = "a positive number"
    SHARE = "a share from 0 to below 1"
    PART = "a share above 0 and below 1"
    FLAG = "true or false"
    WORD = "one of some words"
    COLUMN = "the name of a column"
    OTHER = "a list or a section, which the text says"


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter of a mechanism.

    Attributes:
        name: its key, or that of its section and its own, such as selection.method.
        sentence: what it is for.
        default: what it is where nothing is said, in words.
        words: those that it may be; of a number, in place of one.
        least: of whole numbers.
    """

    name: str
    kind: Kind
    sentence: str
    default: str
    words: tuple[str, ...] = ()
    least: int = 1

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that lead to it, within the section of the mechanism."""
        return tuple(self.name.split("."))

    def wrong(self, value: Any) -> str:
        """What is wrong with a value, and the mend; empty if nothing is."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        match self.kind:
            case _ if isinstance(value, str) and value in self.words:
                return ""
            case Kind.WORD:
                return f"is {_shown(value)}; choose {_or(self.words)}"
            case Kind.WHOLE if not isinstance(value, int) or not is_number or value < self.least:
                other = "".join(f"{word}, or " for word in self.words)
                return f"is {_shown(value)}; give {other}a whole number of at least {self.least}"
            case Kind.NUMBER if not is_number or not isfinite(value) or value <= 0:
                return f"is {_shown(value)}; give a positive number"
            case Kind.SHARE if not _is_share(value):
                return f"is {_shown(value)}; give a number from 0 to below 1, such as 0.1"
            case Kind.PART if not _is_share(value) or not Fraction(str(value)):
                return f"is {_shown(value)}; give a number between 0 and 1, such as 0.1"
            case Kind.FLAG if not isinstance(value, bool):
                return f"is {_shown(value)}; give true or false"
            case Kind.COLUMN if not isinstance(value, str):
                return f"is {_shown(value)}; give the name of a column"
        return ""


def problems(
    mechanism: str, known: Sequence[Parameter], given: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """What is wrong with the parameters of a mechanism that a spec gives, each with its keys.

    Whether settings go together, and with the columns, is left to the plan.
    """
    tops = list(dict.fromkeys(one.keys[0] for one in known))
    for name in given:
        if name not in tops:
            yield (name,), f"is no parameter of {mechanism}; it knows {', '.join(tops) or 'none'}"
    for one in known:
        found = _at(given, one.keys)
        if found is not None and (what := one.wrong(found)):
            yield one.keys, what


def _at(given: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    """What stands at some keys; a section may be its method alone."""
    found: Any = given.get(keys[0])
    if len(keys) > 1 and not isinstance(found, Mapping):
        return found if keys[1] == "method" else None
    return found.get(keys[1]) if len(keys) > 1 else found


def _is_share(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and 0 <= Fraction(str(value)) < 1
    except (ValueError, ZeroDivisionError):
        return False


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str | int | float) else "a list or a section"


def _or(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if words[1:] else words[0]


def _word(name: str, words: str, sentence: str, default: str = "") -> Parameter:
    several = tuple(words.split())
    return Parameter(
        name=name,
        kind=Kind.WORD,
        sentence=sentence,
        default=default or several[0],
        words=several,
    )


def _whole(
    name: str, sentence: str, default: str, *, least: int = 1, auto: bool = False
) -> Parameter:
    return Parameter(
        name=name,
        kind=Kind.WHOLE,
        sentence=sentence,
        default=default,
        words=("auto",) * auto,
        least=least,
    )


def _of_kind(kind: Kind, name: str, sentence: str, default: str) -> Parameter:
    return Parameter(name=name, kind=kind, sentence=sentence, default=default)


def _marginals(selection: str, generator: str) -> tuple[Parameter, ...]:
    """Those of a mechanism that is a selection of marginals with a generator of records."""
    return (
        _word(
            "selection.method",
            "all strongest mst aim mwem",
            "which marginals are measured: all; all columns and the strongest pairs; a tree of "
            "pairs; or what the model misses most, in rounds (aim, mwem)",
            selection,
        ),
        _whole(
            "selection.ways",
            "how many columns a marginal has; of all, aim and mwem",
            "2, or what the mechanism finds best",
        ),
        _of_kind(
            Kind.COLUMN,
            "selection.target",
            "the column that users will predict, whose pairs are measured more precisely; of all",
            "none",
        ),
        _of_kind(
            Kind.SHARE,
            "selection.coarse",
            "the share of the budget for large marginals in groups of cells; of all",
            "0.15 for privpgd, else 0",
        ),
        _of_kind(
            Kind.SHARE,
            "selection.emphasis",
            "how much more of the budget a marginal of more cells has; of all",
            "what the mechanism finds best",
        ),
        _whole(
            "selection.rounds",
            "how many rounds choose pairs or marginals; of strongest and mwem",
            "3; for mwem as many as there are columns",
        ),
        _whole("selection.rounds_cap", "the most rounds; of aim", "no limit but aim's own"),
        _of_kind(
            Kind.PART,
            "selection.one_way_share",
            "the share of the budget for single columns; of strongest and mwem",
            "what the method finds best",
        ),
        _of_kind(
            Kind.OTHER,
            "selection.workload",
            "marginals that are listed, with weights; of all, aim and mwem",
            "all of so many ways",
        ),
        _of_kind(
            Kind.OTHER,
            "selection.priorities",
            "columns that matter most, which get more of the budget; of all",
            "none",
        ),
        _word(
            "generator.method",
            "noise-aware graphical-model particles private-gsd",
            "how records are made of the noisy marginals; it costs no budget",
            generator,
        ),
    )


_CELLS = _whole(
    "cells", "how many cells each column has; auto finds the best by forecast", "auto", auto=True
)
_DEPTH = _whole(
    "depth",
    "how many times the space is halved; auto finds the best by forecast",
    "auto",
    least=0,
    auto=True,
)
_CERTIFICATE = _of_kind(
    Kind.SHARE, "certificate_share", "the share of epsilon for the certificate", "1/10"
)
_ROUNDS = _whole("rounds", "how many rounds there are", "by the budget and the number of records")
_SAMPLES = _whole("samples", "how many queries, or records, each round draws", "by the budget")
_CLIQUEWISE = _of_kind(
    Kind.FLAG, "cliquewise", "whether it runs inside each clique of the workload", "false"
)
_ALPHA = _of_kind(
    Kind.NUMBER, "alpha", "how far a step goes; the papers' smoothing", "by the number of rounds"
)
_PAYOFFS = (
    _ROUNDS,
    _SAMPLES,
    _of_kind(Kind.NUMBER, "scale", "the scale of the random payoffs", "as measured to be best"),
    _CERTIFICATE,
)

PARAMETERS: Mapping[str, tuple[Parameter, ...]] = {
    "privpgd": _marginals("all, or strongest where noise would hide most pairs", "noise-aware"),
    "aim": _marginals("aim", "graphical-model"),
    "mst": _marginals("mst", "graphical-model"),
    "mwem": _marginals("mwem", "particles"),
    "private-gsd": _marginals("all", "private-gsd"),
    "privpgd-paper": _marginals("all", "particles"),
    "pmm": (
        _DEPTH,
        _word("consistency", "uniform proportional", "how noisy counts are made to add up"),
    ),
    "pmm-h": (_DEPTH,),
    "psmm": (_CELLS,),
    "superregular": (
        _CELLS,
        _word("path", "auto snake hilbert short", "the path through the points"),
        _word("mode", "tight paper", "the noise: as little as is proved, or as printed"),
    ),
    "sparse-lipschitz": (
        _whole("marginals", "how many columns are measured together", "2"),
        _of_kind(Kind.OTHER, "blocks", "the columns that are measured together, listed", "none"),
        _CELLS,
        _word(
            "noise",
            "auto identity haar two-level gaussian superregular paper",
            "how noise is spread over a block; auto takes the best by forecast",
        ),
        _word("loss", "U_T L_tree L_T", "the distance by which weights are fitted"),
        _word("support", "auto public grid", "where records may be: public ones, or a grid"),
        _whole("support_points", "how many points records may be at", "4000"),
        _of_kind(
            Kind.FLAG,
            "measure_discretisation",
            "whether a share of the budget measures how far records are from their cells",
            "true",
        ),
    ),
    "adaptive-support": (
        _of_kind(Kind.PART, "selection_share", "the share of epsilon for choosing the grid", "1/4"),
    ),
    "linear-queries": (
        _word("strategy", "auto histogram marginals", "which tables are measured"),
        _word("noise", "auto gaussian laplace", "the noise; auto takes the best by forecast"),
        _word(
            "estimator",
            "auto likelihood workload projection graphical",
            "how a distribution is fitted to the noisy tables",
        ),
    ),
    "dpfw": (
        _ROUNDS,
        _ALPHA,
        _word("iterate", "tail-average mean last uniform", "which distribution is released"),
        _word("constants", "ours paper", "the constants of steps and rounds"),
        _word("noise", "ours paper", "the noise of choices"),
        _word("model", "auto cells random-field", "how the distribution is held"),
        _whole("max_model_bytes", "the most bytes of a random field", "4194304"),
        _CLIQUEWISE,
        _CERTIFICATE,
    ),
    "dpam": (
        _word("variant", "corrected printed", "the algorithm, corrected or as printed"),
        _word("noise_constant", "calibrated paper", "the noise of the histogram"),
        _whole("iterations", "how many steps it takes", "by the paper's rule"),
        _ALPHA,
        _CLIQUEWISE,
    ),
    "mwem-queries": (_ROUNDS, _CERTIFICATE),
    "dual-query": (_ROUNDS, _SAMPLES, _CERTIFICATE),
    "dqrs": (_ROUNDS, _SAMPLES, _CERTIFICATE),
    "fem": _PAYOFFS,
    "sep-fem": _PAYOFFS,
}
"""By mechanism, in the order of a form; a mechanism that is not here has none."""
