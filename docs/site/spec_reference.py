"""The reference of the release spec, docs/spec-reference.md, written from the model of the spec.

Keys, types, defaults, limits and descriptions are those of the published JSON Schema; examples are
the first short ones in schemas/examples. Refresh it with `python -m docs.site.spec_reference`; a
test fails while it is out of date.
"""

import json
import re
from collections.abc import Iterator
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from hallmark.schemas.json_schema import release_spec_schema
from hallmark.schemas.section import IDENTIFIER

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/spec-reference.md"
EXAMPLES = ROOT / "schemas/examples"
MOST_CHARACTERS = 48  # of an example

HEAD = """# The release spec, key by key

This page is written from the model that reads a spec (`python -m docs.site.spec_reference`).
Editors complete and check a spec with its
[JSON Schema](../schemas/release-spec.schema.json), `hallmark init` makes a skeleton from a
table's header, and the [examples](../schemas/examples) are whole specs. What one key says
about another is checked by `hallmark validate`, which names the line.

An *exact* number is read as it is written: `0.1` is one tenth, `1/3` one third. A *code* is a text,
a number, `true` or `false`. A list may be written `[a, b]`, a mapping `{key: value}`. A key that is
not on this page is refused.
"""

Schema = dict[str, Any]


class Reference:
    """The sections of a spec in the order in which a reader meets them, and their keys."""

    def __init__(self, schema: Schema, examples: list[Any]) -> None:
        self._schema = schema
        self._shown: dict[tuple[str, str], str] = {}  # by section and key
        for example in examples:
            self._learn("", schema, example)

    def text(self) -> str:
        """The whole page, in Markdown."""
        parts = [HEAD]
        for section in self.titles:
            definition = self._definition(section)
            title = self.titles[section]
            depth = title.replace(".NAME", "").count(".")
            parts.append(f"##{'#' * depth} {title}\n")
            if section:
                parts.append(_plain(definition["description"]) + "\n")
            parts.append("| key | value | default | what |\n|---|---|---|---|")
            parts.extend(self._rows(section, definition))
            parts.append("")
        return "\n".join(parts)

    @cached_property
    def titles(self) -> dict[str, str]:
        """For each section by the name of its model, the first place in a spec where it stands."""
        titles = {"": "The whole spec"}
        self._add_titles(titles, "", "")
        return titles

    def _add_titles(self, titles: dict[str, str], section: str, outer: str) -> None:
        for key, value in self._definition(section)["properties"].items():
            for name, place in _sections_in(value, outer + key):
                if name not in titles and "properties" in self._definition(name):
                    kind = self._type(name)
                    titles[name] = f"{place} of type {kind}" if kind else place
                    self._add_titles(titles, name, f"{place}.")

    def _type(self, section: str) -> str | None:
        """The value of the key `type` by which sections in one place are told apart."""
        properties = self._definition(section).get("properties", {})
        return properties.get("type", {}).get("const")

    def _definition(self, section: str) -> Schema:
        return self._schema["$defs"][section] if section else self._schema

    def _rows(self, section: str, definition: Schema) -> Iterator[str]:
        required = definition.get("required", ())
        for key, value in definition["properties"].items():
            default = "required" if key in required else _default(value.get("default"))
            what = _plain(value.get("description", ""))
            if (section, key) in self._shown and not _CLOSED & value.keys():
                what += f"; for example {_code(self._shown[section, key])}"
            cells = (f"`{key}`", self._kind(value), default, what)
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        if definition.get("additionalProperties"):
            yield "| *further keys* | | | the parameters of the mechanism, on its page |"

    def _kind(self, value: Schema) -> str:
        """What may be written, in words, with the limits."""
        match value:
            case {"$ref": name}:
                return self._link(name.rpartition("/")[2])
            case {"anyOf": [{"type": "number"}, {"pattern": _}, *rest]} if _is_exact(value):
                return _one_of(["exact number", *(self._kind(one) for one in rest if one != NULL)])
            case {"anyOf": kinds} | {"oneOf": kinds}:
                return _one_of([self._kind(one) for one in kinds if one != NULL])
            case {"const": constant}:
                return _code(_flow(constant))
            case {"enum": choices}:
                return _one_of([_code(_flow(choice)) for choice in choices])
            case {"type": "array", "items": items}:
                least = value.get("minItems", 0)
                if least and least == value.get("maxItems"):
                    return f"list of {least}: {self._kind(items)}"
                return ("list, not empty, of " if least else "list of ") + self._kind(items)
            case {"type": "object", "properties": _}:
                return "mapping"
            case {"type": "object", "additionalProperties": inner}:
                return f"mapping from names to {self._kind(inner)}"
            case {"type": "integer"} | {"type": ["integer", "string"]}:
                return "whole number" + _limits(value)
            case {"type": "number"} | {"type": ["number", "string"]}:
                return "number" + _limits(value)
            case {"type": "boolean"}:
                return "`true` or `false`"
            case {"type": "string", "format": "date"}:
                return "day"
            case {"type": "string", "format": "date-time"}:
                return "time with its zone"
            case {"type": "string", "pattern": pattern} if pattern == IDENTIFIER:
                return "short name: small letters, digits, dashes"
            case {"type": "string", "maxLength": 1}:
                return "one character"
            case {"type": "string"}:
                return "text, not empty" if value.get("minLength") else "text"
            case {"type": list()}:
                return "code"
        raise NotImplementedError(f"no words were written for {json.dumps(value)}")

    def _link(self, section: str) -> str:
        title = self.titles.get(section)
        return f"[{self._type(section) or title}](#{_anchor(title)})" if title else "any value"

    def _learn(self, section: str, definition: Schema, given: Any) -> None:
        """Keep the first short value of each key, of this section and of those within it."""
        for key, value in definition.get("properties", {}).items():
            if isinstance(given, dict) and key in given:
                text = _flow(given[key])
                if len(text) <= MOST_CHARACTERS:
                    self._shown.setdefault((section, key), text)
                self._look_within(value, given[key])

    def _look_within(self, value: Schema, given: Any) -> None:
        match value:
            case {"$ref": name}:
                section = name.rpartition("/")[2]
                self._learn(section, self._definition(section), given)
            case {"anyOf": kinds} | {"oneOf": kinds}:
                for kind in kinds:
                    if self._may_be(kind, given):
                        self._look_within(kind, given)
            case {"items": items} if isinstance(given, list):
                for one in given:
                    self._look_within(items, one)
            case {"additionalProperties": dict() as inner} if isinstance(given, dict):
                for one in given.values():
                    self._look_within(inner, one)

    def _may_be(self, kind: Schema, given: Any) -> bool:
        """Whether the value has the type that this kind of section states, where it states one."""
        if "$ref" not in kind or not isinstance(given, dict):
            return "$ref" not in kind
        return self._type(kind["$ref"].rpartition("/")[2]) in (None, given.get("type"))


