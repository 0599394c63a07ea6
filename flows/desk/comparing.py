"""How a table changed from one published release to another: the answers of `hallmark compare`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from hallmark.flows.desk.pages import ledger, page
from hallmark.schemas.documents.manifest import SPEC_FILE
from hallmark.schemas.loading import load_spec
from hallmark.schemas.series import siblings
from hallmark.schemas.visible import visible
from hallmark.tasks.changes.changes import short
from hallmark.tasks.compared_apart import NotCompared, compared_apart
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.releases import ReleaseState, releases

router = APIRouter()
_Name = Annotated[str, Query(max_length=200)]


@router.get("/compare")
def compare_page(
    request: Request,
    before: _Name = "",
    after: _Name = "",
    question: Annotated[str, Query(max_length=500)] = "",
    together: bool = False,
) -> Response:
    """The form to choose two releases and ask about both; with two chosen, the answer.

    With the later one alone, the one about the period before is proposed.
    """
    there = {one.release: one for one in _published(releases(ledger(), profile()))}
    found, problem = None, ""
    if after in there and not before:
        before = _before(there[after], list(there)) or ""
        return _page(request, there, before, after)
    if before and after:
        unknown = [name for name in (before, after) if name not in there]
        if unknown:
            problem = f"{visible(unknown[0])} is no published release; choose another"
        else:
            try:
                found = _told(there[before], there[after], question.strip(), together)
            except NotCompared as error:
                problem = str(error)
    return _page(
        request,
        there,
        before,
        after,
        question=question,
        together=together,
        found=found,
        problem=problem,
    )


def _page(
    request: Request,
    there: Mapping[str, ReleaseState],
    before: str,
    after: str,
    *,
    question: str = "",
    together: bool = False,
    found: dict[str, Any] | None = None,
    problem: str = "",
) -> Response:
    return page(
        request,
        "compare",
        status=409 if problem else 200,
        releases=list(there.values()),
        before=before,
        after=after,
        question=question,
        together=together,
        found=found,
        problem=problem,
    )


def _published(every: Sequence[ReleaseState]) -> list[ReleaseState]:
    """The releases whose folders are there, in the order of their names: periods in theirs."""
    return sorted(
        (one for one in every if one.state == "published" and one.folder is not None),
        key=lambda one: one.release,
    )


def _before(one: ReleaseState, names: Sequence[str]) -> str | None:
    """The release about the last earlier period of the same series, the last revision of it; None
    if there is none among those of these names."""
    assert one.folder is not None, "it is published"
    series = load_spec(one.folder / SPEC_FILE, is_published=True).series
    if series is None:
        return None
    form = siblings(one.release, series.period)
    found = [
        (match["period"], int(match["revision"] or 0), name)
        for name in names
        if (match := form.fullmatch(name)) is not None and match["period"] < series.period
    ]
    return max(found)[-1] if found else None


def _told(
    before: ReleaseState, after: ReleaseState, question: str, together: bool
) -> dict[str, Any]:
    """What is shown of a comparison: texts alone, row by row.

    Raises:
        NotCompared: there is no answer.
    """
    assert before.folder is not None, "it is published"
    assert after.folder is not None, "it is published"
    found = compared_apart(before.folder, after.folder, question, simultaneous=together)
    if not question:
        return {"tables": found["tables"], "untold": found["untold"], "notes": found["notes"]}
    return {
        "by": found["by"],
        "confidence": found["confidence"],
        "rows": [
            (
                list(one["group"].values()),
                _number(one["before"]),
                _number(one["after"]),
                one["in_words"],
                relative,
                one["basis"],
            )
            for one, relative in zip(found["changes"], found["relative_in_words"], strict=True)
        ],
        "has_relative": any(one != "–" for one in found["relative_in_words"]),
        "notes": found["notes"],
    }


def _number(value: float | None) -> str:
    return "unknown" if value is None else short(value)
