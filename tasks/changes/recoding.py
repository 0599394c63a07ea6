"""Public maps from an earlier release's codes to those of a later one, read from a file.

    SEX: {"1": male, "2": female}          # YAML

    column,old,new                         # or CSV
    SEX,1,male
    SEX,2,female

Codes that keep their names need not be listed. Several old codes may become one.
"""

import csv
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path

from pydantic import ValidationError

from hallmark.schemas.columns.recoding import CodeMap
from hallmark.schemas.given_files import bytes_of
from hallmark.schemas.yaml_document import Unreadable, read_document
from hallmark.tasks.changes.common_cells import NotComparable

Recoding = Mapping[str, CodeMap]
"""By column, the later release's code for codes of the earlier one."""

_LARGEST = 2**20  # bytes
_FIELDS = ["column", "old", "new"]


def recoding_of(given: Mapping[str, Mapping[str, str]]) -> Recoding:
    """The map that somebody wrote in Python.

    Raises:
        NotComparable: it has something else than codes, or none of a column.
    """
    found = {}
    for column, codes in given.items():
        try:
            found[column] = CodeMap.model_validate(codes, strict=True)
        except ValidationError:
            raise NotComparable(
                f"the map of {column} is no map of codes; give {{old code: new code}}, as texts"
            ) from None
    return found


def read_recoding(path: Path) -> Recoding:
    """The map in a YAML or CSV file.

    Raises:
        NotComparable: it cannot be read, or takes a code twice.
    """
    rows = _rows_of_csv(path) if path.suffix == ".csv" else _rows_of_yaml(path)
    found: dict[str, dict[str, str]] = {}
    for place, column, old, new in rows:
        if not (column and old and new):
            raise NotComparable(f"{path}: {place}: give a column, its old code and its new code")
        if old in found.setdefault(column, {}):
            raise NotComparable(f"{path}: {place}: takes {old!r} of {column} twice; keep one")
        found[column][old] = new
    return {column: CodeMap(codes) for column, codes in found.items()}


def _rows_of_yaml(path: Path) -> Iterator[tuple[str, str, str, str]]:
    try:
        document = read_document(path)
    except Unreadable as error:
        raise NotComparable(
            f"{path} {error.what.partition(';')[0]}; write {{COLUMN: {{old code: new code}}}}"
        ) from None
    if document.problems:
        raise NotComparable(f"{path}: {document.problems[0].what}")
    for column, codes in document.content.items():
        if not isinstance(codes, dict):
            raise NotComparable(f"{path}: {column}: write {{old code: new code}}")
        for old, new in codes.items():
            where = f"line {document.line((column, old))}"
            yield where, column, str(old), new if isinstance(new, str) else ""


def _rows_of_csv(path: Path) -> Iterator[tuple[str, str, str, str]]:
    try:
        text = bytes_of(path, _LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NotComparable(f"{path} is not UTF-8 text") from None
    except OSError as error:
        raise NotComparable(f"{path} cannot be read ({error.strerror}); check the path") from None
    reader = csv.reader(StringIO(text))
    if (header := next(reader, [])) != _FIELDS:
        raise NotComparable(
            f"{path} begins with {','.join(header) or 'nothing'}; begin with {','.join(_FIELDS)}"
        )
    for row in reader:
        column, old, new = row if len(row) == len(_FIELDS) else ("", "", "")
        yield f"line {reader.line_num}", column, old, new
