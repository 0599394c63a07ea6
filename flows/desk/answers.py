"""A spec as forms beside its text: what is still to be answered, about the release and each column.

A saved form changes the keys that were answered otherwise than shown, and no other character of the
text. Nothing that is proposed here comes from a value of a table.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Form, HTTPException, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData

from hallmark.flows.desk import drafts
from hallmark.flows.desk.intake import Sent
from hallmark.flows.desk.pages import ledger, page
from hallmark.flows.desk.visitor import logged_in
from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.schemas.code_lines import Unclear
from hallmark.schemas.rule_answers import INPUTS, rule_of
from hallmark.schemas.rules.rule_syntax import RuleError
from hallmark.schemas.spec_answers import (
    MOST_LINE,
    Answer,
    Input,
    answers_about,
    answers_about_release,
    at,
    edits,
    has_form,
    meaning,
    misfits,
)
from hallmark.schemas.spec_questions import Question, Questions, column_type
from hallmark.schemas.spec_sections import Constraint
from hallmark.schemas.text_edits import Keys, NotChanged, Value, changed
from hallmark.schemas.visible import visible
from hallmark.schemas.written import written
from hallmark.schemas.yaml_document import FILL_IN, Unreadable, read_text
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.people.actions import doing
from hallmark.tasks.people.rights import Right
from hallmark.tasks.planning.uploads import places

router = APIRouter()

Seen = Annotated[str, Form(max_length=drafts.DIGEST)]
Column = Annotated[str, Form(max_length=MOST_LINE)]
_RULES: Keys = ("constraints",)
_Content = Mapping[str, Any]
_Values = dict[Keys, Value | None]


@router.get("/specs/{name}/about")
def about_page(request: Request, name: str) -> Response:
    """The form about the release itself."""
    text, content, questions = _read(name)
    asked = _by_input((*questions.release, *questions.table))
    sections = {
        heading: list(_fields(answers, content, asked))
        for heading, answers in answers_about_release().items()
    }
    return page(
        request,
        "about",
        name=name,
        seen=drafts.digest(text),
        sections=sections,
        questions=questions,
        suggestions=_suggestions(request, content),
    )


@router.post("/specs/{name}/about")
def answer_about(request: Request, name: str, sent: Sent) -> Response:
    """Save what was answered about the release."""
    answers = [one for several in answers_about_release().values() for one in several]
    typed = _typed(sent, _inputs(answers))

    def values(content: _Content) -> _Values:
        found = edits(answers, content, typed)
        unit = found.get(("privacy", "unit"))
        person = unit.get("person") if isinstance(unit, Mapping) else None
        is_new = unit != at(content, ("privacy", "unit"))
        if is_new and isinstance(person, str):  # a column that is read, and never released
            rest = [one for one in _ignored(content) if one != person]
            found |= {("data", "ignore"): rest or None, ("columns", person): None}
        return found

    _save(request, name, str(sent.get("seen", "")), values)
    return RedirectResponse(f"/specs/{name}/about", 303)


@router.get("/specs/{name}/columns")
def columns_page(
    request: Request,
    name: str,
    column: Annotated[str | None, Query(max_length=MOST_LINE)] = None,
    type_: Annotated[str | None, Query(alias="type", max_length=MOST_LINE)] = None,
) -> Response:
    """All columns with what is left to be answered; or the form of one, as of another type."""
    text, content, questions = _read(name)
    known: dict[str, Any] = {
        "name": name,
        "seen": drafts.digest(text),
        "questions": questions,
    }
    if column is None:
        return page(request, "columns", **known, types=_types(content), ignored=_ignored(content))
    if column not in questions.columns:
        raise HTTPException(404, f"the spec {name} has no column {visible(column)!r}")
    section = _mapping(content, "columns", column)
    is_type = column_type(section)
    shown_type = is_type if type_ is None or not has_form(type_) else type_
    asked = _by_input(questions.columns[column])
    answers = answers_about(shown_type)
    return page(
        request,
        "column",
        **known,
        column=column,
        type=shown_type,
        types=answers[0].inputs[0].choices[1:],
        by_form=has_form(shown_type),
        fields=list(_fields(answers[1:], section, asked, of_type=shown_type == is_type)),
        suggestions=_suggestions(request, content),
        next=questions.after(column),
    )


@router.post("/specs/{name}/columns")
def answer_column(
    request: Request,
    name: str,
    sent: Sent,
    column: Column,
    type_: Annotated[str, Form(alias="type", max_length=MOST_LINE)],
    seen: Seen = "",
    onward: bool = False,
) -> Response:
    """Save what was answered about a column; then go on to the next one that is not complete."""
    if not has_form(type_):
        raise SafeError(f"columns of type {visible(type_)!r} have no form; choose another type")
    answers = answers_about(type_)
    typed = _typed(sent, _inputs(answers))

    def values(content: _Content) -> _Values:
        _refuse_unknown(content, column)
        section = _mapping(content, "columns", column)
        found: _Values = edits(answers, section, typed)
        if type_ != column_type(section):
            found = {**misfits(type_, section), **found}
        return {("columns", column, *keys): value for keys, value in found.items()}

    text = _save(request, name, seen, values)
    if onward:
        questions = drafts.asked_in(name, text)[1]
        if not questions.columns[column]:
            later = questions.after(column)
            return _to_column(name, later) if later else RedirectResponse(f"/specs/{name}", 303)
    return _to_column(name, column)


@router.post("/specs/{name}/columns/ignore")
def ignore(
    request: Request,
    name: str,
    column: Column,
    seen: Seen = "",
    back: Annotated[bool, Form()] = False,
) -> Response:
    """Leave a column of the table out, which then is never read; or take it back."""

    def values(content: _Content) -> _Values:
        ignored = _ignored(content)
        if back and column in ignored:
            rest = [one for one in ignored if one != column]
            return {("data", "ignore"): rest or None, ("columns", column, "type"): FILL_IN}
        _refuse_unknown(content, column)
        return {("data", "ignore"): [*ignored, column], ("columns", column): None}

    _save(request, name, seen, values)
    return _to_column(name, column) if back else RedirectResponse(f"/specs/{name}/columns", 303)


@router.get("/specs/{name}/rules")
def rules_page(request: Request, name: str) -> Response:
    """The rules that every released record obeys, and a form that puts another together."""
    text, content, questions = _read(name)
    return page(
        request,
        "rules",
        name=name,
        seen=drafts.digest(text),
        questions=questions,
        rules=[one if isinstance(one, dict) else {"rule": one} for one in _rules(content)],
        parts={
            part: [_field(one, one.choices[0][0] if one.choices else "") for one in inputs]
            for part, inputs in _rule_inputs().items()
        },
        suggestions=_suggestions(request, content),
    )


@router.post("/specs/{name}/rules")
def add_rule(request: Request, name: str, sent: Sent) -> Response:
    """Put a rule together, and add it."""
    inputs = [one for several in _rule_inputs().values() for one in several]
    typed = {one.name: "" for one in inputs} | _typed(sent, inputs)

    def values(content: _Content) -> _Values:
        made = {"rule": rule_of(typed), "source": typed["source"].strip()}
        if not made["source"]:
            raise RuleError("say where the rule is published")
        if typed["if_broken"]:
            made["if_broken"] = typed["if_broken"]
        return {_RULES: [*_rules(content), made]}

    _save(request, name, str(sent.get("seen", "")), values)
    return RedirectResponse(f"/specs/{name}/rules", 303)


@router.post("/specs/{name}/rules/remove")
def remove_rule(
    request: Request,
    name: str,
    number: Annotated[int, Form(ge=0, le=drafts.MOST_SPEC)],
    seen: Seen = "",
) -> Response:
    """Take a rule out of the spec."""

    def values(content: _Content) -> _Values:
        rules = _rules(content)
        if number >= len(rules):
            raise RuleError("there is no such rule any more")
        return {_RULES: [*rules[:number], *rules[number + 1 :]] or None}

    _save(request, name, seen, values)
    return RedirectResponse(f"/specs/{name}/rules", 303)


@cache
def _rule_inputs() -> dict[str, Sequence[Input]]:
    choices = (("", "block the publication"), ("report", "report it"))
    means = meaning(Constraint, "if_broken")
    return {
        **INPUTS,
        "The rule": (
            Input(name="source", label="Source", help=meaning(Constraint, "source")),
            Input(name="if_broken", label="If a record breaks it", help=means, choices=choices),
        ),
    }


def _read(name: str) -> tuple[str, dict[str, Any], Questions]:
    """The text of a spec, its content and its questions.

    Raises:
        SafeError: it is not YAML.
    """
    text = drafts.existing(name).read_text(encoding="utf-8")
    with _as_yaml():
        return text, *drafts.asked_in(name, text)


@contextmanager
def _as_yaml() -> Iterator[None]:
    try:
        yield
    except Unreadable as error:
        where = "" if error.line is None else f"line {error.line}: "
        raise SafeError(
            f"{where}{error.what}; mend the text of the spec, then its forms are here again"
        ) from None


def _save(request: Request, name: str, seen: str, values: Callable[[_Content], _Values]) -> str:
    """Keep the text of a spec with these values in it; returns it."""

    def rewritten(text: str) -> str:
        try:
            with _as_yaml():
                return changed(text, values(read_text(text)[0].content))
        except (NotChanged, Unclear, RuleError) as error:
            raise SafeError(f"{error}; nothing was saved") from None

    file = drafts.existing(name)
    with doing(logged_in(request).actor, "spec-saved", name):
        return drafts.rewrite(file, seen, rewritten)


def _inputs(answers: Sequence[Answer]) -> list[Input]:
    return [one for answer in answers for one in answer.inputs]


def _typed(sent: FormData, inputs: Sequence[Input]) -> dict[str, str]:
    """What was typed, by the names of the inputs that were sent.

    Raises:
        SafeError: it is too long, or has characters that nobody sees.
    """
    typed = {}
    for one in inputs:
        said = sent.get(one.name)
        if said is None:
            continue
        if not isinstance(said, str) or (not one.lines and len(said) > MOST_LINE):
            raise SafeError(f"{one.label}: give a text of at most {MOST_LINE:,} characters")
        try:
            typed[one.name] = written(said)
        except ValueError as error:
            raise SafeError(f"{one.label}: {error}") from None
    return typed


def _fields(
    answers: Sequence[Answer],
    section: _Content,
    asked: Mapping[str, Question],
    *,
    of_type: bool = True,
) -> Iterator[dict[str, Any]]:
    """The inputs of a form as its template shows them.

    Args:
        of_type: whether the section is of the type that the answers are about; what it says and no
            choice has is shown only then.
    """
    for answer in answers:
        shown = answer.shown(section)
        for one in answer.inputs:
            value = "" if shown is None else shown[one.name]
            is_foreign = bool(one.choices) and value not in dict(one.choices)
            yield _field(
                one,
                "" if is_foreign and not of_type else value,
                asked.get(one.name),
                by_text=shown is None,
            )


def _field(
    one: Input, value: str = "", asked: Question | None = None, *, by_text: bool = False
) -> dict[str, Any]:
    own = [(value, value)] if one.choices and value not in dict(one.choices) else []
    return {
        "input": one,
        "id": f"in-{one.name.replace('.', '-')}",
        "value": value,
        "choices": [*one.choices, *own],
        "by_text": by_text,
        "asked": asked,
    }


def _by_input(questions: Sequence[Question]) -> dict[str, Question]:
    """The first question of every input, by its name."""
    return {one.input.name: one for one in reversed(questions) if one.input is not None}


def _suggestions(request: Request, content: _Content) -> dict[str, list[str]]:
    """What inputs propose, by the name that they have for it."""
    uploaded = places()
    accounts: list[str] = []
    if logged_in(request).may(Right.ACCOUNTS):
        with suppress(LedgerError):  # its own page tells
            accounts = [state.name for state in ledger().accounts()]
    return {
        "accounts": accounts,
        "columns": [*_mapping(content, "columns"), *_ignored(content)],
        "files": [one.source for one in uploaded if one.kind == "public"],
        "tables": [one.source for one in uploaded if one.kind == "private"],
    }


def _types(content: _Content) -> dict[str, str]:
    return {name: column_type(one) for name, one in _mapping(content, "columns").items()}


def _ignored(content: _Content) -> list[str]:
    found = at(content, ("data", "ignore"))
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _rules(content: _Content) -> list[Any]:
    found = at(content, _RULES)
    return found if isinstance(found, list) else []


def _mapping(content: _Content, *keys: str) -> dict[str, Any]:
    found = at(content, keys)
    return found if isinstance(found, dict) else {}


def _refuse_unknown(content: _Content, column: str) -> None:
    if column not in _mapping(content, "columns"):
        raise SafeError(
            f"the spec has no column {visible(column)!r} any more; look at its columns once more"
        )


def _to_column(name: str, column: str) -> Response:
    return RedirectResponse(f"/specs/{name}/columns?{urlencode({'column': column})}", 303)
