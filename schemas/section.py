"""The base of all parts of a spec: frozen, no unknown keys, problems reported where they are."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

Path = tuple[str | int, ...]
"""A place in a spec: mapping keys and positions in lists, from the section inwards."""


MOST_CHARACTERS = 64  # of an identifier
IDENTIFIER = r"^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$"
"""A name that a spec can give to a release, an account or a role."""


class Problem(NamedTuple):
    """One thing wrong with a spec: where it is, and what is wrong together with the fix."""

    path: Path
    what: str


class Section(BaseModel):
    """A part of the spec: immutable, and without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def refuse(section: type[BaseModel], problems: Iterable[Problem]) -> None:
    """Raise all problems at once, each at its own place; do nothing if there are none.

    Raises:
        ValidationError: with one entry per problem. Pydantic merges it into the error of the
            enclosing model and prepends the path that leads to this section.
    """
    details = [
        InitErrorDetails(type=house_error(problem.what), loc=problem.path, input=None)
        for problem in problems
    ]
    if details:
        raise ValidationError.from_exception_data(section.__name__, details)


def house_error(what: str) -> PydanticCustomError:
    """An error that already has Hallmark's wording, so that the loader prints it unchanged."""
    context: dict[str, Any] = {"what": what}
    return PydanticCustomError("spec_problem", "{what}", context)
