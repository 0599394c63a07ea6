"""A spec to be filled in: everything that is publicly known, and markers for the user to replace.

Only the header of a data file is read. Bounds and categories from a data dictionary are public;
everything else is left to the user, and `load_spec` refuses the markers.
"""

import codecs
import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from hallmark.schemas.exact import read_date, read_exact, shown
from hallmark.schemas.given_dictionary import (
    MOST_COLUMNS,
    TRUE,
    GivenColumn,
    GivenDictionary,
    is_number,
)
from hallmark.schemas.given_files import opened
from hallmark.schemas.visible import visible
from hallmark.schemas.yaml_document import FILL_IN

_DELIMITERS = ",;\t|"
DETAIL = 16  # that a documented column starts with
_MOST_REPLICATED = 40  # columns of a table whose pairs are surely all measured by default
_SHOWN = 20  # columns that are named in a comment
_LONGEST_HEADER = 2**20  # bytes

_HEADING = f"""\
Replace every {FILL_IN} with what is publicly known, never with anything read off the data.

A column is one of:
  numeric  minimum, maximum, integer, one of cells, cell_width and edges, outside: refuse or clamp
  date     minimum, maximum, one of cells and cell_days, format, outside: refuse or clamp
  nominal  categories (a list, code: label, or {{file: codes.csv}}), outside: refuse, or catch_all
           with other
  ordinal  the same, listed in order
  boolean  values, such as {{"1": true, "0": false}}, outside: refuse, or catch_all with other
each with nulls: true or false, and, except for boolean, bound_source: {{kind: law or public,
reference: where it is stated}}. List columns that should not be read under data.ignore.
Give numeric and date columns some 20 to 60 cells, in which they are measured with other columns,
and detail: {DETAIL} (64 if people round to the hundreds), in which they are measured once by
themselves, so that released values have spikes and tails. A nominal column of many categories takes
groups: {{NAME: [codes]}}, or {{file: codes.csv, column: NAME}}. See docs/marginals.md, also for
private quantile bins, by a section such as binning: {{share: 1/20, columns: {{NAME: 24}}}}.
A column with finer codes than are to be released takes recode: {{first: 2}}, which keeps two
characters, or recode: {{codes: {{file: codes.csv, column: NAME}}}}; see docs/data-sources.md.
Published totals that the release must reproduce exactly go under public_totals; see
docs/totals.md.
"""


class SkeletonError(ValueError):
    """A file that no skeleton can be made from; the message contains no value of the file."""


def skeleton_from_header(
    path: Path | str, *, source: str | None = None, dictionary: GivenDictionary | None = None
) -> str:
    """YAML text of a spec for a CSV file, of which only the column names are read.

    Args:
        source: the file's name in the spec, relative to the spec; defaults to `path`.
        dictionary: as of `skeleton_from_columns`.
    Raises:
        SkeletonError: the file cannot be read, or its first line is not a header. Without a header
            the first record would become the names, so fields that are numbers, empty or repeated
            are refused.
    """
    line, encoding = _first_line(Path(path))
    delimiter = max(_DELIMITERS, key=line.count)
    names = [name.strip() for name in _fields(Path(path), line, delimiter)]
    known = {"delimiter": delimiter, "encoding": encoding}
    return skeleton_from_names(
        names, path=path, source=source or str(path), known=known, dictionary=dictionary
    )


def skeleton_from_names(
    names: Sequence[str],
    *,
    path: Path | str,
    source: str,
    known: Mapping[str, Any] | None = None,
    dictionary: GivenDictionary | None = None,
) -> str:
    """YAML text of a spec for a table with these names on its first row.

    Args:
        path: the file, for messages.
        known, dictionary: as of `skeleton_from_columns`.
    Raises:
        SkeletonError: they do not look like a header.
    """
    of_pandas = list(names[:1]) if list(names[:1]) in _INDEX and len(names) > 1 else []
    names = names[len(of_pandas) :]
    if not names or any(not name or is_number(name) for name in names):
        raise SkeletonError(
            f"{path}:1: does not look like a header, since a field is empty or a number; "
            "put the column names on the first line"
        )
    known = {**(known or {}), "ignore": of_pandas}
    return skeleton_from_columns(names, source=source, known=known, dictionary=dictionary)


_INDEX = ([""], ["Unnamed: 0"])  # the index column as pandas writes it, once and a second time
_CONTROL = frozenset(map(chr, range(32))) - frozenset("\t\r\n")  # never in a text


