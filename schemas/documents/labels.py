"""Labels: every field of a report says what it is, in which unit, and who may see it.

A renderer prints a section by walking its labels, so the fields decide what is shown, and to whom,
never a template. When a public section is defined, a field without a label or with an internal
label is an error: an internal figure cannot get into a public document.

A label also says whether its value comes from the run or from a statement by a person. A value
that a reviewer needs but that is "not recorded" is a gap, and the label says how to fill it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict

from hallmark.schemas.section import Section

NotRecorded = Literal["not recorded"]
NOT_RECORDED: Final[NotRecorded] = "not recorded"
OUR_MISTAKE = "the run should have recorded it; report this as a bug in Hallmark"
"""The fix for a missing value that no person has to state."""


class Tag(StrEnum):
    """What a figure reveals about the private data."""

    PUBLIC = "public"  # known without looking at the private data
    PAID = "paid"  # computed from noisy answers, which the privacy budget covers
    UNPROTECTED = "unprotected"  # an exact statement about the private data, outside the guarantee
    INTERNAL = "internal"  # computed from the private data without noise; never published


Sample = Literal["", "synthetic", "measured", "both"]
"""The records that a figure is computed from: synthetic, measured with noise, or both."""


@dataclass(frozen=True)
class Shown:
    """The label of a field: its name for people, its tag, and how to read its value."""

    title: str
    tag: Tag = Tag.PUBLIC
    unit: str = ""
    form: Literal["text", "percent", "code"] = "text"
    sample: Sample = ""
    """the records that the figure is computed from"""
    stated_in: str = ""
    """where a person states it, such as `agency.name in the profile`; empty if the run knows it"""
    mend: str = ""
    """how to fill the gap; if given, "not recorded" blocks the disclosure gate"""


FORMAT_LABEL: Final = Shown("Format", form="code")
"""The label of the key that tells the formats of a document apart."""


def of_spec(title: str, key: str, *, may_lack: bool = False) -> Shown:
    """The label of a value that only the spec's section `about` states; its lack blocks the gate
    unless it `may_lack`."""
    return _stated(title, f"about.{key} in the spec", may_lack)


def of_profile(title: str, key: str, *, may_lack: bool = False) -> Shown:
    """As `of_spec`, of a value that the profile's section `agency` states."""
    return _stated(title, f"agency.{key} in the profile", may_lack)


def _stated(title: str, where: str, may_lack: bool) -> Shown:
    return Shown(title, stated_in=where, mend="" if may_lack else f"state {where}")


@dataclass(frozen=True)
class Gap:
    """A labelled value that is not recorded. `mend` is empty if nobody has to fill it."""

    path: str
    title: str
    mend: str


class LabelledSection(Section):
    """A section with labels, and without NaN and infinity, which JSON cannot represent."""

    model_config = ConfigDict(allow_inf_nan=False, from_attributes=True)

    @classmethod
    def labels(cls) -> dict[str, Shown]:
        """The labels of all labelled fields, in the order of definition."""
        return {
            name: label
            for name, field in cls.model_fields.items()
            for label in field.metadata
            if isinstance(label, Shown)
        }


class PublicSection(LabelledSection):
    """A section that everybody may see.

    Raises:
        TypeError: a subclass is defined with an unlabelled field, a field labelled internal, or a
            field that holds a section that is not public.
    """

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        labels = cls.labels()
        for name, field in cls.model_fields.items():
            where = f"{cls.__name__}.{name}"
            if name not in labels:
                raise TypeError(f"{where} has no label; annotate it with Shown(...)")
            if labels[name].tag is Tag.INTERNAL:
                raise TypeError(f"{where} is internal and cannot be part of a public section")
            for held in _models(field.annotation):
                if not issubclass(held, PublicSection):
                    raise TypeError(f"{where} holds {held.__name__}, which is not public")


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def not_recorded(value: Any, path: str = "") -> Iterator[str]:
    """Dotted paths of everything within `value` (a section or part of one) that is not recorded."""
    if isinstance(value, str):
        if value == NOT_RECORDED:
            yield path
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from not_recorded(getattr(value, name), f"{path}.{name}" if path else name)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from not_recorded(item, f"{path}.{key}")
    elif isinstance(value, tuple | list):
        for index, item in enumerate(value):
            yield from not_recorded(item, f"{path}[{index}]")


def gaps(section: LabelledSection, path: str = "") -> Iterator[Gap]:
    """All labelled values that are not recorded, in the section and in its nested sections."""
    for name, label in section.labels().items():
        value, place = getattr(section, name), f"{path}.{name}" if path else name
        if isinstance(value, str) and value == NOT_RECORDED:
            yield Gap(place, label.title, label.mend)
        elif isinstance(value, LabelledSection):
            yield from gaps(value, place)
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                if isinstance(item, LabelledSection):
                    yield from gaps(item, f"{place}[{index}]")
