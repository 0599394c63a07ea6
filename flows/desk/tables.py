"""Files that people upload: brought, looked at by whoever brought them, replaced and taken away.

What a file holds is shown to the person who uploaded it, who has it anyway, and to nobody else; no
program and no log gets it, and its first rows are kept beside it in the home folder alone. What its
bytes suggest of its form is proposed to that person; what they confirm is what a spec says of it.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, HTTPException, Request, Response, UploadFile
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData

from hallmark.flows.desk import drafts
from hallmark.flows.desk.beginnings import begun, proposed_name, refuse_taken
from hallmark.flows.desk.intake import Sent
from hallmark.flows.desk.pages import ledger, page
from hallmark.flows.desk.visitor import Visitor, logged_in
from hallmark.schemas.columns.number_marks import THOUSANDS
from hallmark.schemas.source_text import NoSection, with_keys
from hallmark.schemas.table_sections import FORMATS_BY_SUFFIX, format_by_name
from hallmark.tasks.installation.disk import UPLOAD, allowed, refuse_full, size_in_words
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.installation.workspace import whole
from hallmark.tasks.people.actions import doing, record
from hallmark.tasks.planning.first_rows import first_rows
from hallmark.tasks.planning.places import specs_folder
from hallmark.tasks.planning.skeletons import DICTIONARIES
from hallmark.tasks.planning.uploads import (
    FORM_KEYS,
    Place,
    changing,
    confirm,
    keep,
    make_private,
    places,
    remove,
    sound,
)
from hallmark.tasks.sources.form import DATE_FORMATS, DELIMITERS
from hallmark.tasks.sources.look import LookRefused, look
from hallmark.tasks.table_users import drafts_naming, refuse_used, uses

if TYPE_CHECKING:
    from hallmark.tasks.sources.beginning import Look

router = APIRouter()
ENDINGS = (".csv", ".csv.gz", *(f".{suffix}" for suffix in FORMATS_BY_SUFFIX if suffix != "csv"))
"""How names of tables end; a dictionary may be one of these, or end otherwise."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}")
_CHUNK = 1 << 20
_ENCODINGS = ("utf-8", "windows-1252", "latin-1", "iso-8859-15", "utf-16", "windows-1250", "cp850")


@router.post("/tables")
def upload(
    request: Request, table: UploadFile, public: Annotated[bool, Form()] = False
) -> Response:
    """Keep a table for this installation alone; or codes or a table that are public."""
    name = _name_of(table)
    place, actor = Place("public" if public else "private", name), logged_in(request).actor
    with (
        doing(actor, "table-uploaded", name, public=str(public).lower()),
        _whole(table, place) as draft,
        changing(),
    ):
        keep(place, draft, actor.login, replace=False)
    return _to(place)


@router.get("/tables/{kind}/{name}")
def table_page(request: Request, kind: str, name: str) -> Response:
    """A file: who brought it, how it is written, and what depends on it."""
    place = _existing(kind, name)
    return _page(request, place, _form_of(place), first_rows)


@router.post("/tables/{kind}/{name}/look")
def look_again(request: Request, kind: str, name: str, sent: Sent) -> Response:
    """Show the first rows as they are if the file is written so; nothing is kept."""
    place = _existing(kind, name)
    _refuse_others(logged_in(request), place)
    return _page(request, place, _typed(place, sent), lambda one, form: look(one.file, form))


@router.post("/tables/{kind}/{name}/form")
def say(request: Request, kind: str, name: str, sent: Sent, begin: bool = False) -> Response:
    """Keep how a file is written, and say so in the specs that were chosen; or begin one of it."""
    place, actor = _existing(kind, name), logged_in(request).actor
    _refuse_others(logged_in(request), place)
    form, release = _typed(place, sent), str(sent.get("release", ""))
    if begin:
        refuse_taken(release)
    chosen = [str(one) for one in sent.getlist("spec")]
    with doing(actor, "form-confirmed", place.source, specs=", ".join(chosen)), changing():
        rewritten = dict(_rewritten(place, form, chosen))
        confirm(place, form, actor.login)
        for file, text in rewritten.items():
            with whole(file) as draft:
                draft.touch(mode=0o600)
                draft.write_text(text, encoding="utf-8")
    if not begin:
        return _to(place)
    text = begun(place, release)
    with doing(actor, "spec-saved", release):
        drafts.keep(drafts.file_of(release), text)
    return RedirectResponse(f"/specs/{release}/questions", 303)


@router.post("/tables/{kind}/{name}/replace")
def replace(request: Request, kind: str, name: str, table: UploadFile) -> Response:
    """Put another file in the place of this one, under its name."""
    place, actor = _existing(kind, name), logged_in(request).actor
    if Path(_name_of(table)).suffix.lower() != Path(name).suffix.lower():
        raise SafeError(
            f"{name!r} is to be replaced, so give a file of its kind, {Path(name).suffix}; upload "
            "another kind as a new file"
        )
    with (
        doing(actor, "table-replaced", place.source),
        _whole(table, place) as draft,
        changing(),
    ):
        refuse_used(place.file, ledger(), profile())
        keep(place, draft, actor.login, replace=True)
    return _to(place)