def _first_line(file: Path) -> tuple[str, str]:
    """The first line of a CSV file, and its character encoding; empty for UTF-8."""
    try:
        with opened(file) as plain, _decompressed(plain, file.name) as stream:
            raw = stream.readline(_LONGEST_HEADER + 1)
    except (OSError, EOFError, zlib.error):
        raw = b"\0"  # which is not text
    if len(raw) > _LONGEST_HEADER:
        raise SkeletonError(
            f"{file}:1: is longer than {_LONGEST_HEADER:,} bytes, so it is no header; put the "
            "column names on a line of their own"
        )
    wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for encoding in ("utf-16",) if wide else ("utf-8-sig", "windows-1252"):
        with suppress(UnicodeError):
            line = codecs.getincrementaldecoder(encoding)().decode(raw)
            if _CONTROL.isdisjoint(line) and not raw.startswith(b"PAR1"):
                return line, "" if encoding == "utf-8-sig" else encoding
    raise SkeletonError(f"{file}: cannot be read as a CSV file; give one, or a data dictionary")


def _decompressed(file: io.BufferedReader, name: str) -> io.BufferedReader | gzip.GzipFile:
    return gzip.open(file) if name.endswith(".gz") else file


def _fields(file: Path, line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(line), delimiter=delimiter), [])
    except csv.Error:  # whose message may quote the line
        raise SkeletonError(
            f"{file}:1: cannot be split into column names; check its delimiter and quotes"
        ) from None


def skeleton_from_columns(
    names: Sequence[str],
    *,
    source: str,
    known: Mapping[str, Any] | None = None,
    dictionary: GivenDictionary | None = None,
) -> str:
    """YAML text of a spec for a table of which only the column names are known.

    Args:
        known: other keys of the section `data`; empty values are left out.
        dictionary: what is said of the columns, some of which it may not have.
    Raises:
        SkeletonError: a name is repeated, or there are more than `MOST_COLUMNS`.
    """
    if len(names) > MOST_COLUMNS:
        raise SkeletonError(
            f"{source}:1: has {len(names):,} columns, and a spec can be begun for at most "
            f"{MOST_COLUMNS:,}; give a table of those that are to be released"
        )
    repeated = sum(1 for times in Counter(names).values() if times > 1)
    if repeated:
        raise SkeletonError(
            f"{source}:1: repeats {repeated} of its column names; give every column its own name"
        )
    columns = CommentedMap()
    for name in names:
        if dictionary is None:
            columns[name] = _unknown_column("")
            continue
        columns[name], told = _documented(name, dictionary)
        columns.yaml_set_comment_before_after_key(name, before=told, indent=2)
    markers = [] if dictionary is None else dictionary.missing
    other = "" if dictionary is None else _described_beside(dictionary, names)
    return _text(source, known or {}, [*markers, ""], columns, other)


def skeleton_from_dictionary(dictionary: GivenDictionary) -> str:
    """YAML text of a spec for the columns of a data dictionary, with what it says of them."""
    return skeleton_from_columns(list(dictionary.columns), source=FILL_IN, dictionary=dictionary)


def _documented(name: str, dictionary: GivenDictionary) -> tuple[CommentedMap, str]:
    """What a dictionary says of a column, with a comment that names what comes from it."""
    given = dictionary.of(name)
    if given is None:
        return _unknown_column(""), f"not in {dictionary.file}"
    facts = ", ".join(given.facts)
    told = f"{facts}: {given.where}" if facts else f"nothing but its name: {given.where}"
    return _filled_column(given), _line(told)


def _described_beside(dictionary: GivenDictionary, names: Sequence[str]) -> str:
    """What a dictionary describes and a table does not have, such as a misspelled name."""
    found = {id(dictionary.of(name)) for name in names}
    others = [name for name, given in dictionary.columns.items() if id(given) not in found]
    more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
    told = f"{dictionary.file} describes columns beside these: {', '.join(others[:_SHOWN])}{more}"
    return _line(told) if others else ""


def _filled_column(given: GivenColumn) -> CommentedMap:
    if not given.type:
        column = _unknown_column(given.description)
    else:
        column = CommentedMap(type=given.type, description=given.description)
        _FILLED[given.type](column, given)
    if given.nullable is not None:
        column["nulls"] = given.nullable
    if given.missing:
        column["null_markers"] = [*given.missing, ""]
    if given.type != "boolean" and (given.type or given.codes):
        column["bound_source"] = _bound_source(column, given)
    return column


def _bound_source(column: CommentedMap, given: GivenColumn) -> CommentedMap:
    """The dictionary as the source of what it tells of a domain; whether its bounds are public, its
    reader has to say."""
    source = CommentedMap(kind="public", reference=given.where)
    if given.type in ("numeric", "date"):
        _ask(source, "kind", "public or law, unless minimum and maximum were found in the data")
    if any(column.get(key) == FILL_IN for key in ("minimum", "maximum", "categories")):
        _ask(source, "reference", "where all of it is stated; the dictionary leaves some open")
    return source


