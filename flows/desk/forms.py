"""What the forms of a spec share: how they read it, show its answers, and save what was typed.

A saved form changes the keys that were answered otherwise than shown, and no other character of the
text. Nothing that is proposed here comes from a value of a table.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated, Any

from fastapi import Form, Request
from starlette.datastructures import FormData

from hallmark.flows.desk import drafts
from hallmark.flows.desk.documentation import reference
from hallmark.flows.desk.pages import ledger
from hallmark.flows.desk.visitor import logged_in
from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.schemas.code_lines import Unclear
from hallmark.schemas.rules.rule_syntax import RuleError
from hallmark.schemas.spec_answers import (
    MOST_LINE,
    Answer,
    Input,
    answers_about_release,
    at,
    edits,
)
from hallmark.schemas.spec_questions import Question, Questions
from hallmark.schemas.text_edits import Keys, NotChanged, Value, changed
from hallmark.schemas.written import written
from hallmark.schemas.yaml_document import Unreadable, read_text
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.people.actions import doing
from hallmark.tasks.people.rights import Right
from hallmark.tasks.planning.uploads import places

Seen = Annotated[str, Form(max_length=drafts.DIGEST)]
"""The digest of the text that a form was made of."""
Content = Mapping[str, Any]
Values = dict[Keys, Value | None]
"""What is to be written, by the keys of the whole spec."""
_UNIT: Keys = ("privacy", "unit")


def read(name: str) -> tuple[str, dict[str, Any], Questions]:
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


def save(request: Request, name: str, seen: str, values: Callable[[Content], Values]) -> str:
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


def inputs_of(answers: Sequence[Answer]) -> list[Input]:
    """All inputs of some answers."""
    return [one for answer in answers for one in answer.inputs]


def typed_in(sent: FormData, inputs: Sequence[Input]) -> dict[str, str]:
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


def fields(
    answers: Sequence[Answer],
    section: Content,
    asked: Mapping[str, Question],
    *,
    of_type: str = "",
    is_of_type: bool = True,
    typed: Mapping[str, str] | None = None,
) -> Iterator[dict[str, Any]]:
    """The inputs of a form as its template shows them.

    Args:
        of_type: the type of the column that the answers are about; empty for the release itself.
        is_of_type: whether the section is of that type; what it says and no choice has is shown
            only then.
        typed: what is shown in place of what the section says, by the inputs' names.
    """
    for answer in answers:
        shown = answer.shown(section)
        for one in answer.inputs:
            value = "" if shown is None else (typed or {}).get(one.name, shown[one.name])
            is_foreign = bool(one.choices) and value not in dict(one.choices)
            yield field(
                one,
                "" if is_foreign and not is_of_type else value,
                asked.get(one.name),
                by_text=shown is None,
                entry=reference(answer.keys[0], of_type),
            )


def field(
    one: Input,
    value: str = "",
    asked: Question | None = None,
    *,
    by_text: bool = False,
    entry: str = "",
) -> dict[str, Any]:
    """One input as its template shows it.

    Args:
        entry: address of what the reference of specs says of its key.
    """
    own = [(value, value)] if one.choices and value not in dict(one.choices) else []
    return {
        "input": one,
        "id": f"in-{one.name.replace('.', '-')}",
        "value": value,
        "choices": [*one.choices, *own],
        "by_text": by_text,
        "asked": asked,
        "entry": entry,
    }


def fields_about_release(content: Content, questions: Questions) -> dict[str, list[dict[str, Any]]]:
    """The inputs about the release itself, by headings."""
    asked = by_input((*questions.release, *questions.table))
    every = answers_about_release().items()
    return {heading: list(fields(answers, content, asked)) for heading, answers in every}


def typed_about_release(sent: FormData) -> dict[str, str]:
    """What was typed about the release itself, as of `typed_in`."""
    every = [one for several in answers_about_release().values() for one in several]
    return typed_in(sent, inputs_of(every))


def about_release(content: Content, typed: Mapping[str, str]) -> Values:
    """What is written of what was typed about the release itself.

    A column that says who a person is is read, and never released.
    """
    answers = [one for several in answers_about_release().values() for one in several]
    found = edits(answers, content, typed)
    unit = found.get(_UNIT)
    person = unit.get("person") if isinstance(unit, Mapping) else None
    if unit != at(content, _UNIT) and isinstance(person, str):
        rest = [one for one in ignored(content) if one != person]
        found |= {("data", "ignore"): rest or None, ("columns", person): None}
    return found


def by_input(questions: Sequence[Question]) -> dict[str, Question]:
    """The first question of every input, by its name."""
    return {one.input.name: one for one in reversed(questions) if one.input is not None}


def suggestions(request: Request, content: Content) -> dict[str, list[str]]:
    """What inputs propose, by the name that they have for it."""
    uploaded = places()
    accounts: list[str] = []
    if logged_in(request).may(Right.ACCOUNTS):
        with suppress(LedgerError):  # its own page tells
            accounts = [state.name for state in ledger().accounts()]
    return {
        "accounts": accounts,
        "columns": [*mapping(content, "columns"), *ignored(content)],
        "files": [one.source for one in uploaded if one.kind == "public"],
        "tables": [one.source for one in uploaded if one.kind == "private"],
    }


def ignored(content: Content) -> list[str]:
    """The columns of the table that are never read."""
    found = at(content, ("data", "ignore"))
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def mapping(content: Content, *keys: str) -> dict[str, Any]:
    """The section at some keys; empty where there is none."""
    found = at(content, keys)
    return found if isinstance(found, dict) else {}
