"""Compare two release folders in a process of its own (`tasks.sources.apart`): files of a release
may be large, and a question may be hard."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.key_register import key_register
from hallmark.tasks.sources.apart import asked_apart


class NotCompared(SafeError):
    """Two releases could not be compared; the message says why."""


def compared_apart(
    before: Path, after: Path, question: str = "", *, simultaneous: bool = False
) -> dict[str, Any]:
    """What `hallmark compare` says, as plain values (`tasks/changes/plain.py`).

    Args:
        question: empty for what changed at all.
        simultaneous: as of `Comparison.ask`; without a question intervals always are.
    Raises:
        NotCompared: the question cannot be answered from both; a folder is no whole release, or
            must not be used; or it takes too much memory or time. Folders are named without the
            folder that they are in.
    """
    found: dict[str, Any] | None = asked_apart(
        _compare,
        "hallmark.tasks.compared",
        {
            "before": str(before.absolute()),
            "after": str(after.absolute()),
            "question": question,
            "simultaneous": simultaneous,
            "register": key_register().model_dump(mode="json"),
        },
    )
    if found is None:
        raise NotCompared(
            "comparing them took too much memory or time here; use hallmark compare, or ask about "
            "fewer groups"
        )
    if "refusal" in found:
        raise NotCompared(found["refusal"])
    return found


def _compare(asked: Mapping[str, Any]) -> Any:
    from hallmark.schemas.documents.agency_keys import AgencyKeys
    from hallmark.schemas.question import QuestionError
    from hallmark.tasks.changes.plain import plain_changes, plain_shifts
    from hallmark.tasks.compared import Comparison

    folders = [Path(asked[which]) for which in ("before", "after")]
    try:
        register = AgencyKeys.model_validate(asked["register"])
        comparison = Comparison.of(folders[0], folders[1], register=register)
        if not asked["question"]:
            return plain_shifts(comparison.shifts())
        (found,) = comparison.ask(asked["question"], simultaneous=asked["simultaneous"])
        relative = [one.relative_in_words for one in found.changes]
        return plain_changes(found) | {"relative_in_words": relative, "by": list(found.by)}
    except (QuestionError, SafeError) as error:
        said = str(error)
        for folder in folders:
            said = said.replace(str(folder), folder.name)
        return {"refusal": said}
