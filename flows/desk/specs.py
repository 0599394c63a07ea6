"""Specs written at the desk: begun from a table or a dictionary, checked while somebody types, and
shown beside their plan and the price of other epsilons."""

import re
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Body, Form, HTTPException, Request, Response, UploadFile
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse

from hallmark import schemas
from hallmark.flows import engine
from hallmark.flows.desk import drafts
from hallmark.flows.desk.beginnings import begun, refuse_taken
from hallmark.flows.desk.pages import STAGED, ledger, page, part
from hallmark.flows.desk.tables import ENDINGS, brought_by
from hallmark.flows.desk.visitor import Visitor, logged_in
from hallmark.schemas.calendar import PERIOD_MARK
from hallmark.schemas.exact import read_exact
from hallmark.schemas.loading import SpecError, load_spec
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.section import MOST_CHARACTERS
from hallmark.schemas.spec_questions import Questions
from hallmark.schemas.yaml_document import Unreadable
from hallmark.tasks.asked import asked_for
from hallmark.tasks.check import ordering_check, standing, values_page
from hallmark.tasks.dictionaries import READERS
from hallmark.tasks.forecast.board import board_page
from hallmark.tasks.forecast.frontier import frontier_plot, in_sentences
from hallmark.tasks.forecast.solution import solved
from hallmark.tasks.forecast.summary import plan_summary
from hallmark.tasks.forecast.verdict import in_words, sweep
from hallmark.tasks.installation.disk import UPLOAD, allowed, size_in_words
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.installation.workspace import whole
from hallmark.tasks.ledger.accounts import about_balance, balance
from hallmark.tasks.people.actions import doing, record
from hallmark.tasks.planning.confined import SpecConfined, refuse_beyond
from hallmark.tasks.planning.looks import refuse_used_up
from hallmark.tasks.planning.places import checked_spec, specs_folder, tables_folder
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.requested import PlanRefused
from hallmark.tasks.planning.uploads import Place, ordering_from, places
from hallmark.tasks.releases import release_of

router = APIRouter()
_LINE = re.compile(r"(?::(\d+))?(?:: )?(?:([^\s:]+): )?(.*)", re.DOTALL)
_SCHEMA = Path(schemas.__file__).with_name("release-spec.schema.json")

Text = Annotated[str, Body(max_length=drafts.MOST_SPEC)]


@router.get("/schema/release-spec.json")
def schema() -> Response:
    """The JSON Schema of specs, for the editor."""
    return FileResponse(_SCHEMA, media_type="application/schema+json")


@router.get("/specs")
def specs_page(request: Request) -> Response:
    """All specs that are kept at the desk, and the ways to begin one."""
    most = size_in_words(allowed(UPLOAD))
    return page(
        request,
        "specs",
        specs=_specs(),
        files=places(),
        dictionaries=_dictionaries(),
        most=most,
        endings=ENDINGS,
    )


@router.post("/specs")
def begin(
    request: Request,
    name: Annotated[str, Form(max_length=200)],
    table: Annotated[str, Form(max_length=200)] = "",
    dictionary: Annotated[str, Form(max_length=200)] = "",
    spec: UploadFile | None = None,
) -> Response:
    """Begin a spec: from an uploaded one, or as `init` does of a table, a dictionary or both."""
    refuse_taken(name)
    if spec is not None and spec.filename:
        text = _decoded(spec.file.read(drafts.MOST_SPEC + 1))
    else:
        text = begun(_chosen(table, places()), name, _chosen(dictionary, _dictionaries()))
    with doing(logged_in(request).actor, "spec-saved", name):
        drafts.keep(drafts.file_of(name), text)
    return RedirectResponse(f"/specs/{name}", 303)


@router.post("/specs/check")
def check(text: Text, name: Annotated[str, Body()] = "") -> Response:
    """What is wrong with a spec as it stands, line by line."""
    with drafts.drafted(text) as draft:
        try:
            refuse_beyond(draft)
            found = load_spec(draft, tables_folder())
        except (SpecError, SpecConfined) as error:
            problems = [_problem(line, draft) for line in str(error).splitlines()]
            return JSONResponse({"problems": problems, "complete": False})
    problems = [_warning(warning) for warning in found.warnings()]
    if name and (wrong := drafts.wrong_name(name, text, found.release)):
        problems.append(
            {"line": None, "column": None, "key": "release", "message": wrong, "severity": "error"}
        )
    complete = all(one["severity"] != "error" for one in problems)
    return JSONResponse({"problems": problems, "complete": complete})


