"""The way to the terminal: whatever text is shown, it is seen as it is and obeyed by nothing."""

import ast
import csv
import inspect
import io
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unicodedata import category
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from hallmark import flows
from hallmark.flows.cli import app as cli
from hallmark.flows.cli import compare as cli_compare
from hallmark.flows.cli import doctor as cli_doctor
from hallmark.flows.cli import evaluate as cli_evaluate
from hallmark.flows.cli import query as cli_query
from hallmark.flows.cli import terminal
from hallmark.flows.cli import terminal_plan as plans
from hallmark.flows.screen import line, say, say_json, table
from hallmark.mechanisms.inference.chi_square import ChiSquare
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.utility.evaluate import UtilityScores
from hallmark.schemas.visible import visible
from hallmark.tasks.changes import Change, Changes, Shift, ShiftedTable, Shifts
from hallmark.tasks.evaluate import Evaluation
from hallmark.tasks.forecast.savings import Saving, Savings
from hallmark.tasks.forecast.verdict import Alternative, Verdict
from hallmark.tasks.ledger import words
from hallmark.tasks.questions.answers import Answer, Answers

_FRAGMENTS = (
    "[/bold]", "[x]", "[red]", "[link=file:///etc]", "\\[x]", ":warning:", "\x1b[2J", "\x9b31m",
    "\x1b]8;;http://a\x07", "\u202e", "\u2066", "\u200b", "\n", "\r", "\b", "\t", "\0", "\x85",
    "\u2028", "\udc80", "\U000e0041", "{0}", "%s", "é", "漢", "e\u0301", "\u202f", "word", " ",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(_FRAGMENTS) | st.characters(codec=None), max_size=8).map("".join)


