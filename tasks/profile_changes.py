"""The profile as a document that two people change, and its changes that are made by forms.

A form changes the text of the profile as it is: comments, and what no form shows, stay.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from hallmark.schemas.documents.approvals import known_as
from hallmark.schemas.loading import SpecError, load_profile
from hallmark.tasks.governance import PROFILE, ChangeRefused
from hallmark.tasks.installation.profile import profile_file
from hallmark.tasks.installation.workspace import home, private_folder, whole
from hallmark.tasks.people.rights import Right

MOST_TEXT = 200_000  # characters of a profile
_EMPTY = "hallmark_profile: 1\n"

Place = Literal["here", "local", "address", "class"]
"""Where releases run: in their own process, or on a cluster of one of these kinds."""

KINDS: Mapping[Place, tuple[str, ...]] = {
    "local": ("local",),
    "address": ("address", "tls"),
    "class": ("class", "adapt"),
}
"""The kinds of clusters, with the keys of the section that a form has for each."""


class ProfileText:
    """The profile of this installation."""

    name = PROFILE
    title = "the profile"
    needed = Right.GOVERN

    def current(self) -> str:
        """The text as it is; the least one where there is no file."""
        file = profile_file()
        return file.read_text(encoding="utf-8") if file.exists() else _EMPTY

    def refuse_unsound(self, text: str) -> None:
        """Refuse what is no profile, and any text where the file cannot be written.

        Raises:
            ChangeRefused: line by line, and by its keys.
        """
        if len(text) > MOST_TEXT:
            raise ChangeRefused(
                f"a profile has at most {MOST_TEXT:,} characters; nothing was proposed"
            )
        file = profile_file()
        if not os.access(file if file.exists() else file.parent, os.W_OK):
            raise ChangeRefused(
                f"the profile is {file}, which the desk cannot write; change it where it is kept"
            )
        with TemporaryDirectory(dir=private_folder(home() / "tmp")) as folder:
            draft = Path(folder) / "profile.yaml"
            draft.write_text(text, encoding="utf-8")
            try:
                load_profile(draft)
            except SpecError as error:
                said = str(error).replace(f"{draft}:", "line ").replace(str(draft), "the profile")
                at = {tuple(map(str, one.path)): one.what for one in error.found}
                raise ChangeRefused(
                    f"this is no profile, and was not proposed:\n{said}", at
                ) from None

    def put(self, text: str, *, by: str) -> None:
        """Write the file."""
        try:
            with whole(profile_file()) as draft:
                draft.touch(mode=0o600)
                draft.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ChangeRefused(
                f"the profile cannot be written ({error.strerror}); nothing was decided"
            ) from None


def as_written(text: str) -> str:
    """A text that came from a form, as it is kept: with plain line breaks, and one at its end."""
    return text.replace("\r\n", "\n").rstrip() + "\n"


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


def with_cluster(text: str, place: Place, said: Mapping[tuple[str, ...], str]) -> str:
    """A profile's text whose releases run elsewhere.

    Args:
        place: with `here` there is no cluster.
        said: by the keys of the section; empty for what is not said. The arguments of a class,
            which no form shows, stay with their class.
    """

    def change(content: Any) -> None:
        before = content.get("cluster") or {}
        made: dict[str, Any] = {"local": {}} if place == "local" else {}
        for keys, value in said.items():
            if value and keys[0] in KINDS.get(place, ()):
                section = made
                for key in keys[:-1]:
                    section = section.setdefault(key, {})
                section[keys[-1]] = int(value) if value.isdecimal() else value
        if made.get("class") and made["class"] == before.get("class") and "options" in before:
            made["options"] = before["options"]
        if place == "here":
            content.pop("cluster", None)
        elif before:
            _make_same(before, made)
        else:
            content["cluster"] = made

    return _changed(text, change)


def _make_same(section: Any, wanted: Mapping[str, Any]) -> None:
    """Change what differs in a section, and leave all else with its comments."""
    for key in [key for key in section if key not in wanted]:
        del section[key]
    for key, value in wanted.items():
        if isinstance(value, Mapping) and isinstance(section.get(key), Mapping):
            _make_same(section[key], value)
        elif section.get(key) != value:
            section[key] = value


def _changed(text: str, change: Callable[[Any], None]) -> str:
    """The text after a change of its content; its comments stay."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1000
    try:
        content = yaml.load(text)
    except YAMLError:
        content = None
    if not isinstance(content, dict):
        raise ChangeRefused("the profile cannot be read as YAML; mend its text first")
    change(content)
    said = StringIO()
    yaml.dump(content, said)
    return as_written(said.getvalue())
