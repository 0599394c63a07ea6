"""The base of all parts of a spec: frozen, no unknown keys, problems reported where they are."""

from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from hallmark.schemas.descriptions import descriptions

Path = tuple[str | int, ...]
"""A place in a spec: mapping keys and positions in lists, from the section inwards."""


MOST_CHARACTERS = 64  # of an identifier
IDENTIFIER = r"^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$"


class Supported:
    """Marks a number whose largest value is the latest that this version knows."""


Format = Annotated[int, Field(ge=1, le=1), Supported()]
"""The version of a file format; there is only 1 so far."""

Identifier = Annotated[str, Field(pattern=IDENTIFIER)]
"""A short name of a release, an account or a role, which is safe in paths, URLs and databases."""


class Problem(NamedTuple):
    """One thing wrong with a spec: where it is, and what is wrong together with the fix."""

    path: Path
    what: str


class Section(BaseModel):
    """A part of the spec: immutable, and without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse(type(self), self._problems())
        return self

    def _problems(self) -> Iterable[Problem]:
        """What is wrong with the section although each of its keys is sound by itself."""
        return ()

    @classmethod
    def meanings(cls) -> dict[str, str]:
        """What the described keys mean, by the name that a file has for them."""
        told = descriptions(cls)
        meanings = {
            field.alias or name: field.description or told.get(name)
            for name, field in cls.model_fields.items()
        }
        return {key: text for key, text in meanings.items() if text}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The JSON Schema, in which every key has its description."""
        told = handler(schema)
        keys = handler.resolve_ref_schema(told).get("properties", {})
        for key, text in cls.meanings().items():
            keys[key]["description"] = text
        return told


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
