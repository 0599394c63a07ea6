"""Releases that somebody asks for, until an operator starts or declines them.

Whoever writes specs need not run them. What they ask for is a note in the release's workspace; it
orders nothing, and a run never reads it. An operator who starts the release answers it, under their
own name; one who declines says why. Whoever asked is kept, and decides at no gate of the release.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Literal

from pydantic import AwareDatetime

from hallmark.schemas.section import Section
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.notes import note_about, notes
from hallmark.tasks.installation.workspace import Workspace, whole

_FILE = "asked.json"


class Answer(Section):
    """What an operator made of a request."""

    answer: Literal["started", "declined"]
    by: str
    at: AwareDatetime
    reason: str = ""


class Asked(Section):
    """Somebody's request to release what a spec says.

    Attributes:
        by: login of whoever asked last; `askers` has all who ever did.
        spec: digest of the text of the spec at that time.
        words: for the operator.
    """

    release: str
    by: str
    at: AwareDatetime
    spec: str
    words: str = ""
    askers: tuple[str, ...] = ()
    answered: Answer | None = None


def asked_for(release: str) -> Asked | None:
    """The last request for a release; None where there is none."""
    return note_about(Asked, release, _FILE)


def requests() -> Iterator[Asked]:
    """The last request for each release, answered or not, in no order."""
    return notes(Asked, _FILE)


def ask(release: str, *, by: str, spec: str, words: str) -> None:
    """Ask for a release.

    Raises:
        SafeError: somebody did, and nobody answered yet.
    """
    known = asked_for(release)
    if known is not None and known.answered is None:
        raise SafeError(
            f"{known.by} asked for {release} already; an operator has to start or decline it"
        )
    askers = dict.fromkeys((*(known.askers if known else ()), by))
    now = datetime.now(UTC)
    _write(Asked(release=release, by=by, at=now, spec=spec, words=words, askers=tuple(askers)))


def decline(release: str, *, by: str, reason: str) -> None:
    """Answer that a release is not started.

    Raises:
        SafeError: nobody asks for it, or no reason is given.
    """
    known = asked_for(release)
    if known is None or known.answered is not None:
        raise SafeError(f"nobody asks for {release} any more; open its page once more")
    if len(reason.strip()) < 3:
        raise SafeError("say why, in at least 3 characters; whoever asked reads it")
    _answer(known, Answer(answer="declined", by=by, at=datetime.now(UTC), reason=reason.strip()))


def note_started(release: str, *, by: str) -> None:
    """Answer that a release was started, if somebody asked for it, declined before or not."""
    known = asked_for(release)
    if known is not None and (known.answered is None or known.answered.answer == "declined"):
        _answer(known, Answer(answer="started", by=by, at=datetime.now(UTC)))


def _answer(known: Asked, answer: Answer) -> None:
    _write(known.model_copy(update={"answered": answer}))


def _write(note: Asked) -> None:
    with whole(Workspace.of(note.release).path / _FILE) as draft:
        draft.touch(mode=0o600)
        draft.write_text(note.model_dump_json(indent=1))
