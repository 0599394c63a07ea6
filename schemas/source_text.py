"""Say in the text of a spec how its table is written, and leave every other character as it is."""

import json
from collections.abc import Mapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

SECTION, FIRST = "data", "source"
"""The section of a spec that says where its table is, and the key that new ones follow."""


class NoSection(ValueError):
    """The text has no section that says where its table is."""


def with_keys(text: str, keys: Mapping[str, Any]) -> str:
    """The text of a spec whose section `data` has these keys with these values.

    Args:
        keys: plain values by key; a key that is None is taken out where it is there.
    Raises:
        NoSection: the text is no YAML, or names no table.
    """
    for key, value in keys.items():
        section = _section(text)
        pairs = {name.value: (name, said) for name, said in section.value}
        if key in pairs:
            text = _replaced(text, section, pairs[key], key, value)
        elif value is not None:
            text = _added(text, section, pairs[FIRST], key, value)
    return text


def _section(text: str) -> MappingNode:
    try:
        root = YAML(typ="safe", pure=True).compose(text)
    except (YAMLError, RecursionError):
        root = None
    found = [
        (name, said)
        for name, said in (root.value if isinstance(root, MappingNode) else ())
        if isinstance(name, ScalarNode) and name.value == SECTION
    ]
    for name, section in found if len(found) == 1 else ():
        is_alias = section.start_mark.index < name.start_mark.index
        if isinstance(section, MappingNode) and not is_alias and not _is_odd(section):
            return section
    raise NoSection(f"the spec cannot be read as YAML with a section {SECTION} and its {FIRST}")


def _is_odd(section: MappingNode) -> bool:
    """Whether it has keys that are no texts, names no source, or repeats something by an alias."""
    plain = all(isinstance(name, ScalarNode) for name, _ in section.value)
    starts = [said.start_mark.index for _, said in section.value]
    is_aliased = any(start < section.start_mark.index for start in starts)
    return not plain or is_aliased or FIRST not in {name.value for name, _ in section.value}


def _replaced(
    text: str, section: MappingNode, pair: tuple[Node, Node], key: str, value: Any
) -> str:
    start, end = pair[0].start_mark.index, _end(pair[1])
    if value is not None:
        return f"{text[:start]}{_written(key, value)}{text[end:]}"
    if section.flow_style:
        before, after = text[:start].rstrip(), text[end:].lstrip()
        if after.startswith(","):
            return before + after[1:]
        return before.removesuffix(",") + after
    line = text.rfind("\n", 0, start) + 1
    until = text.find("\n", end)
    return text[:line] + ("" if until < 0 else text[until + 1 :])


def _added(text: str, section: MappingNode, first: tuple[Node, Node], key: str, value: Any) -> str:
    end = _end(first[1])
    if section.flow_style:
        return f"{text[:end]}, {_written(key, value)}{text[end:]}"
    until = text.find("\n", end)
    until = len(text) if until < 0 else until
    indent = " " * first[0].start_mark.column
    return f"{text[:until]}\n{indent}{_written(key, value)}{text[until:]}"


def _end(node: Node) -> int:
    """Where the last character of a value is; a list in lines ends with its last item."""
    if isinstance(node, SequenceNode | MappingNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _written(key: str, value: Any) -> str:
    plain = isinstance(value, list | tuple)
    return f"{key}: {json.dumps(list(value) if plain else value, ensure_ascii=False)}"
