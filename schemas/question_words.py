"""What people type who have not read how questions are written, and what to type instead.

A text that is no question is rewritten word by word. If that makes a question, it is suggested; a
statistic that questions do not have is told where it can be found.
"""

import re
from collections.abc import Callable
from functools import partial

_QUOTED = r"""(?P<kept>"[^"]*"|'[^']*'|`[^`]*`)"""
_WORDS = re.compile(
    rf"{_QUOTED}|\b(?:count|share|sum|mean|median|quantile|of|where|by|minus|over|and|or|true|false)\b",
    re.IGNORECASE,
)
_REWRITTEN = tuple(
    (re.compile(f"{_QUOTED}|{pattern}", re.IGNORECASE), new)
    for pattern, new in (
        (r"^\s*(?:what (?:is|are|was)|show me|show|give me|give)\s+|\?|\bthe\b\s*", ""),
        (r"(?<=\w)\s*\(([^()]*)\)", r" of \2"),  # mean(income)
        (r"\b(?:average|avg)\b", "mean"),
        (r"\btotal\b", "sum"),
        (r"\b(?:percentage|percent|proportion|fraction|probability)\b", "share"),
        (r"\b(?:number|count|how many)(?: of)? (?:records|rows|persons|people)\b", "count"),
        (r"\b(?:number|how many)\b", "count"),
        (r"\b(?:grouped by|group by|split by|per|for each)\b", "by"),
        (r"\b(?:if|when|for|among|given)\b", "where"),
        (r"^(?:cross-?tab(?:ulation)?|table|tabulate|histogram|distribution|frequenc(?:y|ies))\b",
         "count by"),
        (r"\b(?:quantile|percentile) (\d\d)\s*%?(?= of\b)", r"quantile 0.\2"),
        (r"\b(?:p(\d\d)|(\d\d)(?:st|nd|rd|th)? percentile)(?= of\b)", r"quantile 0.\2\3"),
        (r"\s-\s", " minus "),
        (r"\s/\s", " over "),
        (r"^(sum|mean|median|share) (?!of\b)(?:where )?", r"\2 of "),
        (r"^count by of\b", "count by"),
        (r"^count (?:of |where )?(?!where|by|minus|over)(?=.*[=<>])", "count where "),
        (r"^count (?:of )?(?!where|by|minus|over)", "count by "),
        (r"(?<=\s)by (.*?) where (.*)$", r"where \3 by \2"),
        (r"^(.*?) where (.*?) (minus|over) where (.*)$", r"\2 where \3 \4 \2 where \5"),
        (r"==", "="),
        (r"&&?", "and"),
    )
)  # fmt: skip
_BY = re.compile(r"(?<=\bby )[^=<>]*$")
_BETWEEN = re.compile(r"\s*(?:,|\bx\b|\bby\b|\band\b|\bwith\b|\*)\s*")

_NO_SINGLE = (
    "noise hides single records, so no least or greatest value can be told; ask for a quantile "
    "near the end, such as quantile 0.01 of COLUMN or quantile 0.99 of COLUMN"
)
_FROM_RECORDS = (
    "compute it from the records, with an error from the release's replicate weights, where it has "
    "some: in Python, hallmark.open(RELEASE).with_error(...)"
)
_ELSEWHERE = {
    r"corr(?:elat(?:ion|ions|ed))?\b|cor\b|pearson": "correlations, with intervals, are told in "
    "Python: hallmark.open(RELEASE).correlations()",
    r"min(?:imum)?\b|max(?:imum)?\b|range\b|smallest\b|largest\b": _NO_SINGLE,
    r"iqr\b|interquartile\b|quartiles?\b|deciles?\b|percentiles?\b|quantiles? of\b": "name one "
    "quantile at a time, such as quantile 0.25 of COLUMN and quantile 0.75 of COLUMN",
    r"mode\b": "write count by COLUMN, and look for the largest count",
    r"sd\b|std\w*|stddev|standard\b|var(?:iance)?\b|skew\w*|kurtosis": _FROM_RECORDS,
    r"covariance\b|regress\w*|t-?test\b|chi\w*|odds\b|gini\b|lm\b|model\b": _FROM_RECORDS,
    r"difference\b|ratio\b|compare\b": "compare two statistics with minus or over, such as mean of "
    "COLUMN where CONDITION minus mean of COLUMN where CONDITION",
    r"missings?\b|nulls?\b|nas?\b": "write count where COLUMN is null",
    r"how many\b|number\b": "write count, or count where CONDITION",
    r"help\b|columns\b|variables\b|\?": "docs/answers.md has the questions, and the release's "
    "README and data dictionary have its columns",
}


def advice(text: str, is_question: Callable[[str], bool]) -> str:
    """What to type instead of `text`, which is no question; empty where nobody can tell.

    Args:
        is_question: whether a text can be read, which every suggestion can.
    """
    said = text.strip()
    rewritten = _rewritten(said)
    if rewritten != said and is_question(rewritten):
        scale = " (a share is a number from 0 to 1)" if re.match("percent", said, re.I) else ""
        return f"did you mean: {rewritten}{scale}"
    for words, where in _ELSEWHERE.items():
        if re.match(words, said, re.IGNORECASE):
            return where
    return ""


def _rewritten(text: str) -> str:
    text = _WORDS.sub(lambda found: found["kept"] or found[0].lower(), text)
    for pattern, new in _REWRITTEN:
        text = pattern.sub(partial(_replaced, new), text)
    text = _BY.sub(lambda found: ", ".join(_BETWEEN.split(found[0].strip())), text)
    return " ".join(text.split())


def _replaced(new: str, found: re.Match[str]) -> str:
    return found["kept"] or found.expand(new)
