"""Data dictionaries as DDI Codebook, the XML in which archives describe surveys.

What is taken of a variable: its name and label, the nature of its values (`nature`, `intrvl`,
`dcml`, `measUnit`, `varFormat`), its categories with labels, what stands for a missing value, and
its range of valid values. What is not: statistics and frequencies (`sumStat`, `catStat`), which
come from the data, and the texts of questions.

Source: DDI Codebook 2.5, https://ddialliance.org/Specification/DDI-Codebook/2.5/.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from hallmark.schemas.given_dictionary import (
    MOST_COLUMNS,
    DictionaryError,
    GivenColumn,
    GivenDictionary,
    GivenType,
)
from hallmark.schemas.given_files import MOST_DOCUMENT, opened
from hallmark.tasks.sources.texts import LONGEST_TEXT

_DEEPEST = 50  # elements within each other; a codebook has some ten
_LONGEST_TITLE = 200  # characters, of a study, beside every bound
_MISSING = ("Y", "true", "1")


def from_ddi(path: Path) -> GivenDictionary:
    """The dictionary in a DDI codebook.

    Raises:
        DictionaryError: it is none, or too large, or it has a document type.
    """
    try:
        with opened(path) as file:
            if (size := file.seek(0, 2)) > MOST_DOCUMENT:
                raise DictionaryError(
                    f"{path}: has {size:,} bytes, and a codebook at most {MOST_DOCUMENT:,}; leave "
                    "out its statistics, or the variables that are not released"
                )
            file.seek(0)
            return _dictionary(path, file)
    except DictionaryError:
        raise
    except DefusedXmlException:
        raise DictionaryError(
            f"{path}: declares a document type or entities, which are not read; take the line "
            "<!DOCTYPE ...> out"
        ) from None
    except ParseError as error:
        raise DictionaryError(
            f"{path}: is not sound XML on line {error.position[0]}; export the codebook again"
        ) from None
    except OSError as error:
        raise DictionaryError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, LookupError):  # an encoding that is not known, or not that of the file
        raise DictionaryError(
            f"{path}: is in no encoding that is known; save it as UTF-8"
        ) from None


def _dictionary(path: Path, file: BinaryIO) -> GivenDictionary:
    columns: dict[str, GivenColumn] = {}
    study = ""
    for element in _elements(path, file):
        if _tag(element) == "titl":
            study = study or f" ({_text(element)[:_LONGEST_TITLE]})"
        elif (name := element.get("name", "").strip()) == "":
            raise DictionaryError(f"{path}: variable {len(columns) + 1} has no name")
        elif name in columns:
            raise DictionaryError(
                f"{path}: variable {len(columns) + 1} has the name of an earlier one; keep one"
            )
        else:
            columns[name] = _column(element, f"DDI codebook {path.name}{study}, variable {name}")
        if len(columns) > MOST_COLUMNS:
            break  # the dictionary says so
    if not columns:
        raise DictionaryError(
            f"{path}: describes no variables; give a DDI codebook with the section dataDscr"
        )
    return GivenDictionary(file=path.name, columns=columns)


def _elements(path: Path, file: BinaryIO) -> Iterator[Element]:
    """The title of the study and every variable, as they end; what was read is forgotten."""
    open_: list[Element] = []
    for event, element in iterparse(file, events=("start", "end"), forbid_dtd=True):
        if event == "start":
            open_.append(element)
            if len(open_) == 1 and _tag(element) != "codeBook":
                raise DictionaryError(
                    f"{path}: is no DDI codebook: it begins with <{_tag(element)[:40]}>, and not "
                    "with <codeBook>; DDI Lifecycle is not read"
                )
            if len(open_) > _DEEPEST:
                raise DictionaryError(f"{path}: has more than {_DEEPEST} elements in each other")
            continue
        open_.pop()
        inside = [_tag(one) for one in open_]
        if _tag(element) == "titl" and inside[1:] == ["stdyDscr", "citation", "titlStmt"]:
            yield element
        if _tag(element) == "var" and inside[-1:] == ["dataDscr"]:
            yield element
        if "var" not in inside:
            element.clear()
            if open_:
                open_[-1].remove(element)


def _column(variable: Element, where: str) -> GivenColumn:
    missing = [item.get("VALUE", "").strip() for item in _inside(variable, "invalrng", "item")]
    codes: dict[str, str] = {}
    for category in _inside(variable, "catgry"):
        code = next(map(_text, _inside(category, "catValu")), "")
        if code == "":
            continue
        if category.get("missing") in _MISSING:
            missing.append(code)
        codes[code] = next(map(_text, _inside(category, "labl")), "") or code
    codes = {code: label for code, label in codes.items() if code not in missing}
    ranges = list(_inside(variable, "valrng", "range"))
    low, high = ([one.get(end, "").strip() for one in ranges] for end in ("min", "max"))
    type_ = _type(variable, codes, is_interval=bool(ranges))
    decimals = variable.get("dcml", "")
    is_whole = decimals == "0" if type_ == "numeric" and decimals.isdecimal() else None
    return GivenColumn(
        description=next(map(_text, _inside(variable, "labl")), ""),
        type=type_,
        integer=is_whole,
        minimum=low[0] if len(ranges) == 1 else "",
        maximum=high[0] if len(ranges) == 1 else "",
        unit=variable.get("measUnit", "").strip(),
        codes=codes,
        missing=tuple(dict.fromkeys(filter(None, missing))),
        nullable=True if missing else None,
        where=where,
    )


def _type(variable: Element, codes: dict[str, str], *, is_interval: bool) -> GivenType:
    """The type by what the codebook says of the nature of the values."""
    written = next(_inside(variable, "varFormat"), None)
    if written is not None and written.get("category") == "date":
        return "date"
    nature = variable.get("nature", "")
    if nature in ("nominal", "ordinal"):
        return "ordinal" if nature == "ordinal" else "nominal"
    if nature in ("interval", "ratio") or variable.get("intrvl") == "contin":
        return "numeric"
    if codes:
        return "nominal"
    is_text = written is not None and written.get("type") == "character"
    return "numeric" if is_interval and not is_text else ""


def _inside(element: Element, *tags: str) -> Iterator[Element]:
    """The elements at a path below an element, whatever their namespace."""
    for child in element:
        if _tag(child) == tags[0]:
            if len(tags) > 1:
                yield from _inside(child, *tags[1:])
            else:
                yield child


def _tag(element: Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _text(element: Element) -> str:
    """The text of an element and of what is in it, on one line."""
    return " ".join("".join(element.itertext())[:LONGEST_TEXT].split())