NULL = {"type": "null"}
_CLOSED = {"const", "enum"}  # what may be written is written out


def _is_exact(value: Schema) -> bool:
    return "/" in value["anyOf"][1]["pattern"]


def _sections_in(value: Schema, place: str) -> Iterator[tuple[str, str]]:
    """Models that a value may be, each with where in the spec it stands."""
    if "$ref" in value:
        yield value["$ref"].rpartition("/")[2], place
    for kind in (*value.get("anyOf", ()), *value.get("oneOf", ())):
        yield from _sections_in(kind, place)
    if isinstance(value.get("items"), dict):
        yield from _sections_in(value["items"], f"{place}[]")
    if isinstance(value.get("additionalProperties"), dict):
        yield from _sections_in(value["additionalProperties"], f"{place}.NAME")


def _limits(value: Schema) -> str:
    match value.get("minimum"), value.get("maximum"):
        case None, None:
            return ""
        case least, None:
            return f", at least {least:,}"
        case None, most:
            return f", at most {most:,}"
        case least, most:
            return f": {least:,}" if least == most else f", {least:,} to {most:,}"


def _default(value: Any) -> str:
    """The default as it would be written; that of a whole section is in its own rows."""
    return "" if value in (None, "", []) or isinstance(value, dict) else _code(_flow(value))


def _flow(value: Any) -> str:
    """A value as YAML on one line."""
    match value:
        case dict():
            return (
                "{" + ", ".join(f"{_flow(key)}: {_flow(one)}" for key, one in value.items()) + "}"
            )
        case list():
            return "[" + ", ".join(_flow(one) for one in value) + "]"
        case bool():
            return str(value).lower()
        case str():
            plain = re.fullmatch(r"[A-Za-z0-9_/.+-][\w/.+ -]*", value)
            if plain and value not in ("true", "false", "null"):
                return value
            return json.dumps(value, ensure_ascii=not value.isprintable())
        case date():
            return value.isoformat()
    return str(value).replace("e-0", "e-")


def _one_of(choices: list[str]) -> str:
    *first, last = dict.fromkeys(choices)
    return f"{', '.join(first)} or {last}" if first else last


def _plain(text: str) -> str:
    """A description on one line: no < is taken for HTML, and pages that it names are links."""
    parts = re.sub(r"\s+", " ", text).split("`")  # every other part is code
    for i in range(0, len(parts), 2):
        parts[i] = parts[i].replace("<", "&lt;")
        parts[i] = re.sub(r"\bdocs/([\w-]+\.md)", r"[\1](\1)", parts[i])
    return "`".join(parts)


def _code(text: str) -> str:
    return f"``{text}``" if "`" in text else f"`{text}`"


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\s-]", "", title).strip().lower().replace(" ", "-")


def page() -> str:
    """The content of the page."""
    yaml = YAML(typ="safe")
    examples = [yaml.load(file) for file in sorted(EXAMPLES.glob("*.yaml"))]
    return Reference(release_spec_schema(), examples).text()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