def _numbers(column: CommentedMap, given: GivenColumn) -> None:
    if given.unit:
        column["unit"] = given.unit
    if given.integer is None:
        _ask(column, "integer", "true if all values are whole numbers")
    else:
        column["integer"] = given.integer
    ends = [end if is_number(end) else None for end in (given.minimum, given.maximum)]
    codes = [read_exact(code) for code in given.codes if is_number(code)]
    for key, said, end, extreme in (
        ("minimum", given.minimum, ends[0], min),
        ("maximum", given.maximum, ends[1], max),
    ):
        if end is None:
            _ask(column, key, _open_end(said))
        else:
            number = extreme([read_exact(end), *codes])  # that codes beside the bounds widen
            column[key] = int(number) if number.denominator == 1 else float(number)
    _ask(column, "cells", "or cell_width, or edges")
    column["detail"] = DETAIL
    column.yaml_add_eol_comment("pieces of a cell, measured once", "detail")
    _ask(column, "outside", "refuse or clamp")


def _days(column: CommentedMap, given: GivenColumn) -> None:
    for key, said in (("minimum", given.minimum), ("maximum", given.maximum)):
        try:
            column[key] = read_date(said)
        except ValueError:
            _ask(column, key, _open_end(said))
    _ask(column, "cells", "or cell_days")
    _ask(column, "format", "how days are written, such as %Y-%m-%d")
    _ask(column, "outside", "refuse or clamp")


def _open_end(said: str) -> str:
    """What is asked of a bound that a dictionary does not give as a number or a day."""
    return f"the dictionary says {shown(said)}" if said else "never read off the data"


def _categories(column: CommentedMap, given: GivenColumn) -> None:
    if given.type == "nominal":
        column.yaml_add_eol_comment("or ordinal", "type")
    if given.codes:
        column["categories"] = CommentedMap(given.codes)
    else:
        _ask(column, "categories", "a list, code: label, or {file: codes.csv}")
    _ask(column, "outside", "refuse, or catch_all with other: one of the categories")


def _truths(column: CommentedMap, given: GivenColumn) -> None:
    column["values"] = CommentedMap(
        {code: label.casefold() in TRUE for code, label in given.codes.items()}
    )
    _ask(column, "outside", "refuse, or catch_all with other: true or false")


_FILLED: Mapping[str, Callable[[CommentedMap, GivenColumn], None]] = {
    "numeric": _numbers,
    "date": _days,
    "nominal": _categories,
    "ordinal": _categories,
    "boolean": _truths,
}


def _line(text: str) -> str:
    """A text of somebody else on one line, as a comment has it."""
    return " ".join(visible(text).split())


def _unknown_column(description: str) -> CommentedMap:
    column = CommentedMap()
    _ask(column, "type", "numeric, ordinal, nominal, boolean or date")
    column["description"] = description
    return column


def _ask(section: CommentedMap, key: str, comment: str) -> None:
    section[key] = FILL_IN
    section.yaml_add_eol_comment(comment, key)


def _text(
    source: str,
    known: Mapping[str, Any],
    null_markers: list[str],
    columns: CommentedMap,
    other: str = "",
) -> str:
    spec = CommentedMap()
    spec.yaml_set_start_comment(_HEADING)
    spec["hallmark"] = 1
    _ask(spec, "release", "a name in lowercase letters, digits and dashes, new for every release")
    _ask(spec, "title", "for people")
    spec["population"] = population = CommentedMap()
    _ask(population, "account", "the ledger account of the people in the data")
    _ask(population, "description", "who these people are")
    spec["data"] = data = CommentedMap()
    data["source"] = source
    if known.get("delimiter", ",") != ",":
        data["delimiter"] = known["delimiter"]
    if known.get("encoding"):
        data["encoding"] = known["encoding"]
        guessed = "guessed, since the header is not in UTF-8; are the column names right?"
        data.yaml_add_eol_comment(guessed, "encoding")
    if known.get("ignore"):
        data["ignore"] = known["ignore"]
        data.yaml_add_eol_comment("the index column that pandas wrote", "ignore")
    data["null_markers"] = null_markers
    _ask(data, "expected_rows", "a public estimate, for planning only")
    _ask(data, "record", "what one row stands for, such as one person")
    spec["privacy"] = privacy = CommentedMap()
    _ask(
        privacy,
        "neighbours",
        "replace_one (number of records public, if they are the unit) or add_remove (private)",
    )
    _ask(privacy, "unit", "record, or {person: <column>, max_records: <number>}")
    _ask(privacy, "epsilon", "such as 1")
    _ask(privacy, "delta", "well below 1 / expected_rows; 0 for mechanism pmm")
    spec["mechanism"] = {"name": "privpgd"}
    if 2 <= len(columns) <= _MOST_REPLICATED:
        spec["output"] = CommentedMap(replicates={"number": 40})
        spec["output"].yaml_add_eol_comment(
            "standard errors of anything; docs/replicates.md", "replicates"
        )
    spec["columns"] = columns
    if other:
        spec.yaml_set_comment_before_after_key("columns", before=other)
    stream = io.StringIO()
    yaml = YAML()
    yaml.width = 100
    yaml.dump(spec, stream)
    return stream.getvalue()
