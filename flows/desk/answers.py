"""A spec as forms beside its text: what is still to be answered, about the release, its mechanism
and each column.

A saved form changes the keys that were answered otherwise than shown, and no other character of the
text. Nothing that is proposed here comes from a value of a table.
"""

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Form, HTTPException, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData

from hallmark.flows.desk import drafts, forms
from hallmark.flows.desk.forms import Content, Seen, Values
from hallmark.flows.desk.intake import Sent
from hallmark.flows.desk.pages import page
from hallmark.schemas.columns.columns import COLUMN_TYPES
from hallmark.schemas.mechanism_answers import (
    answers_about_mechanism,
    choices,
    mechanism_edits,
    mechanism_of,
    with_methods,
)
from hallmark.schemas.rule_answers import INPUTS, rule_of
from hallmark.schemas.rules.rule_syntax import RuleError
from hallmark.schemas.spec_answers import (
    MOST_LINE,
    STATEMENTS,
    Input,
    answers_about,
    at,
    edits,
    has_form,
    meaning,
    misfits,
)
from hallmark.schemas.spec_questions import column_type
from hallmark.schemas.spec_sections import Constraint
from hallmark.schemas.text_edits import Keys
from hallmark.schemas.visible import visible
from hallmark.schemas.yaml_document import FILL_IN
from hallmark.tasks.installation.errors import SafeError

router = APIRouter()

Column = Annotated[str, Form(max_length=MOST_LINE)]
_RULES: Keys = ("constraints",)


@router.get("/specs/{name}/about")
def about_page(request: Request, name: str) -> Response:
    """The form about the release itself."""
    text, content, questions = forms.read(name)
    return page(
        request,
        "about",
        name=name,
        seen=drafts.digest(text),
        sections=forms.fields_about_release(content, questions),
        statements=STATEMENTS,
        questions=questions,
        suggestions=forms.suggestions(request, content),
    )


@router.post("/specs/{name}/about")
def answer_about(request: Request, name: str, sent: Sent) -> Response:
    """Save what was answered about the release."""
    typed = forms.typed_about_release(sent)

    def values(content: Content) -> Values:
        return forms.about_release(content, typed)

    forms.save(request, name, str(sent.get("seen", "")), values)
    return RedirectResponse(f"/specs/{name}/about", 303)


@router.get("/specs/{name}/columns")
def columns_page(
    request: Request,
    name: str,
    column: Annotated[str | None, Query(max_length=MOST_LINE)] = None,
) -> Response:
    """All columns with what is left to be answered; or the form of one."""
    if column is not None:
        return _column_page(request, name, column)
    text, content, questions = forms.read(name)
    return page(
        request,
        "columns",
        name=name,
        seen=drafts.digest(text),
        questions=questions,
        types=_types(content),
        ignored=forms.ignored(content),
    )


@router.post("/specs/{name}/columns/type")
def show_as(
    request: Request,
    name: str,
    sent: Sent,
    column: Column,
    to: Annotated[str, Form(max_length=MOST_LINE)],
) -> Response:
    """Show the form of a column as of another type, with what was typed; nothing is saved."""
    if not has_form(to):
        raise SafeError(f"columns of type {visible(to)!r} have no form; choose another type")
    return _column_page(request, name, column, to, sent)


def _column_page(
    request: Request, name: str, column: str, to: str | None = None, sent: FormData | None = None
) -> Response:
    """The form of a column.

    Args:
        to: the type as which it is shown; that of the spec where none is said.
        sent: what was typed into it, as of whatever type.
    """
    text, content, questions = forms.read(name)
    if column not in questions.columns:
        raise HTTPException(404, f"the spec {name} has no column {visible(column)!r}")
    section = forms.mapping(content, "columns", column)
    is_type = column_type(section)
    shown_type = is_type if to is None else to
    answers = answers_about(shown_type)
    typed = {} if sent is None else forms.typed_in(sent, _of_any_type())
    of_it = {one.name for one in forms.inputs_of(answers)}
    return page(
        request,
        "column",
        name=name,
        seen=drafts.digest(text) if sent is None else str(sent.get("seen", "")),
        questions=questions,
        column=column,
        type=shown_type,
        types=answers[0].inputs[0].choices[1:],
        by_form=has_form(shown_type),
        fields=list(
            forms.fields(
                answers[1:],
                section,
                forms.by_input(questions.columns[column]),
                of_type=shown_type,
                is_of_type=shown_type == is_type,
                typed=typed,
            )
        ),
        kept={one: said for one, said in typed.items() if one not in of_it},
        suggestions=forms.suggestions(request, content),
        next=questions.after(column),
    )


@cache
def _of_any_type() -> list[Input]:
    """The inputs that the form of a column of some type has, but for the type itself."""
    types = [type_ for type_ in COLUMN_TYPES if has_form(type_)]
    every = [one for type_ in types for one in forms.inputs_of(answers_about(type_)[1:])]
    return list({one.name: one for one in every}.values())


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
    typed = forms.typed_in(sent, forms.inputs_of(answers))

    def values(content: Content) -> Values:
        _refuse_unknown(content, column)
        section = forms.mapping(content, "columns", column)
        found: Values = edits(answers, section, typed)
        if type_ != column_type(section):
            found = {**misfits(type_, section), **found}
        return {("columns", column, *keys): value for keys, value in found.items()}

    text = forms.save(request, name, seen, values)
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

    def values(content: Content) -> Values:
        ignored = forms.ignored(content)
        if back and column in ignored:
            rest = [one for one in ignored if one != column]
            return {("data", "ignore"): rest or None, ("columns", column, "type"): FILL_IN}
        _refuse_unknown(content, column)
        return {("data", "ignore"): [*ignored, column], ("columns", column): None}

    forms.save(request, name, seen, values)
    return _to_column(name, column) if back else RedirectResponse(f"/specs/{name}/columns", 303)


