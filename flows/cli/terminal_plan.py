"""How the command line shows a plan."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hallmark.flows.screen import line, table
from hallmark.schemas.exact import decimal
from hallmark.tasks.forecast.least_epsilon import MOST
from hallmark.tasks.forecast.time import TimeForecast
from hallmark.tasks.forecast.verdict import WORDS, in_words
from hallmark.tasks.rendering.wording import duration, percent

if TYPE_CHECKING:
    from hallmark.tasks.forecast.savings import Savings
    from hallmark.tasks.forecast.verdict import Alternative, Verdict

_WORKERS = 4  # for which a time is told, beside that of one core
_MOST_TOGETHER = 20  # marginals that are shown; all are in --json
_OUTLOOKS = {"depends": "yellow", "missed": "red", "no promise": "red"}
_STYLES = {"rough": "yellow", "useless": "red"}


def print_plan(summary: Mapping[str, Any]) -> None:
    """Print a plan, as made by `summary.plan_summary`, and what is `left` on its account."""
    privacy, forecast = summary["privacy"], summary["forecast"]
    line((summary["title"], "bold"), f" ({summary['release']})")
    line(f"mechanism  {summary['mechanism']}: {summary['source']}")
    line(f"protects   {privacy['unit']}, under {privacy['neighbours']}")
    low, high = privacy["proven_epsilon"]
    line(
        f"cost       epsilon {privacy['epsilon']}, delta {privacy['delta']} of account "
        f"{summary['account']}"
    )
    line(
        f"           proven between {low:.6g} and {high:.6g}; by other software: at most "
        f"{privacy['cross_check_epsilon']:.6g}"
    )
    attacks = summary["attacks"]
    line(
        f"attacks    the best is right in at most {percent(attacks['best_guess'], up=True)} of "
        f"cases about one unit, in {percent(attacks['best_guess_of_four'], up=True)} about four "
        "together; a coin in 50 %"
    )
    if summary.get("left"):
        line(f"account    has {summary['left']} left")
    line(f"settings   {'; '.join(_settings(summary['parameters']))}")
    table(
        ("measured", "entries", "noise", "std. deviation"),
        (
            (
                drawn["query"],
                str(drawn["cells"]),
                _short(f"{drawn['family']}, {drawn['parameter']}"),
                f"{drawn['standard_deviation']:.4g} {drawn['unit']}",
            )
            for drawn in summary["noise"]
        ),
        title="Noise",
    )
    _print_verdicts(summary["verdicts"])
    line("diameter   the largest distance between two values of a column, such as 99 years")
    line(
        f"forecast   {forecast['metric']}: {forecast['expected_error']:.4g} "
        f"({forecast['statement']})"
    )
    line(f"memory     {forecast['memory_bytes'] / 2**20:.0f} MiB at the peak")
    line(f"time       {_time(forecast['time'])}")
    print_precisions(summary["questions"])
    _print_needs(summary["needs"], "Needs")
    for total in summary["public_totals"]:
        line(f"total      {total['total']}, reproduced exactly; from {total['reference']}")
    for one in summary["lookups"]:
        line(f"lookup     {one['column']} of {one['of']}, at no budget; from {one['reference']}")
    for one in summary["recodes"]:
        line(f"recode     {one['column']}, by {one['rule']}")
    for warning in summary["warnings"]:
        line(("warning", "yellow"), f"    {warning}")
    line(("verdict", "bold"), f"    {summary['verdict']}")


def _time(told: Mapping[str, Mapping[str, float]] | None) -> str:
    if told is None:
        return "not forecast for this mechanism"
    time = TimeForecast(**told)
    largest = sorted({**time.shared, **time.alone}.items(), key=lambda one: -one[1])
    return (
        f"about {duration(time.on(1))} on one core, {duration(time.on(_WORKERS))} on {_WORKERS} "
        f"workers; most of it: {', '.join(name for name, _ in largest[:3])}"
    )


def print_precisions(questions: Sequence[Mapping[str, Any]]) -> None:
    """Print how precise the answers to questions will be, if there are any."""
    if questions:
        table(
            ("question", "95 % interval"),
            ([one["question"], _precision(one)] for one in questions),
            title="Answers, if records are spread evenly over all cells",
        )


def _precision(told: Mapping[str, Any]) -> str:
    if told["half_width"] is None:
        return f"none: {told['reason']}"
    return f"± {told['half_width']:.3g}"


def _print_needs(needs: Sequence[Mapping[str, Any]], title: str) -> None:
    if needs:
        table(
            ("need", "forecast", "stated by"),
            ([_need(one), _outlook(one), one["stated_by"]] for one in needs),
            title=title,
        )


def print_solution(solution: Mapping[str, Any]) -> None:
    """Print the least epsilon that meets all needs, as made by `Solution.to_json`."""
    frontier = solution["frontier"]
    reached = [one for one in frontier if one["epsilon"] is not None]
    if solution["epsilon"] is None:
        what = "all of them at once" if reached else "any need"
        line(("solution", "bold"), f"   no epsilon up to {MOST} meets {what}")
    else:
        least = decimal(Fraction(solution["epsilon"]))
        _print_needs(solution["needs"], f"Needs at epsilon {least}")
        table(
            ("epsilon", "needs met", "with this one"),
            (
                (decimal(Fraction(one["epsilon"])), f"{number} of {len(frontier)}", _need(one))
                for number, one in enumerate(reached, 1)
            ),
            title="Least epsilon by need",
        )
        line(
            ("solution", "bold"),
            f"   epsilon {least} is the least that meets {len(reached)} of {len(frontier)} needs; "
            f"{solution['asked_by']} asks for it",
        )
        assumed = sum(one["outlook"] in ("expected", "depends") for one in solution["needs"])
        if assumed:
            line(f"           {assumed} of them if answers and groups are as assumed")
    for one in frontier[len(reached) :]:
        line(("never met", "yellow"), f"  {_need(one)}: no epsilon up to {MOST} meets it")


def print_savings(saved: "Savings") -> None:
    """Print what changes of the spec would save."""
    if saved.refusal:
        line(("changes", "bold"), f"    none are compared: {saved.refusal}")
        return
    table(
        ("change", "least epsilon"),
        ((one.told, f"about {decimal(one.epsilon)}") for one in saved.each),
        title=f"Changes one by one, from epsilon {decimal(saved.epsilon)}",
    )
    if not saved.best:
        line(("changes", "bold"), "    none of them saves two percent of epsilon")
        return
    for number, one in enumerate(saved.best):
        line(("changes", "bold") if not number else "       ", f"    {one.told}")
    line(
        f"           meet the same needs with epsilon {decimal(saved.best[-1].epsilon)}: "
        f"{percent(saved.unneeded)} of {decimal(saved.epsilon)} pays for what no need asks for"
    )


def _need(told: Mapping[str, Any]) -> str:
    return f"{told['question']} within {told['within']:g} at {100 * told['confidence']:g} %"


def _outlook(told: Mapping[str, Any]) -> tuple[str, str]:
    return told["words"], _OUTLOOKS.get(told["outlook"], "")


def print_sweep(alternatives: "Iterable[Alternative]") -> None:
    """Print how good the release would be at other epsilons."""
    table(
        (
            "epsilon",
            "best attack right",
            "forecast",
            "largest certified",
            "useless",
            "say nothing",
            "verdict",
        ),
        (
            (
                decimal(one.epsilon),
                "" if one.best_guess is None else percent(one.best_guess, up=True),
                "" if one.expected_error is None else f"{one.expected_error:.4g}",
                *(_largest(one.told) if one.told else ("", "", "")),
                one.refusal or in_words(one.told),
            )
            for one in alternatives
        ),
        title="At other epsilons",
    )


def _largest(told: "Sequence[Verdict]") -> tuple[str, str, str]:
    worst = max(told, key=lambda one: one.bound)
    return (
        f"{worst.bound:.4f} ({' x '.join(worst.columns) or 'all'})",
        f"{sum(one.use == 'useless' for one in told)} of {len(told)}",
        str(sum(one.vacuous for one in told)),
    )


def _print_verdicts(told: Sequence[Mapping[str, Any]]) -> None:
    """Print the forecast bounds for single columns, and the worst for several together."""
    columns = [one for one in told if len(one["columns"]) == 1]
    if columns:
        table(
            ("column", "share of diameter", "in its unit", "its spread", "good for"),
            (
                (
                    one["columns"][0],
                    f"{one['bound']:.4f}",
                    f"{one['in_unit']:.4g} {one['unit']}",
                    f"{one['spread']:.4f}",
                    _good_for(one),
                )
                for one in columns
            ),
            title="Forecast certificate, 1-Wasserstein",
        )
    together = sorted(
        (one for one in told if len(one["columns"]) > 1), key=lambda one: -one["bound"]
    )
    if together:
        table(
            ("columns together", "share of diameter", "good for"),
            (
                (" x ".join(one["columns"]), f"{one['bound']:.4f}", _good_for(one))
                for one in together[:_MOST_TOGETHER]
            ),
            title=f"Forecast certificate, the largest of {len(together)} marginals",
        )


def _good_for(one: Mapping[str, Any]) -> tuple[str, str]:
    words = "says nothing" if one["vacuous"] else WORDS[one["use"]]
    return words, _STYLES.get(one["use"], "")


def _settings(parameters: Mapping[str, Any], within: str = "") -> Iterator[str]:
    """Parameters that fit on one line, as `name value`; --json has all of them."""
    for name, value in parameters.items():
        words = f"{within}{name.replace('_', ' ')} "
        if isinstance(value, Mapping):
            yield from _settings(value, words)
            continue
        shown = _short(", ".join(map(str, value)) if isinstance(value, list) else str(value))
        if len(shown) <= 40:
            yield words + shown


def _short(text: str) -> str:
    """The text with long fractions as decimals; they are exact in --json."""
    return re.sub(
        r"(\d+)/(\d+)",
        lambda part: part[0] if len(part[0]) <= 12 else f"{int(part[1]) / int(part[2]):.6g}",
        text,
    )