@router.post("/tables/{kind}/{name}/remove")
def take_away(request: Request, kind: str, name: str) -> Response:
    """Delete a file for good."""
    place = _existing(kind, name)
    with doing(logged_in(request).actor, "table-removed", place.source), changing():
        refuse_used(place.file, ledger(), profile())
        remove(place)
    return RedirectResponse("/specs", 303)


@router.post("/tables/{kind}/{name}/private")
def not_public(request: Request, kind: str, name: str) -> Response:
    """Make a file private that was declared public by mistake."""
    place = _existing(kind, name)
    with doing(logged_in(request).actor, "table-made-private", place.source), changing():
        refuse_used(place.file, ledger(), profile())
        there = make_private(place)
    return _to(there)


def _page(
    request: Request,
    place: Place,
    form: Mapping[str, Any] | None,
    looked: Callable[[Place, Mapping[str, Any] | None], "Look"],
) -> Response:
    visitor, known, refusal, seen = logged_in(request), place.upload, "", None
    is_own = _is_of(visitor, place)
    if is_own and place.is_table:
        record(visitor.actor, "opened", place.source, file="first rows")
        try:
            seen = looked(place, form)
        except LookRefused as error:
            refusal = str(error)
    return page(
        request,
        "table",
        place=place,
        known=known,
        is_own=is_own,
        seen=seen,
        refusal=refusal or (seen.refusal if seen else ""),
        form=dict.fromkeys(FORM_KEYS) | dict(seen.form if seen else form or {}),
        is_csv=format_by_name(place.name) == "csv",
        # From its size the number of its records could be told.
        size=size_in_words(place.file.stat().st_size) if is_own else None,
        drafts=drafts_naming(place.source),
        proposed=proposed_name(place),
        uses=uses(place.file, ledger(), profile()),
        most=size_in_words(allowed(UPLOAD)),
        choices={
            "encodings": _ENCODINGS,
            "delimiters": DELIMITERS,
            "thousands": THOUSANDS,
            "date_formats": DATE_FORMATS,
        },
    )


def _form_of(place: Place) -> Mapping[str, Any] | None:
    known = place.upload
    return None if known is None else known.form


def _typed(place: Place, given: FormData) -> dict[str, Any]:
    """How a file is written, as a form says it.

    Raises:
        UploadRefused: a key is not sound; line by line.
    """
    form: dict[str, Any] = {key: str(given.get(key, "")) for key in FORM_KEYS}
    form["delimiter"] = {"tab": "\t"}.get(form["delimiter"], form["delimiter"])
    marks = [line for line in form["null_markers"].splitlines() if line.strip()]
    form["null_markers"] = [line.strip() for line in marks] + [""] * ("empty" in given)
    return sound(place, form)


def _rewritten(
    place: Place, form: Mapping[str, Any], chosen: list[str]
) -> Iterator[tuple[Path, str]]:
    """The chosen specs, which say that their table is written so."""
    known = drafts_naming(place.source)
    keys = {key: form.get(key) for key in FORM_KEYS}
    for name in chosen:
        if name not in known:
            raise SafeError(f"spec {name!r} does not name {place.source!r} as its table any more")
        file = specs_folder() / f"{name}.yaml"
        try:
            yield file, with_keys(file.read_text(encoding="utf-8"), keys)
        except NoSection as error:
            raise SafeError(f"{name}: {error}; nothing was changed") from None


def brought_by(visitor: Visitor, source: str) -> bool:
    """Whether the table that a spec calls so was uploaded by somebody, who asks in person."""
    return any(one.source == source and _is_of(visitor, one) for one in places())


def _is_of(visitor: Visitor, place: Place) -> bool:
    """Whether somebody sees what is in a file: in person, and brought it."""
    known = place.upload
    return not visitor.is_program and known is not None and known.by == visitor.person.login


def _refuse_others(visitor: Visitor, place: Place) -> None:
    if not _is_of(visitor, place):
        raise HTTPException(
            403, f"only the person who uploaded {place.name!r} sees what is in it, in a browser"
        )


def _existing(kind: str, name: str) -> Place:
    is_one = kind in ("private", "public") and _NAME.fullmatch(name) is not None
    place = Place("public" if kind == "public" else "private", name)
    if not is_one or not place.file.is_file():
        raise HTTPException(404, f"there is no file {name!r} here")
    return place


def _name_of(table: UploadFile) -> str:
    name = Path((table.filename or "").replace("\\", "/")).name
    known = (*ENDINGS, *DICTIONARIES)
    if _NAME.fullmatch(name) is None or not name.lower().endswith(known):
        raise SafeError(
            f"{name!r}: give a file with a name of letters, digits, dots and dashes that ends in "
            f"{', '.join(known)}"
        )
    return name


@contextmanager
def _whole(table: UploadFile, place: Place) -> Iterator[Path]:
    """A file as it came, beside its place; gone afterwards unless it was put there."""
    draft = place.folder / f".{os.urandom(16).hex()}.{place.name}"
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as kept:
            while chunk := table.file.read(_CHUNK):
                refuse_full(place.folder, len(chunk))
                kept.write(chunk)
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _to(place: Place) -> Response:
    return RedirectResponse(f"/tables/{place.kind}/{place.name}", 303)
