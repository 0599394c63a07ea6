"""All that is asked about a release and its columns, on one page that is saved in one go.

Each column is a row in which one line says what may stand in it (`one_line`). What is the same for
many columns, such as the document that states their bounds, is answered once, and is written to
those that say nothing of their own. Neighbours and unit are those of the account, which whoever
opened it decided.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData

from hallmark.flows.desk import drafts, forms
from hallmark.flows.desk.forms import Content, Values
from hallmark.flows.desk.intake import Sent
from hallmark.flows.desk.pages import ledger, page
from hallmark.flows.desk.visitor import Visitor, logged_in
from hallmark.mechanisms.privacy.adjacency import Adjacency
from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.schemas.code_lines import Unclear
from hallmark.schemas.columns.number_marks import NumberMarks
from hallmark.schemas.one_line import Writing, line_of, said_in
from hallmark.schemas.spec_answers import (
    MOST_LINE,
    STATEMENTS,
    Input,
    answers_about,
    at,
    edits,
    has_form,
    misfits,
    shown_in,
)
from hallmark.schemas.spec_questions import Question, Questions, column_type
from hallmark.schemas.visible import visible
from hallmark.tasks.people.rights import Right

router = APIRouter()
_MOST_ROWS = 400  # columns on the page; a form is read with a thousand fields at most
_CELLS = "20"
_OF_ACCOUNT = ("privacy.neighbours", "privacy.unit")
_PUBLIC, _LAW, _OUTSIDE, _NUMBER = "every.public", "every.law", "every.outside", "every.cells"
_EVERY = (
    Input(
        name=_PUBLIC,
        label="The document that states bounds and categories",
        help="such as the codebook or the questionnaire, with its edition",
    ),
    Input(name=_LAW, label="or the law that does"),
    Input(
        name=_OUTSIDE,
        label="What lies outside",
        choices=(
            ("", "choose"),
            ("refuse", "refuse: the run stops"),
            ("clamp", "clamp: numbers and days move to the nearer bound; other codes stop the run"),
        ),
    ),
    Input(
        name=_NUMBER,
        label="Cells of a column of numbers or days",
        help="in which it is measured with others: some 20 to 60, or one for each value if there "
        "are fewer",
    ),
)
"""What is asked once for all columns."""


@dataclass(frozen=True)
class _Row:
    """A column on the page.

    Attributes:
        number: its place in the spec, by which the form names it.
        line: what may stand in it; None where that is said by its own form or the text alone.
    """

    number: int
    name: str
    line: str | None
    asked: tuple[Question, ...]


@router.get("/specs/{name}/questions")
def questions_page(request: Request, name: str) -> Response:
    """All that is asked about a spec."""
    text, content, questions = forms.read(name)
    sections = forms.fields_about_release(content, questions)
    every = _said_for_all(content)
    return page(
        request,
        "questions",
        name=name,
        seen=drafts.digest(text),
        questions=questions,
        statements=sections.pop(STATEMENTS),
        sections={
            heading: [one for one in several if not one["input"].name.startswith(_OF_ACCOUNT)]
            for heading, several in sections.items()
        },
        every=[forms.field(one, every[one.name]) for one in _EVERY],
        rows=_rows(content, questions),
        all=len(questions.columns),
        suggestions=forms.suggestions(request, content),
    )


@router.post("/specs/{name}/questions")
def answer(request: Request, name: str, sent: Sent) -> Response:
    """Save what was answered, and go on to the plan once nothing is left."""
    visitor, about = logged_in(request), forms.typed_about_release(sent)
    every = {one.name: "" for one in _EVERY} | forms.typed_in(sent, _EVERY)
    lines = {one.name: said for one, said in _numbered(sent, "line")}

    def values(content: Content) -> Values:
        found = forms.about_release(content, about | _of_account(visitor, content, about))
        left_out = [one for number, one in _columns(content) if f"out.{number}" in sent]
        faults = []
        for number, column in _columns(content):
            section = forms.mapping(content, "columns", column)
            if column in left_out:
                found[("columns", column)] = None
            elif ("columns", column) not in found:  # which names a person
                try:
                    line = lines.get(f"line.{number}")
                    said = _column(section, line, every, _writing(content))
                    found |= {("columns", column, *keys): value for keys, value in said.items()}
                except Unclear as error:
                    faults.append(f"{visible(column)}: {error}")
        if faults:
            raise Unclear("\n".join(faults))
        if left_out:
            kept = found.get(("data", "ignore"), forms.ignored(content))
            found[("data", "ignore")] = [*(kept if isinstance(kept, list) else []), *left_out]
        return found

    text = forms.save(request, name, str(sent.get("seen", "")), values)
    is_complete = drafts.asked_in(name, text)[1].number == 0
    return RedirectResponse(f"/specs/{name}{'?plan=now' if is_complete else '/questions'}", 303)


def _numbered(sent: FormData, kind: str) -> list[tuple[Input, str]]:
    """The fields of the rows that were sent, with what was typed into each."""
    names = [name for name in sent if name.startswith(f"{kind}.")]
    inputs = [Input(name=name, label=name, lines=1) for name in names]
    typed = forms.typed_in(sent, inputs)
    return [(one, typed[one.name]) for one in inputs]


def _columns(content: Content) -> list[tuple[int, str]]:
    return list(enumerate(forms.mapping(content, "columns")))


def _rows(content: Content, questions: Questions) -> list[_Row]:
    """The columns of the page: all, or the next ones that are not complete where there are many."""
    rows = []
    for number, column in _columns(content):
        section = forms.mapping(content, "columns", column)
        asked = questions.columns[column]
        if asked or len(questions.columns) <= _MOST_ROWS:
            rows.append(_Row(number, column, _line(section), asked))
    return rows[:_MOST_ROWS]


def _line(section: Content) -> str | None:
    type_ = column_type(section)
    if not has_form(type_):
        return None
    line = line_of(type_, shown_in(answers_about(type_), section))
    return line if line is None or len(line) <= 20 * MOST_LINE else None


def _column(
    section: Content, line: str | None, every: Mapping[str, str], writing: Writing
) -> Values:
    """What is written about a column, by the keys of its section.

    Raises:
        Unclear: its line does not say.
    """
    type_, typed, values = column_type(section), {}, None
    shown_line = _line(section)
    if line is not None and shown_line is not None and line.strip() != shown_line.strip():
        if not line.strip():
            raise Unclear("say what may stand in it, or leave it out")
        said = said_in(line, writing)
        type_, typed, values = said.type, {**said.typed, "type": said.type}, said.values
    if not type_ or not has_form(type_):
        return {}
    answers = answers_about(type_)
    shown = shown_in(answers, section)
    typed |= {
        name: text
        for name, text in _shared(type_, every, values).items()
        if text and shown.get(name, text) == ""
    }
    if "cells.value" in typed:
        typed["cells"] = "cells"
    found: Values = edits(answers, section, typed)
    return found if type_ == column_type(section) else {**misfits(type_, section), **found}


def _shared(type_: str, every: Mapping[str, str], values: int | None) -> dict[str, str]:
    """What is answered for all columns, as the form of one of a type has it."""
    is_interval, cells = type_ in ("numeric", "date"), every[_NUMBER]
    if values is not None and cells.isdecimal():
        cells = str(max(1, min(int(cells), values)))
    kind = "public" if every[_PUBLIC] else "law" if every[_LAW] else ""
    return {
        "outside": every[_OUTSIDE] if is_interval or not every[_OUTSIDE] else "refuse",
        "bound_source.kind": kind,
        "bound_source.reference": every[_PUBLIC] or every[_LAW],
        "cells.value": cells if is_interval else "",
    }


def _said_for_all(content: Content) -> dict[str, str]:
    """What the columns that say it say alike."""
    every = dict.fromkeys((one.name for one in _EVERY), "") | {_NUMBER: _CELLS}
    columns = [forms.mapping(content, "columns", one) for _, one in _columns(content)]
    sources = [one for section in columns if (one := at(section, ("bound_source",))) is not None]
    if sources and all(one == sources[0] for one in sources) and isinstance(sources[0], dict):
        name = {"public": _PUBLIC, "law": _LAW}.get(str(at(sources[0], ("kind",))))
        reference = at(sources[0], ("reference",))
        if name is not None and isinstance(reference, str):
            every[name] = reference
    outside = {str(at(section, ("outside",))) for section in columns} - {"None"}
    every[_OUTSIDE] = outside.pop() if len(outside) == 1 else ""
    return every


def _writing(content: Content) -> Writing:
    """How the file of a spec writes numbers and days."""
    said = [at(content, ("data", key)) for key in ("decimal_mark", "thousands", "date_format")]
    decimal, thousands, days = (one if isinstance(one, str) else "" for one in said)
    return Writing(NumberMarks(decimal or ".", thousands), days or "%Y-%m-%d")


def _of_account(visitor: Visitor, content: Content, typed: Mapping[str, str]) -> dict[str, str]:
    """Neighbours and unit of the account that is named, as the form about the release has them,
    where the spec does not say them."""
    account = typed.get("population.account") or at(content, ("population", "account"))
    terms = _terms(str(account)) if visitor.may(Right.ACCOUNTS) else None
    found: dict[str, str] = {}
    if terms is not None and at(content, ("privacy", "neighbours")) is None:
        found["privacy.neighbours"] = terms.neighbours.value
    if terms is not None and at(content, ("privacy", "unit")) is None:
        found["privacy.unit"] = "record" if terms.person is None else "person"
        found["privacy.unit.person"] = terms.person or ""
        found["privacy.unit.max_records"] = "" if terms.person is None else str(terms.records)
    return found


def _terms(account: str) -> Adjacency | None:
    with suppress(LedgerError):
        return next((one.adjacency for one in ledger().accounts() if one.name == account), None)
    return None
