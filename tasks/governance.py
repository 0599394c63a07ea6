"""Changes of the profile under the control of two people: one proposes, another one approves.

The profile says who may approve releases and on which machines they run, so nobody changes it
alone. A proposal holds the profile before and after; it is approved as it stands, and only while
the profile is still the one that it was written for. Proposals stay, with who decided and why.

Limits.  Whoever has the machine can write the file itself: this is for people of the desk. Who they
         are rests on who may let people in; see docs/desk.md.
"""

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from difflib import unified_diff
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from pydantic import AwareDatetime
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from hallmark.schemas.documents.approvals import known_as
from hallmark.schemas.loading import SpecError, load_profile
from hallmark.schemas.section import Section
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.profile import profile_file
from hallmark.tasks.installation.workspace import home, private_folder, whole

MOST_TEXT = 200_000  # characters of a profile
_EMPTY = "hallmark_profile: 1\n"

Answer = Literal["approved", "refused", "withdrawn"]


class ChangeRefused(SafeError):
    """A change of the profile that cannot be proposed or decided about; the message says why."""


class Decided(Section):
    """How a proposal ended."""

    answer: Answer
    by: str
    at: AwareDatetime
    reason: str


class Proposal(Section):
    """A change of the profile.

    Attributes:
        before: the profile that it changes, as text.
        after: the profile that it makes.
    """

    number: int
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


def current() -> str:
    """The text of the profile as it is."""
    file = profile_file()
    return file.read_text(encoding="utf-8") if file.exists() else _EMPTY


def proposals() -> list[Proposal]:
    """All proposals, the newest first."""
    files = sorted(_folder().glob("*.json"), reverse=True)
    return [Proposal.model_validate_json(file.read_bytes()) for file in files]


def propose(after: str, reason: str, *, by: str) -> Proposal:
    """Propose a profile in place of the present one.

    Raises:
        ChangeRefused: it changes nothing, is no profile (line by line), or the file that is read
            cannot be written here.
    """
    after = after.replace("\r\n", "\n").rstrip() + "\n"
    _refuse_unfounded(reason)
    if len(after) > MOST_TEXT:
        raise ChangeRefused(f"a profile has at most {MOST_TEXT:,} characters; nothing was proposed")
    file = profile_file()
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise ChangeRefused(
            f"the profile is {file}, which the desk cannot write; change it where it is kept"
        )
    _refuse_unsound(after)
    with _alone():
        before = current()
        if after == before:
            raise ChangeRefused("that is the profile as it is; nothing was proposed")
        number = 1 + max((one.number for one in proposals()), default=0)
        made = Proposal(
            number=number,
            by=by,
            at=datetime.now(UTC),
            reason=reason.strip(),
            before=before,
            after=after,
        )
        _keep(made)
        return made


def decide(number: int, answer: Answer, reason: str, *, by: str) -> Proposal:
    """Approve or refuse what somebody else proposed, or withdraw what oneself did.

    Raises:
        ChangeRefused: there is no such proposal or it was decided, it is one's own to approve, or
            the profile has changed since it was made.
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
            _apply(found)
        said = Decided(answer=answer, by=by, at=datetime.now(UTC), reason=reason.strip())
        done = found.model_copy(update={"decided": said})
        _keep(done)
        return done


def with_approver(text: str, *, name: str, roles: Sequence[str], login: str, key: str) -> str:
    """A profile's text with one approver more, or with another entry for one of that name."""

    def change(content: Any) -> None:
        entry = {"name": name, "roles": list(roles), "login": login, "key": key}
        listed = content.setdefault("approvers", [])
        at = [i for i, one in enumerate(listed) if known_as(str(one.get("name"))) == known_as(name)]
        written = {field: value for field, value in entry.items() if value}
        if at:
            listed[at[0]] = written
        else:
            listed.append(written)

    return _changed(text, change)


def without_approver(text: str, name: str) -> str:
    """A profile's text without an approver."""

    def change(content: Any) -> None:
        listed = content.get("approvers", [])
        content["approvers"] = [
            one for one in listed if known_as(str(one.get("name"))) != known_as(name)
        ]

    return _changed(text, change)


def with_gates(text: str, *, plan: Sequence[str], disclosure: Sequence[str]) -> str:
    """A profile's text with these approvals of every release."""

    def change(content: Any) -> None:
        gates = {"plan": list(plan), "disclosure": list(disclosure)}
        content["approvals"] = {gate: roles for gate, roles in gates.items() if roles}

    return _changed(text, change)


def _changed(text: str, change: Callable[[Any], None]) -> str:
    """The text after a change of its content; its comments stay."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1000
    try:
        content = yaml.load(text)
    except YAMLError:
        raise ChangeRefused("the profile cannot be read as YAML; mend its text first") from None
    change(content)
    said = StringIO()
    yaml.dump(content, said)
    return said.getvalue()


def _apply(proposal: Proposal) -> None:
    """Put a proposed profile in place; done already where a process ended just then."""
    now = current()
    if now == proposal.after:
        return
    if now != proposal.before:
        raise ChangeRefused(
            f"the profile has changed since proposal {proposal.number} was made; propose it anew"
        )
    _refuse_unsound(proposal.after)
    try:
        with whole(profile_file()) as draft:
            draft.touch(mode=0o600)
            draft.write_text(proposal.after, encoding="utf-8")
    except OSError as error:
        raise ChangeRefused(
            f"the profile cannot be written ({error.strerror}); nothing was decided"
        ) from None


def _refuse_unfounded(reason: str) -> None:
    if not 3 <= len(reason.strip()) <= 2000:
        raise ChangeRefused("say why, in 3 to 2,000 characters; it stays with the change")


def _refuse_unsound(text: str) -> None:
    with TemporaryDirectory(dir=_folder()) as folder:
        draft = Path(folder) / "profile.yaml"
        draft.write_text(text, encoding="utf-8")
        try:
            load_profile(draft)
        except SpecError as error:
            said = str(error).replace(f"{draft}:", "line ").replace(str(draft), "the profile")
            raise ChangeRefused(f"this is no profile, and was not proposed:\n{said}") from None


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