def printed(show: Callable[[], object]) -> str:
    """What it leaves on a terminal that is wide enough."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out), patch.dict(os.environ, COLUMNS="5000"):
        show()
    return out.getvalue()


def _decision(text: str) -> Any:
    said = SimpleNamespace(decision=text, person=text, role=text, reason=text)
    return SimpleNamespace(decision=said)


def _waiting(text: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    waits = SimpleNamespace(
        release=text, title=text, gate=text, since=now, until=text, seen={text: text},
        differs=(text,),
    )  # fmt: skip
    there = SimpleNamespace(
        counted=[_decision(text)],
        idle=[(_decision(text), text)],
        missing=[text],
        blocking=[text],
        warning=text,
    )
    terminal.print_waiting([(waits, there), (waits, None)])  # type: ignore[list-item]


def _rehearsal(text: str) -> None:
    said = {"release": text, "seconds": 1.0, "rows": 2, "records": text, "folder": f"/{text}"}
    terminal.print_rehearsal(SimpleNamespace(**said))  # type: ignore[arg-type]


def _calendar(text: str) -> None:
    entry = SimpleNamespace(cron=text, timezone=text)
    due = SimpleNamespace(
        allowance=SimpleNamespace(budget=Budget(epsilon=Fraction(1))),
        prepared=SimpleNamespace(spec=SimpleNamespace(release=text, embargo=text)),
    )
    terminal.print_calendar([(text, entry, due, text)])  # type: ignore[list-item]


def _findings(text: str) -> None:
    rule = SimpleNamespace(column=text, rule=text, refuses=True)
    finding: Any = SimpleNamespace(rule=rule, rows=5, failing=1)
    terminal.print_findings([finding], expected_rows=5000)


def _published(text: str) -> None:
    said = dict.fromkeys(("epsilon", "delta", "account", "certificate", "review"), text)
    terminal.print_published(
        SimpleNamespace(  # type: ignore[arg-type]
            folder=f"/{text}", earlier=True, left=(text, text), warnings=(text,), **said
        )
    )


def _verification(text: str) -> None:
    checks = (SimpleNamespace(name=text, detail=text, ok=ok) for ok in (True, False))
    terminal.print_verification(SimpleNamespace(checks=checks, ok=False))  # type: ignore[arg-type]


def _verified_series(text: str) -> None:
    checks = tuple(SimpleNamespace(name=text, detail=text, ok=ok) for ok in (True, False))
    found: Any = SimpleNamespace(
        releases={text: SimpleNamespace(checks=checks)}, checks=checks, ok=False
    )
    terminal.print_verified_series(found)


def _account_state(text: str) -> Any:
    pair = (Fraction(1, 3), Fraction(0))
    return SimpleNamespace(
        name=text, neighbours=text, unit=text, cap=Budget(epsilon=Fraction(1)), rho_cap=None,
        composition="zcdp", composed=0.3, spent=pair, reserved=pair, remaining=pair,
        presence=None, planned={}, by_period={},
    )  # fmt: skip


def _series(text: str) -> None:
    state = _account_state(text)
    state.cap = Budget(epsilon=Fraction(1), delta=Fraction(1, 10**5))
    state.planned = {"2026-01": Fraction(1, 10)}
    with patch.object(words, "share", lambda *_: text):
        terminal.print_series(state)


def _history(text: str) -> None:
    entry = SimpleNamespace(seq=1, at="2026-01-01T00:00:00Z", kind=text, release=text, hash=text)
    state = _account_state(text)
    step: Any = SimpleNamespace(entry=entry, budget=None, reason=text, state=state)
    terminal.print_history([step])


def _plan(text: str) -> None:
    plans.print_plan(
        {
            **dict.fromkeys(("title", "release", "mechanism", "source", "account"), text),
            "privacy": {
                **dict.fromkeys(("unit", "neighbours", "epsilon", "delta"), text),
                "proven_epsilon": [0.5, 1.0],
                "cross_check_epsilon": 1.0,
            },
            "attacks": {"best_guess": 0.5, "best_guess_of_four": 0.6, "of_one_percent": 0.01},
            "parameters": {"of": {"a": text, "b": [text, text]}},
            "noise": [
                {
                    **dict.fromkeys(("query", "cells", "family", "parameter", "unit"), text),
                    "standard_deviation": 1.0,
                }
            ],
            "forecast": {
                **dict.fromkeys(("metric", "statement"), text),
                "expected_error": 0.1,
                "memory_bytes": 1,
                "time": {"shared": {"read": 1.0}, "alone": {"fit": 2.0}},
                "per_attribute": [],
            },
            "left": text,
            "verdict": text,
            "verdicts": [
                {"columns": columns, "bound": 0.1, "spread": 0.5, "use": "rough", "vacuous": False}
                | {"in_unit": 1.0, "unit": text}
                for columns in ((text,), (text, text))
            ],
            "public_totals": [{"total": text, "reference": text}],
            "questions": [],
            "needs": [_need(text)],
            "lookups": [{"column": text, "of": text, "reference": text}],
            "recodes": [{"column": text, "rule": text}],
            "warnings": [text],
        }
    )


def _need(text: str) -> dict[str, Any]:
    numbers = {"within": 1.0, "confidence": 0.95, "epsilon": "1"}
    return {"question": text, "stated_by": text, "outlook": "expected", "words": text, **numbers}


def _solution(text: str) -> None:
    met = {"needs": [_need(text)], "frontier": [_need(text), _need(text) | {"epsilon": None}]}
    plans.print_solution({"epsilon": "1", "asked_by": text, **met})
    never = {"needs": [], "frontier": [_need(text) | {"epsilon": None}]}
    plans.print_solution({"epsilon": None, "asked_by": "", **never})


def _savings(text: str) -> None:
    one = (Saving(told=text, epsilon=Fraction(1, 2)),)
    plans.print_savings(Savings(epsilon=Fraction(1), each=one, best=one))
    plans.print_savings(Savings(epsilon=Fraction(1), each=one))
    plans.print_savings(Savings(epsilon=Fraction(1), refusal=text))


def _sweep(text: str) -> None:
    told = (Verdict((text,), 1.0, 0.5, "useless", in_unit=1.0, unit=text),)
    plans.print_sweep([Alternative(Fraction(1), 0.5, told), Alternative(Fraction(2), refusal=text)])


def _precisions(text: str) -> None:
    told = {"question": text, "half_width": None, "reason": text}
    plans.print_precisions([told, told | {"half_width": 1.0}])


def _answers(text: str, show: Callable[[Answers], None]) -> None:
    one: dict[str, Any] = {"estimate": 1.0, "low": 0.0, "high": 2.0, "deviation": 0.5}
    show(
        Answers(
            question=text,
            by=(text,),
            confidence=0.95,
            simultaneous=False,
            answers=(Answer(group=(text,), basis="exact", **one),),
            notes=(text,),
        )
    )


def _changes(text: str) -> Changes:
    one: dict[str, Any] = {"group": (text,), "estimate": 1.0, "low": 0.0, "high": 2.0}
    answer = Answer(basis="exact", deviation=1.0, **one)
    change = Change(before=answer, after=answer, basis="exact", deviation=1.0, **one)
    return Changes(
        question=text,
        by=(text,),
        in_points=False,
        confidence=0.95,
        simultaneous=False,
        changes=(change,),
        notes=(text,),
    )


def _shifts(text: str) -> Shifts:
    shift = Shift(cell=(text,), before=0.1, after=0.2, low=0.05, high=0.15)
    table = ShiftedTable(
        columns=(text,),
        cells=1,
        test=ChiSquare(1.0, 1, 0.01),
        changed=True,
        basis="exact",
        largest=(shift,),
        hidden=0.05,
        seen_from=0.06,
        apart=(text,),
    )
    return Shifts(
        confidence=0.95,
        within=0.01,
        tables=(table,),
        untold=(((text,), text),),
        notes=(text,),
    )


def _fields(text: str) -> None:
    """What a reader of CSV finds, which has each quote once."""
    written = printed(lambda: _answers(text, cli_query._print_csv))
    for row in csv.reader(io.StringIO(written)):
        print(*row)


def _doctor(text: str) -> None:
    finding: Any = SimpleNamespace(check=text, verdict="wrong", says=text, mend=text)
    cli_doctor._print([finding])


def _evaluation(text: str) -> None:
    numbers: dict[str, Any] = dict.fromkeys(inspect.signature(UtilityScores).parameters, 1)
    cli_evaluate._print(
        Evaluation(
            metrics=UtilityScores(**numbers),
            label=text,
            held_out=text,
            downstream_unit=text,
            merged=(text, text),
        )
    )


def _error(text: str) -> None:
    def fail() -> None:
        raise OSError(2, text, text)

    with patch.object(cli, "app", fail), pytest.raises(SystemExit):
        cli.main()


PRINTED: dict[str, Callable[[str], None]] = {
    "line": lambda text: line(text, (text, "bold")),
    "say": lambda text: say(text, err=True),
    "say_json": lambda text: say_json({text: text}),
    "table": lambda text: table([text], [[[text, (text, "dim")]]]),
    "print_waiting": _waiting,
    "print_rehearsal": _rehearsal,
    "print_calendar": _calendar,
    "print_findings": _findings,
    "print_published": _published,
    "print_verification": _verification,
    "print_verified_series": _verified_series,
    "print_account": lambda text: terminal.print_account(_account_state(text)),
    "print_accounts": lambda text: terminal.print_accounts([_account_state(text)]),
    "print_history": _history,
    "print_series": _series,
    "print_plan": _plan,
    "print_solution": _solution,
    "print_savings": _savings,
    "print_sweep": _sweep,
    "print_precisions": _precisions,
    "query": lambda text: _answers(text, cli_query._print),
    "query --csv": _fields,
    "compare": lambda text: cli_compare._print(_changes(text)),
    "compare --csv": lambda text: cli_compare._print_rows(cli_compare._rows(_changes(text))),
    "compare without a question": lambda text: cli_compare._print_shifts(_shifts(text)),
    "doctor": _doctor,
    "evaluate": _evaluation,
    "error": _error,
}


def test_everything_that_prints_is_fuzzed() -> None:
    modules = (terminal, plans)
    functions = {name for module in modules for name in vars(module) if name.startswith("print_")}
    assert functions <= PRINTED.keys()
    files = {path.stem for path in Path(flows.__path__[0]).glob("cli/terminal*.py")}
    assert files == {module.__name__.split(".")[-1] for module in modules} | {"terminal_progress"}


@pytest.mark.parametrize("name", PRINTED)
@settings(max_examples=25)
@given(text=TEXTS)
@example(text="\U0001f3fb")
@example(text="[/bold]")
@example(text="[x] paid :smile: \x1b[32mok\x1b[0m")
@example(text="one\n[green]ok[/]  signature: by the agency\r\u202eevil\u2028\ud800")
def test_text_is_seen_as_it_is_and_moves_nothing(name: str, text: str) -> None:
    shown = printed(lambda: PRINTED[name](text))
    assert all(c == "\n" or c.isprintable() or category(c) == "Zs" for c in shown)
    harmless = "x" * cell_len(visible(text))
    assert shown.count("\n") == printed(lambda: PRINTED[name](harmless)).count("\n")
    as_json = json.dumps(text)[1:-1]
    assert (as_json if name == "say_json" else visible(text).strip()) in shown


@given(text=TEXTS)
def test_what_is_seen_already_stays_and_nothing_is_lost(text: str) -> None:
    seen = visible(text)
    assert visible(seen) == seen
    assert seen.replace("\\", "").isascii() or any(not c.isascii() for c in text)
    if "\\" not in text:
        escaped = seen.encode("ascii", "backslashreplace").decode("ascii")
        assert escaped.encode("ascii").decode("unicode_escape") == text


def test_nothing_else_writes_to_the_terminal() -> None:
    """Anything that prints past the screen would show text unescaped."""
    past = []
    for path in sorted(Path(flows.__path__[0]).rglob("*.py")):
        if path.name in ("screen.py", "terminal_progress.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            called = node.func.id if isinstance(node.func, ast.Name) else called
            if called in {"echo", "secho", "print", "Console", "write_line", "pprint"}:
                past.append(f"{path.name}:{node.lineno}: {called}")
    assert past == []


def test_progress_shows_what_is_being_done_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from hallmark.flows.cli.terminal_progress import progress_shown
    from hallmark.tasks.installation import progress

    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with progress_shown(enabled=True):
        for listener in progress._listeners:
            listener("[/bold]\x1b[2J", 0.5, "[x]\n\u202e")
        time.sleep(0.3)  # it is drawn ten times a second
    shown = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert r"[/bold]\x1b[2J" in shown
    assert r"[x]\n\u202e" in shown
