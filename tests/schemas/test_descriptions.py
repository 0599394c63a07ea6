"""Descriptions of fields, as the docstrings below them say."""

from hallmark.schemas.descriptions import descriptions


class Base:
    """A class with a described field."""

    first: int
    """what it is"""


class Below(Base):
    """A class that inherits one description, and adds one."""

    plain: int
    second: int = 2
    """
    what it is
      in two lines
    """
    third = 3
    """no field, since it has no type"""


def test_they_stand_below_the_fields_and_are_inherited() -> None:
    assert descriptions(Below) == {"first": "what it is", "second": "what it is\n  in two lines"}


def test_a_class_without_source_has_none() -> None:
    assert descriptions(int) == {}
    assert descriptions(type("Made", (), {})) == {}