@router.post("/specs/plan")
def plan(text: Text, name: Annotated[str, Body(max_length=MOST_CHARACTERS)] = "") -> Response:
    """What a release of the spec will cost and how good it will be, as a part of the page.

    Args:
        name: of the spec whose forms the plan links to; empty for none.
    """
    if name:
        drafts.existing(name)
    with drafts.drafted(text) as draft:
        refuse_beyond(draft)
        prepared = prepared_draft(draft)
        summary, found = plan_summary(prepared), balance(prepared)
        shown = set(prepared.spec.warnings())  # by the editor's own check
        summary["warnings"] = [one for one in summary["warnings"] if one not in shown]
        summary["warnings"] += about_balance(prepared.spec, found)
        file = standing(prepared.spec, tables_folder())
    return part("plan", plan=summary, left=found.words, file=file, spec=name)


@router.post("/specs/alternative")
def alternative(text: Text, epsilon: Annotated[str, Body(max_length=40)]) -> Response:
    """What another epsilon would bring, with all else as the spec says, as a row of the page."""
    wanted = _epsilon(epsilon)
    with drafts.drafted(text) as draft:
        refuse_beyond(draft)
        prepared = prepared_draft(draft)
        (one,) = sweep(prepared, [wanted])
    return part(
        "alternative",
        one=one,
        needs=len(prepared.spec.needs),
        bound=max((told.bound for told in one.told), default=None),
        words=one.refusal or in_words(one.told),
    )


@router.post("/specs/frontier")
def frontier(text: Annotated[str, Body(max_length=drafts.MOST_SPEC, embed=True)]) -> Response:
    """From which epsilon on each need is met, with all else as the spec says, as a part of the
    page."""
    with drafts.drafted(text) as draft:
        refuse_beyond(draft)
        prepared = prepared_draft(draft)
        if not prepared.spec.needs:
            raise SafeError("the spec states no needs; write some under needs:")
        solution = solved(prepared, prepared.spec.needs)
    picture = frontier_plot(solution, prepared.spec.privacy.epsilon)
    return part(
        "frontier",
        picture=b64encode(picture.encode()).decode(),
        told=list(in_sentences(solution)),
        least=solution.epsilon,
        asked_by=solution.asked_by,
    )


@router.get("/specs/{name}/board")
def board(name: str) -> Response:
    """The page on which a board decides about the spec as it is saved, to print."""
    with drafts.drafted(drafts.existing(name).read_text(encoding="utf-8")) as draft:
        refuse_beyond(draft)
        prepared = prepared_draft(draft)
        needs = prepared.spec.needs
        shown = board_page(
            prepared,
            plan_summary(prepared),
            balance(prepared),
            solved(prepared, needs) if needs else None,
        )
    return HTMLResponse(shown, headers={"Content-Security-Policy": STAGED})


@router.get("/specs/{name}")
def spec_page(request: Request, name: str, plan: str = "") -> Response:
    """The editor of one spec.

    Args:
        plan: `now` where the plan is to be shown at once.
    """
    text = drafts.existing(name).read_text(encoding="utf-8")
    questions, recurs = _questions(name, text), PERIOD_MARK in text
    is_complete = questions is not None and questions.number == 0
    one = None if recurs or not is_complete else release_of(name, ledger(), profile())
    return page(
        request,
        "spec",
        name=name,
        text=text,
        seen=drafts.digest(text),
        questions=questions,
        recurs=recurs,
        plan_now=plan == "now" and is_complete,
        is_new=one is not None and one.state == "draft",
        asked=asked_for(name) if is_complete else None,
        server=engine.has_server(),
        **_about_file(logged_in(request), text),
    )


@router.post("/specs/{name}")
def save(
    request: Request,
    name: str,
    text: Annotated[str, Form(max_length=drafts.MOST_SPEC)],
    seen: Annotated[str, Form(max_length=drafts.DIGEST)] = "",
) -> Response:
    """Save a spec, complete or not, unless its text was changed since it was seen."""
    file = drafts.existing(name)
    with doing(logged_in(request).actor, "spec-saved", name):
        drafts.rewrite(file, seen, lambda _: text.replace("\r\n", "\n"))
    return RedirectResponse(f"/specs/{name}", 303)


@router.post("/specs/{name}/validate")
def validate(request: Request, name: str) -> Response:
    """Check the private table against the spec as it is saved, on a worker."""
    file, visitor, copy = drafts.existing(name), logged_in(request), checked_spec(name)
    with doing(visitor.actor, "ordered", name, check="true"):
        with whole(copy) as draft:  # what is looked at here is what is checked
            draft.write_text(drafts.as_of_now(file.read_text(encoding="utf-8")), encoding="utf-8")
            refuse_beyond(draft)
            spec = prepared_draft(draft).spec
        refuse_used_up(spec, tables_folder())
        with ordering_from(), ordering_check(spec.release, visitor.person.login) as order:
            engine.start(
                engine.VALIDATION,
                {"spec": str(copy), "folder": str(tables_folder()), "order": order},
                release=spec.release,
            )
    return RedirectResponse(f"/specs/{name}", 303)