@router.get("/specs/{name}/mechanism")
def mechanism_page(request: Request, name: str) -> Response:
    """The form about the mechanism: which one, and its parameters."""
    return _mechanism_page(request, name)


@router.post("/specs/{name}/mechanism/name")
def show_mechanism(
    request: Request, name: str, sent: Sent, to: Annotated[str, Form(max_length=MOST_LINE)]
) -> Response:
    """Show the form of another mechanism, with what was typed; nothing is saved."""
    _refuse_no_mechanism(to)
    return _mechanism_page(request, name, to, sent)


def _mechanism_page(
    request: Request, name: str, to: str | None = None, sent: FormData | None = None
) -> Response:
    """The form of a mechanism.

    Args:
        to: the mechanism that is shown; that of the spec where none is said.
        sent: what was typed into it, as of whatever mechanism.
    """
    text, content, questions = forms.read(name)
    chosen = mechanism_of(content) if to is None else to
    answers = answers_about_mechanism(chosen)[1:]
    typed = {} if sent is None else forms.typed_in(sent, _of_any_mechanism())
    of_it = {one.name for one in forms.inputs_of(answers)}
    return page(
        request,
        "mechanism",
        name=name,
        seen=drafts.digest(text) if sent is None else str(sent.get("seen", "")),
        questions=questions,
        chosen=chosen,
        choices=choices(),
        fields=list(
            forms.fields(
                answers,
                with_methods(content),
                forms.by_input(questions.mechanism) if to is None else {},
                typed=typed,
            )
        ),
        kept={one: said for one, said in typed.items() if one not in of_it},
        suggestions=forms.suggestions(request, content),
    )


@cache
def _of_any_mechanism() -> list[Input]:
    """The inputs that the form of some mechanism has, but for the name itself."""
    every = [one for name, _ in choices() for one in _of_mechanism(name)]
    return list({one.name: one for one in every}.values())


def _of_mechanism(name: str) -> list[Input]:
    return forms.inputs_of(answers_about_mechanism(name)[1:])


@router.post("/specs/{name}/mechanism")
def answer_mechanism(
    request: Request,
    name: str,
    sent: Sent,
    chosen: Annotated[str, Form(max_length=MOST_LINE)],
    seen: Seen = "",
) -> Response:
    """Save which mechanism it is, and its parameters."""
    _refuse_no_mechanism(chosen)
    typed = forms.typed_in(sent, _of_mechanism(chosen))
    forms.save(request, name, seen, lambda content: mechanism_edits(chosen, content, typed))
    return RedirectResponse(f"/specs/{name}/mechanism", 303)


def _refuse_no_mechanism(name: str) -> None:
    if name not in dict(choices()):
        raise SafeError(f"there is no mechanism {visible(name)!r} that makes records; choose one")


@router.get("/specs/{name}/rules")
def rules_page(request: Request, name: str) -> Response:
    """The rules that every released record obeys, and a form that puts another together."""
    text, content, questions = forms.read(name)
    return page(
        request,
        "rules",
        name=name,
        seen=drafts.digest(text),
        questions=questions,
        rules=[one if isinstance(one, dict) else {"rule": one} for one in _rules(content)],
        parts={
            part: [forms.field(one, one.choices[0][0] if one.choices else "") for one in inputs]
            for part, inputs in _rule_inputs().items()
        },
        suggestions=forms.suggestions(request, content),
    )


@router.post("/specs/{name}/rules")
def add_rule(request: Request, name: str, sent: Sent) -> Response:
    """Put a rule together, and add it."""
    inputs = [one for several in _rule_inputs().values() for one in several]
    typed = {one.name: "" for one in inputs} | forms.typed_in(sent, inputs)

    def values(content: Content) -> Values:
        made = {"rule": rule_of(typed), "source": typed["source"].strip()}
        if not made["source"]:
            raise RuleError("say where the rule is published")
        if typed["if_broken"]:
            made["if_broken"] = typed["if_broken"]
        return {_RULES: [*_rules(content), made]}

    forms.save(request, name, str(sent.get("seen", "")), values)
    return RedirectResponse(f"/specs/{name}/rules", 303)


@router.post("/specs/{name}/rules/remove")
def remove_rule(
    request: Request,
    name: str,
    number: Annotated[int, Form(ge=0, le=drafts.MOST_SPEC)],
    seen: Seen = "",
) -> Response:
    """Take a rule out of the spec."""

    def values(content: Content) -> Values:
        rules = _rules(content)
        if number >= len(rules):
            raise RuleError("there is no such rule any more")
        return {_RULES: [*rules[:number], *rules[number + 1 :]] or None}

    forms.save(request, name, seen, values)
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


def _types(content: Content) -> dict[str, str]:
    return {name: column_type(one) for name, one in forms.mapping(content, "columns").items()}


def _rules(content: Content) -> list[Any]:
    found = at(content, _RULES)
    return found if isinstance(found, list) else []


def _refuse_unknown(content: Content, column: str) -> None:
    if column not in forms.mapping(content, "columns"):
        raise SafeError(
            f"the spec has no column {visible(column)!r} any more; look at its columns once more"
        )


def _to_column(name: str, column: str) -> Response:
    return RedirectResponse(f"/specs/{name}/columns?{urlencode({'column': column})}", 303)
