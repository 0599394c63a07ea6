"""A spec to be filled in: everything that is publicly known, and markers for the user to replace.

Only the header of a data file is read. Bounds and categories from a data dictionary are public;
everything else is left to the user, and `load_spec` refuses the markers.
"""

import codecs
import csv
import gzip
import io
import json
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from hallmark.schemas.exact import read_exact
from hallmark.schemas.given_files import bytes_of, opened
from hallmark.schemas.yaml_document import FILL_IN, LARGEST, MOST_VALUES

_DELIMITERS = ",;\t|"
DETAIL = 16  # that a documented column starts with
MOST_COLUMNS = 10_000  # of a table that a spec is begun for
_MOST_REPLICATED = 40  # columns of a table whose pairs are surely all measured by default
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


def skeleton_from_header(path: Path | str, *, source: str | None = None) -> str:
    """YAML text of a spec for a CSV file, of which only the column names are read.

    Args:
        source: the file's name in the spec, relative to the spec; defaults to `path`.
    Raises:
        SkeletonError: the file cannot be read, or its first line is not a header. Without a header
            the first record would become the names, so fields that are numbers, empty or repeated
            are refused.
    """
    line, encoding = _first_line(Path(path))
    delimiter = max(_DELIMITERS, key=line.count)
    names = [name.strip() for name in _fields(Path(path), line, delimiter)]
    known = {"delimiter": delimiter, "encoding": encoding}
    return skeleton_from_names(names, path=path, source=source or str(path), known=known)


def skeleton_from_names(
    names: Sequence[str],
    *,
    path: Path | str,
    source: str,
    known: Mapping[str, Any] | None = None,
) -> str:
    """YAML text of a spec for a table with these names on its first row.

    Args:
        path: the file, for messages.
        known: as of `skeleton_from_columns`.
    Raises:
        SkeletonError: they do not look like a header.
    """
    of_pandas = list(names[:1]) if list(names[:1]) in _INDEX and len(names) > 1 else []
    names = names[len(of_pandas) :]
    if not names or any(not name or _is_number(name) for name in names):
        raise SkeletonError(
            f"{path}:1: does not look like a header, since a field is empty or a number; "
            "put the column names on the first line"
        )
    known = {**(known or {}), "ignore": of_pandas}
    return skeleton_from_columns(names, source=source, known=known)


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
    names: Sequence[str], *, source: str, known: Mapping[str, Any] | None = None
) -> str:
    """YAML text of a spec for a table of which only the column names are known.

    Args:
        known: other keys of the section `data`; empty values are left out.
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
        columns[name] = _unknown_column("")
    return _text(source, known or {}, [""], columns)


def skeleton_from_dictionary(path: Path | str) -> str:
    """YAML text of a spec for the columns of a data dictionary, with its categories and bounds.

    The dictionary is JSON, `{column: {"description": text, "values": {code: label}}}`; for numeric
    columns `values` holds "min" and "max", and further codes widen the interval. A code whose
    label starts with "N/A" is a null marker.

    Raises:
        SkeletonError: the file is not such a dictionary.
    """
    try:
        dictionary = json.loads(bytes_of(Path(path), LARGEST).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        raise SkeletonError(f"{path}: cannot be read as JSON; give a data dictionary") from None
    if not isinstance(dictionary, dict) or not all(
        isinstance(entry, dict) and isinstance(entry.get("values", {}), dict)
        for entry in dictionary.values()
    ):
        raise SkeletonError(
            f"{path}: is not a data dictionary; write {{column: "
            '{"description": text, "values": {code: label}}}'
        )
    if sum(1 + len(entry.get("values", {})) for entry in dictionary.values()) > MOST_VALUES:
        raise SkeletonError(
            f"{path}: lists more than {MOST_VALUES:,} columns and values, which no spec can hold; "
            "give the dictionary of those that are to be released"
        )
    markers: dict[str, None] = {}
    columns = CommentedMap()
    for name, entry in dictionary.items():
        nulls, values = _without_nulls(entry.get("values", {}))
        markers.update(dict.fromkeys(nulls))
        columns[name] = _documented_column(entry, values, bool(nulls), Path(path).name)
    return _text(FILL_IN, {}, [*markers, ""], columns)


def _without_nulls(values: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    nulls = [code for code, label in values.items() if str(label).startswith("N/A")]
    return nulls, {code: label for code, label in values.items() if code not in nulls}


def _documented_column(
    entry: Mapping[str, Any], values: Mapping[str, Any], nulls: bool, dictionary: str
) -> CommentedMap:
    description = str(entry.get("description", ""))
    is_numeric = "min" in values or "max" in values
    if not values:
        return _unknown_column(description)
    column = CommentedMap()
    column["type"] = "numeric" if is_numeric else "nominal"
    column["description"] = description
    if is_numeric:
        minimum, maximum = _interval(values)
        _ask(column, "integer", "true if all values are whole numbers")
        column["minimum"] = minimum
        column["maximum"] = maximum
        _ask(column, "cells", "or cell_width, or edges")
        column["detail"] = DETAIL
        column.yaml_add_eol_comment("pieces of a cell, measured once", "detail")
        _ask(column, "outside", "refuse or clamp")
    else:
        column.yaml_add_eol_comment("or ordinal", "type")
        column["categories"] = CommentedMap({code: str(label) for code, label in values.items()})
        _ask(column, "outside", "refuse, or catch_all with other: one of the categories")
    column["nulls"] = nulls
    reference = " ".join([f"data dictionary {dictionary}", *_link(entry)])
    column["bound_source"] = {"kind": "public", "reference": reference}
    return column


def _interval(values: Mapping[str, Any]) -> tuple[int | float, int | float]:
    """The interval from "min" to "max", widened to include the numeric codes."""
    if not all(_is_number(values.get(key)) for key in ("min", "max")):
        raise SkeletonError('a "min" or "max" in the dictionary is not a number; give both')
    codes = [code for code in values if _is_number(code)]
    exact = sorted(read_exact(number) for number in (values["min"], values["max"], *codes))
    minimum, maximum = (int(n) if n.denominator == 1 else float(n) for n in (exact[0], exact[-1]))
    return minimum, maximum


def _link(entry: Mapping[str, Any]) -> list[str]:
    return [str(entry["link"])] if "link" in entry else []


def _unknown_column(description: str) -> CommentedMap:
    column = CommentedMap()
    _ask(column, "type", "numeric, ordinal, nominal, boolean or date")
    column["description"] = description
    return column


def _ask(section: CommentedMap, key: str, comment: str) -> None:
    section[key] = FILL_IN
    section.yaml_add_eol_comment(comment, key)


def _text(
    source: str, known: Mapping[str, Any], null_markers: list[str], columns: CommentedMap
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
    stream = io.StringIO()
    yaml = YAML()
    yaml.width = 100
    yaml.dump(spec, stream)
    return stream.getvalue()


def _is_number(value: Any) -> bool:
    try:
        read_exact(value.strip() if isinstance(value, str) else value)
    except ValueError:
        return False
    return True