@router.get("/specs/{name}/values")
def values(request: Request, name: str) -> Response:
    """The values that broke rules in the last check, for whoever uploaded the table alone."""
    visitor, text = logged_in(request), drafts.existing(name).read_text(encoding="utf-8")
    spec = _loaded(text)
    found = None if spec is None else values_page(spec, tables_folder())
    if spec is None or found is None:
        raise HTTPException(404, f"no check of {name} found values that break its rules")
    if not brought_by(visitor, spec.data.source):
        raise HTTPException(
            403, "only the person who uploaded the table sees values of it, in a browser"
        )
    record(visitor.actor, "opened", name, file=found.name)
    return FileResponse(found, headers={"Content-Security-Policy": STAGED}, media_type="text/html")


@router.post("/specs/{name}/remove")
def remove(request: Request, name: str) -> Response:
    """Remove a draft; what was released by it stays."""
    file = drafts.existing(name)
    with doing(logged_in(request).actor, "spec-removed", name):
        file.unlink()
    return RedirectResponse("/specs", 303)


def _questions(name: str, text: str) -> Questions | None:
    """What is left to be answered; None if the text is not YAML, as the editor then says."""
    with suppress(Unreadable):
        return drafts.asked_in(name, text)[1]
    return None


def _about_file(visitor: Visitor, text: str) -> dict[str, Any]:
    """What the page of a spec says of its private table."""
    spec = _loaded(text)
    if spec is None:
        return {"file": None, "values": False, "table": None}
    source = spec.data.source
    return {
        "file": standing(spec, tables_folder()),
        "values": values_page(spec, tables_folder()) is not None and brought_by(visitor, source),
        "table": source if any(one.source == source for one in places()) else None,
    }


def _loaded(text: str) -> ReleaseSpec | None:
    """The spec as of this month; None where it is not complete."""
    with drafts.drafted(text) as draft, suppress(SpecError, SpecConfined):
        refuse_beyond(draft)
        return load_spec(draft, tables_folder())
    return None


def prepared_draft(draft: Path) -> Prepared:
    """A spec of the desk as a run would prepare it.

    Raises:
        SafeError: it is not complete; line by line.
    """
    try:
        return prepare(draft, tables_folder())
    except SpecError as error:
        problems = [_problem(line, draft) for line in error.problems]
        lines = "\n".join(f"{one['key']}: {one['message']}" for one in problems)
        raise SafeError(f"the spec is not complete yet:\n{lines}") from None
    except PlanRefused as error:
        problem = _problem(str(error), draft)
        at = "" if problem["line"] is None else f"line {problem['line']}: "
        key = f"{problem['key']}: " if problem["key"] else ""
        raise SafeError(f"there can be no such release. {at}{key}{problem['message']}") from None


def looked_at(name: str, template: str) -> None:
    """Look at a template as of this month, before anybody relies on it.

    Raises:
        SafeError: it names files that the desk does not keep, is not complete, or does not name
            its releases as `name` wants; line by line.
    """
    with drafts.drafted(template) as draft:
        refuse_beyond(draft)
        release = prepared_draft(draft).spec.release
    if wrong := drafts.wrong_name(name, template, release):
        raise SafeError(f"release: {wrong}")


def _epsilon(text: str) -> Any:
    try:
        value = read_exact(text.strip())
    except ValueError:
        value = None
    if value is None or not 0 < value <= 1000:
        raise SafeError(f"{text!r} is no epsilon; give numbers between 0 and 1000")
    return value


def _problem(line: str, draft: Path) -> dict[str, Any]:
    """A problem as the editor shows it, of a line `file:line: key: what is wrong`."""
    number, key, message = _LINE.fullmatch(line.removeprefix(str(draft))).groups()  # type: ignore[union-attr]
    return {
        "line": None if number is None else int(number),
        "column": None,
        "key": key or "",
        "message": message.replace(str(draft), "the spec"),
        "severity": "error",
    }


def _warning(text: str) -> dict[str, Any]:
    return {"line": None, "column": None, "key": "", "message": text, "severity": "warning"}


def _specs() -> list[str]:
    return sorted(path.stem for path in specs_folder().glob("*.yaml"))


def _dictionaries() -> list[Place]:
    """The files that may be data dictionaries: what is said there is published, so it is public."""
    return [one for one in places() if one.kind == "public" and one.file.suffix.lower() in READERS]


def _chosen(source: str, among: list[Place]) -> Place | None:
    """One of the files; None if none was chosen.

    Raises:
        SafeError: there is no such file any more.
    """
    found = next((one for one in among if one.source == source), None)
    if source and found is None:
        raise SafeError(f"there is no file {source!r} to begin with any more; nothing was begun")
    return found


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SafeError("the spec is not a text in UTF-8; save it as one") from None
