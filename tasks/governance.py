"""Changes of documents under the control of two people: one proposes, another one approves.

The profile says who may approve releases and on which machines they run, and the calendar which
releases are made while nobody looks; so nobody changes either alone. A proposal holds the document
before and after; it is approved as it stands, and only while the document is still the one that it
was written for, and whoever proposed it may still do so: somebody who left is no half of two
people. Proposals stay, with who decided and why.

Limits.  Whoever has the machine can write the files itself: this is for people of the desk. Who
         they are rests on who may let people in; see docs/desk.md.
"""

import fcntl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from difflib import unified_diff
from pathlib import Path
from typing import Literal, Protocol

from pydantic import AwareDatetime

from hallmark.schemas.documents.approvals import known_as
from hallmark.schemas.section import Section
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import home, private_folder, whole
from hallmark.tasks.people.directory import person
from hallmark.tasks.people.rights import Right

PROFILE = "profile"
"""The name of the document that every installation has; proposals of earlier versions were all
about it."""

Answer = Literal["approved", "refused", "withdrawn"]


class ChangeRefused(SafeError):
    """A change that cannot be proposed or decided about; the message says why.

    Attributes:
        at: what is wrong, by the keys of the document that it is about.
    """

    def __init__(self, message: str, at: Mapping[tuple[str, ...], str] | None = None) -> None:
        super().__init__(message)
        self.at = dict(at or {})


class Document(Protocol):
    """What two people change: a text, with what makes it sound and how it comes into force."""

    @property
    def name(self) -> str:
        """As proposals and the log have it, such as profile."""
        ...

    @property
    def title(self) -> str:
        """As a sentence has it, such as the profile."""
        ...

    @property
    def needed(self) -> Right:
        """What somebody must be allowed to do in order to propose a change of it."""
        ...

    def current(self) -> str:
        """The text as it is in force; empty where there is none."""
        ...

    def refuse_unsound(self, text: str) -> None:
        """Refuse a text that could not be in force.

        Raises:
            SafeError: it could not; says why.
        """
        ...

    def put(self, text: str, *, by: str) -> None:
        """Put a text in force, whole or not at all; also where it is in force already.

        Args:
            by: the login of who proposed it.
        Raises:
            SafeError: that is not possible; nothing has changed.
        """
        ...


class Decided(Section):
    """How a proposal ended."""

    answer: Answer
    by: str
    at: AwareDatetime
    reason: str


class Proposal(Section):
    """A change of a document.

    Attributes:
        document: the name of what it changes.
        before: the text that it changes.
        after: the text that it makes; empty where the document is to go.
    """

    number: int
    document: str = PROFILE
    by: str
    at: AwareDatetime
    reason: str
    before: str
    after: str
    decided: Decided | None = None

    @property
    def lines(self) -> list[str]:
        """What it changes, line by line."""
        before, after = self.before.splitlines(), self.after.splitlines()
        return list(unified_diff(before, after, n=2, lineterm=""))[2:]


def proposals() -> list[Proposal]:
    """All proposals, the newest first."""
    files = sorted(_folder().glob("*.json"), reverse=True)
    return [Proposal.model_validate_json(file.read_bytes()) for file in files]


def propose(document: Document, after: str, reason: str, *, by: str) -> Proposal:
    """Propose a text in place of the present one.

    Raises:
        SafeError: it changes nothing, or could not be in force.
    """
    _refuse_unfounded(reason)
    document.refuse_unsound(after)
    with _alone():
        before = document.current()
        if after == before:
            raise ChangeRefused(f"that is {document.title} as it is; nothing was proposed")
        number = 1 + max((one.number for one in proposals()), default=0)
        made = Proposal(
            number=number,
            document=document.name,
            by=by,
            at=datetime.now(UTC),
            reason=reason.strip(),
            before=before,
            after=after,
        )
        _keep(made)
        return made


def decide(
    number: int, answer: Answer, reason: str, *, by: str, named: Callable[[str], Document]
) -> Proposal:
    """Approve or refuse what somebody else proposed, or withdraw what oneself did.

    Args:
        named: gives the document of a name.
    Raises:
        SafeError: there is no such proposal or it was decided, it is one's own to approve, whoever
            made it may no longer do so, the document has changed since, or cannot be put in force.
    """
    _refuse_unfounded(reason)
    with _alone():
        found = next((one for one in proposals() if one.number == number), None)
        if found is None:
            raise ChangeRefused(f"there is no proposal {number}")
        if found.decided is not None:
            raise ChangeRefused(f"proposal {number} was {found.decided.answer} already")
        own = known_as(by) == known_as(found.by)
        if own != (answer == "withdrawn"):
            raise ChangeRefused(
                "nobody decides about their own proposal; ask another person who may"
                if own
                else "only whoever proposed it withdraws it; refuse it instead"
            )
        if answer == "approved":
            _apply(found, named(found.document))
        said = Decided(answer=answer, by=by, at=datetime.now(UTC), reason=reason.strip())
        done = found.model_copy(update={"decided": said})
        _keep(done)
        return done


def obstacle(proposal: Proposal, document: Document) -> str:
    """Why a proposal can no longer be approved; empty where it can.

    Args:
        document: that it is about.
    """
    who = person(proposal.by)
    if who is None or document.needed not in who.rights:
        return (
            f"proposal {proposal.number} was made by {proposal.by}, who may no longer propose "
            "it; propose it anew"
        )
    if document.current() not in (proposal.before, proposal.after):
        return (
            f"{document.title} has changed since proposal {proposal.number} was made; propose it "
            "anew"
        )
    return ""


def _apply(proposal: Proposal, document: Document) -> None:
    """Put a proposed text in force; once more where a process ended just then."""
    if why := obstacle(proposal, document):
        raise ChangeRefused(why)
    if document.current() != proposal.after:
        document.refuse_unsound(proposal.after)
    document.put(proposal.after, by=proposal.by)


def _refuse_unfounded(reason: str) -> None:
    if not 3 <= len(reason.strip()) <= 2000:
        what = "say why, in 3 to 2,000 characters; it stays with the change"
        raise ChangeRefused(what, {("reason",): what})


def _keep(proposal: Proposal) -> None:
    with whole(_folder() / f"{proposal.number:06d}.json") as draft:
        draft.touch(mode=0o600)
        draft.write_text(proposal.model_dump_json(indent=1), encoding="utf-8")


def _folder() -> Path:
    return private_folder(home() / "governance")


@contextmanager
def _alone() -> Iterator[None]:
    with (_folder() / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
