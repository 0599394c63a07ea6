"""Say in the text of a spec how its table is written, and leave every other character as it is."""

from collections.abc import Mapping

from hallmark.schemas.text_edits import Keys, NotChanged, Value, changed
from hallmark.schemas.yaml_document import Unreadable, read_text

SECTION, FIRST = "data", "source"
"""The section of a spec that says where its table is, and the key that new ones follow."""


class NoSection(ValueError):
    """The text has no section that says where its table is."""


def with_keys(text: str, keys: Mapping[str, Value | None]) -> str:
    """The text of a spec whose section `data` has these keys with these values.

    Args:
        keys: plain values by key; a key that is None is taken out where it is there.
    Raises:
        NoSection: the text is no YAML, or names no table.
    """
    try:
        section = read_text(text)[0].content[SECTION]
        values: dict[Keys, Value | None] = {(SECTION, FIRST): section[FIRST]}
        return changed(text, values | {(SECTION, key): value for key, value in keys.items()})
    except (Unreadable, NotChanged, KeyError, TypeError):
        raise NoSection(
            f"the spec cannot be read as YAML with a section {SECTION} and its {FIRST}"
        ) from None
