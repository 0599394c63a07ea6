"""What waits for somebody who opens the desk: what they, or people with their rights, can do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hallmark.flows.desk.schedules import document
from hallmark.flows.desk.visitor import Visitor
from hallmark.schemas.documents.approvals import known_as
from hallmark.schemas.profile import Profile
from hallmark.tasks import asked, governance
from hallmark.tasks.gates.approvals import could_approve
from hallmark.tasks.people.rights import Right
from hallmark.tasks.releases import ReleaseState


@dataclass(frozen=True)
class Wait:
    """Something that waits.

    Attributes:
        title: what it is about, which its page is linked by.
        words: what somebody has to do.
    """

    href: str
    title: str
    words: str


def waits_for(visitor: Visitor, found: Sequence[ReleaseState], known: Profile) -> list[Wait]:
    """What waits for somebody, of all releases."""
    waits = [*_requests(visitor, found), *_gates(visitor, found, known)]
    if visitor.may(Right.GOVERN) and not visitor.is_program:
        waits += [
            Wait(
                "/agency",
                f"Proposal {one.number}",
                f"{one.by} proposes to change {document(one.document).title}",
            )
            for one in governance.proposals()
            if one.decided is None and one.by != visitor.person.login
        ]
    return waits


def _requests(visitor: Visitor, found: Sequence[ReleaseState]) -> Iterator[Wait]:
    """Requests that nobody answered, for operators; and those that were declined, for who asked."""
    titles = {one.release: one.title for one in found}
    for one in sorted(asked.requests(), key=lambda request: request.at):
        href, title = f"/releases/{one.release}", titles.get(one.release, "")
        if not title:  # its spec was removed
            continue
        if one.answered is None and visitor.may(Right.RUN):
            yield Wait(href, title, f"{one.by} asks for it: start or decline it")
        elif (
            one.answered is not None
            and one.answered.answer == "declined"
            and one.by == visitor.person.login
        ):
            why = " ".join(one.answered.reason.split())
            yield Wait(href, title, f"{one.answered.by} declined it: {why}")


def _gates(visitor: Visitor, found: Sequence[ReleaseState], known: Profile) -> Iterator[Wait]:
    """Releases at whose gate somebody can still give an approval that is missing."""
    login = known_as(visitor.person.login)
    own = {one.name for one in known.approvers if one.login and known_as(one.login) == login}
    if not own or not visitor.may(Right.DECIDE):
        return
    for one in found:
        if one.state != "waiting" or one.standing is None or one.waits is None:
            continue
        for role, people in could_approve(one.history, one.standing, known.approvers).items():
            if own & set(people):
                words = f"decide about its {one.waits.gate} as {role}"
                yield Wait(f"/releases/{one.release}", one.title, words)
