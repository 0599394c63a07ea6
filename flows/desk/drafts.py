"""Texts of specs at the desk: where they are kept, how they change, and what they still lack."""

import hashlib
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastapi import HTTPException

from hallmark.schemas.loading import SpecError, load_spec
from hallmark.schemas.section import IDENTIFIER, Problem
from hallmark.schemas.spec_questions import Questions, questions_about
from hallmark.schemas.templates import PERIOD_MARK
from hallmark.schemas.yaml_document import read_text
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import home, private_folder, whole
from hallmark.tasks.planning.confined import SpecConfined, refuse_beyond
from hallmark.tasks.planning.places import specs_folder, tables_folder
from hallmark.tasks.planning.uploads import changing

MOST_SPEC = 1_000_000  # characters of a spec
DIGEST = 64  # characters of the digest of one


def file_of(name: str) -> Path:
    """Where a spec is kept, which need not exist.

    Raises:
        SafeError: it cannot have this name.
    """
    if re.fullmatch(IDENTIFIER, name) is None:
        raise SafeError(
            f"{name!r} cannot be the name of a release; use lowercase letters, digits and dashes "
            "between them"
        )
    return specs_folder() / f"{name}.yaml"


def existing(name: str) -> Path:
    """Where a spec is kept.

    Raises:
        HTTPException: there is none.
    """
    file = file_of(name)
    if not file.exists():
        raise HTTPException(404, f"there is no spec {name!r} here")
    return file


def keep(file: Path, text: str) -> None:
    """Keep the text of a spec.

    Raises:
        SafeError: it is too long.
    """
    if len(text) > MOST_SPEC:
        raise SafeError(f"a spec has at most {MOST_SPEC:,} characters; nothing was saved")
    with whole(file) as draft:
        draft.touch(mode=0o600)
        draft.write_text(text, encoding="utf-8")


def digest(text: str) -> str:
    """What a form carries, so that nobody overwrites a text that they have not seen."""
    return hashlib.sha256(text.encode()).hexdigest()


def rewrite(file: Path, seen: str, rewritten: Callable[[str], str]) -> str:
    """Keep another text of a spec in the place of the one that somebody saw; returns it.

    Args:
        seen: the digest of that one; empty for whatever there is.
    Raises:
        SafeError: it was changed meanwhile, or is too long.
    """
    with changing():  # as files do, of which specs say how they are written
        text = file.read_text(encoding="utf-8")
        if seen and seen != digest(text):
            raise SafeError(
                "the spec was changed meanwhile, by somebody else or on another page, so nothing "
                "was saved; what you typed is still here: open the page once more beside this one, "
                "and enter there what is still to be changed"
            )
        text = rewritten(text)
        keep(file, text)
    return text


@contextmanager
def drafted(text: str) -> Iterator[Path]:
    """The text, as of this month, in a file that nobody else sees, as the loader reads files."""
    with tempfile.TemporaryDirectory(dir=private_folder(home() / "tmp")) as folder:
        file = Path(folder) / "spec.yaml"
        file.write_text(as_of_now(text), encoding="utf-8")
        yield file


def as_of_now(template: str) -> str:
    """A text about every period, as of this month."""
    return template.replace(PERIOD_MARK, f"{datetime.now(UTC):%Y-%m}")


def wrong_name(name: str, text: str, release: str) -> str:
    """What is wrong with the name of a release, whose spec is kept as `name`."""
    if PERIOD_MARK not in text:
        if release == name:
            return ""
        return f"is {release!r}, and this spec is kept as {name!r}; write one name"
    wanted = f"{name}-{PERIOD_MARK}"
    if release == as_of_now(wanted):
        return ""
    return f"a spec of every period that is kept as {name!r} is about release {wanted}; write that"


def asked_in(name: str, text: str) -> tuple[dict[str, Any], Questions]:
    """The content of a spec, and what is missing or wrong in it, as the editor's check finds it.

    Raises:
        Unreadable: it is not YAML.
    """
    content = read_text(text)[0].content
    with drafted(text) as draft:
        try:
            refuse_beyond(draft)
            release = load_spec(draft, tables_folder()).release
            wrong = wrong_name(name, text, release)
            found = [Problem(("release",), wrong)] if wrong else []
        except SpecConfined as error:
            told = (line.partition(": ") for line in str(error).splitlines())
            found = [Problem(tuple(key.split(".")), what) for key, _, what in told]
        except SpecError as error:
            found = list(error.found) or [Problem((), str(error))]
        found = [Problem(path, what.replace(str(draft), "the spec")) for path, what in found]
    return content, questions_about(content, found)
