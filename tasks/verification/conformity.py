"""Check data files against their data dictionary only, as a data user would have to.

It shares no code with the writers of the files, so that a mistake cannot hide in both. The files
are read in batches, whatever their size; they are synthetic and public.
"""

import codecs
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from hallmark.schemas.documents.data_dictionary import Category, DataDictionary, DictionaryColumn
from hallmark.tasks.sources.parquet_bounds import batches, footer
from hallmark.tasks.sources.texts import refuse_long

_ROWS = 250_000  # of one batch
_NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"


def nonconformities(path: Path, dictionary: DataDictionary) -> list[str]:
    """Phrases about everything in the data file that contradicts the dictionary; else empty.

    Raises:
        OSError, pyarrow.ArrowException: the file cannot be read in the format of its suffix.
        Unbounded: it would fill the memory.
    """
    expected = [column.name for column in dictionary.columns]
    found: Counter[str] = Counter()
    rows = 0
    for batch in _batches(path, dictionary):
        if batch.schema.names != expected:
            return [f"its columns are not those of the dictionary, in order: {expected}"]
        rows += batch.num_rows
        for column, values in zip(dictionary.columns, refuse_long(batch).columns, strict=True):
            found.update(_faults(column, values, text=path.suffix == ".csv"))
    problems = [f"{fault}: {count} values" for fault, count in found.items()]
    if rows != dictionary.rows:
        problems.append(f"it has {rows} rows, but the dictionary says {dictionary.rows}")
    return problems


def _batches(path: Path, dictionary: DataDictionary) -> Iterator[pa.RecordBatch]:
    if path.suffix in (".dta", ".sav"):
        yield from _labelled(path, dictionary)
        return
    with path.open("rb") as handle:
        if path.suffix == ".parquet":
            schema = footer(handle).schema.to_arrow_schema()
            yield pa.RecordBatch.from_pylist([], schema=schema)
            yield from batches(handle, schema.names, rows=_ROWS)
        else:
            names = [column.name for column in dictionary.columns]
            yield from pyarrow.csv.open_csv(
                handle,
                read_options=pyarrow.csv.ReadOptions(encoding=_arrow_name(dictionary)),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=dictionary.csv_delimiter, newlines_in_values=True
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
                ),
            )


def _labelled(path: Path, dictionary: DataDictionary) -> Iterator[pa.RecordBatch]:
    """The records of a file for Stata or SPSS, with categories as codes instead of numbers."""
    import pyreadstat  # slow to import, and few releases hold such files

    read = pyreadstat.read_dta if path.suffix == ".dta" else pyreadstat.read_sav
    columns = {column.name: column for column in dictionary.columns}
    start, whole = 0, False
    while not whole:
        try:
            frame, header = read(path, row_offset=start, row_limit=_ROWS)
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError):
            raise pa.ArrowInvalid("not a valid file in its format") from None
        start, whole = start + len(frame), len(frame) < _ROWS
        yield pa.record_batch(
            {
                name: _by_number(columns[name], frame[name], header.variable_value_labels)
                if name in columns and columns[name].categories
                else pa.array(frame[name], from_pandas=True)
                for name in frame.columns
            }
        )


def _by_number(
    column: DictionaryColumn, values: pd.Series, labels: Mapping[str, Mapping[float, str]]
) -> pa.Array:
    """Codes of the categories; a number missing in the dictionary or the labels has none."""
    labelled = labels.get(column.name, {})
    known = {
        one.number: one.value
        for one in column.categories
        if one.number is not None and _tells(labelled.get(one.number, ""), one)
    }
    other = values.notna() & ~values.isin(known)
    texts = values.map(known).astype("object").mask(other, "not a number of a category")
    return pa.array(texts, pa.string(), from_pandas=True)


def _tells(label: str, category: Category) -> bool:
    """Whether a label in the file is the category's, which may be shortened or numbered."""
    full = " ".join((category.label or category.value).split())
    plain = label if label == full else label.removesuffix(f" ({category.number})")
    return plain == full or (plain.endswith("…") and full.startswith(plain[:-1]))


def _arrow_name(dictionary: DataDictionary) -> str:
    known = codecs.lookup(dictionary.csv_encoding).name
    return "utf8" if known == "utf-8" else known


def _faults(column: DictionaryColumn, values: pa.Array, *, text: bool) -> Counter[str]:
    """Numbers of values of one batch by fault; `text` says that all values are strings."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    null = values.is_null()
    if text and column.nullable:
        null = pc.equal(values, column.null_marker)
    elif pa.types.is_floating(values.type):
        null = pc.or_kleene(null, pc.is_nan(values))
    known = values.filter(pc.invert(null))
    faults: Counter[str] = Counter()
    if not column.nullable:
        faults[f"{column.name}: null, but nulls are not allowed"] = _count(null)
    if column.categories:
        categories = pa.array([category.value for category in column.categories])
        listed = pc.is_in(known.cast(pa.string()), value_set=categories)
        faults[f"{column.name}: not a listed category"] = _count(pc.invert(listed))
    elif column.type == "date":
        faults += _date_faults(column, known)
    else:
        faults += _number_faults(column, known)
    return +faults  # those that occur


def _number_faults(column: DictionaryColumn, values: pa.Array) -> Counter[str]:
    assert column.interval is not None, "the dictionary's own check"
    total = len(values)
    faults: Counter[str] = Counter()
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        mark = column.decimal_mark
        values = values.filter(
            pc.match_substring_regex(values, _NUMBER.replace(r"\.", f"[{mark}]"))
        )
        if column.decimals is not None:
            after = f"[{mark}][0-9]{{{column.decimals}}}" if column.decimals else ""
            as_said = pc.match_substring_regex(values, f"^[+-]?[0-9]+{after}$")
            faults[f"{column.name}: not {column.decimals} decimals"] = _count(pc.invert(as_said))
        values = pc.replace_substring(values, pattern=mark, replacement=".")
    elif not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        values = values.slice(0, 0)
    numbers = values.cast(pa.float64())
    low, high = column.interval.low, column.interval.high
    assert not isinstance(low, date), "the dictionary's own check"
    assert not isinstance(high, date), "the dictionary's own check"
    inside = pc.and_(pc.greater_equal(numbers, float(low)), pc.less_equal(numbers, float(high)))
    faults[f"{column.name}: not a number"] = total - len(numbers)
    faults[f"{column.name}: outside {low} to {high}"] = _count(pc.invert(inside))
    if column.type == "integer":
        broken = pc.not_equal(numbers, pc.floor(numbers))
        faults[f"{column.name}: not a whole number"] = _count(broken)
    elif column.decimals is not None:
        broken = pc.not_equal(numbers, pc.round(numbers, ndigits=column.decimals))
        faults[f"{column.name}: more than {column.decimals} decimals"] = _count(broken)
    return faults


def _date_faults(column: DictionaryColumn, values: pa.Array) -> Counter[str]:
    assert column.interval is not None, "the dictionary's own check"
    total = len(values)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        values = pc.strptime(values, format=column.date_format, unit="s", error_is_null=True)
        values = values.drop_null()
    elif not pa.types.is_temporal(values.type):
        values = values.slice(0, 0).cast(pa.string()).cast(pa.date32())
    days = values.cast(pa.date32())
    low, high = (pa.scalar(end, pa.date32()) for end in (column.interval.low, column.interval.high))
    inside = pc.and_(pc.greater_equal(days, low), pc.less_equal(days, high))
    outside = f"outside {column.interval.low} to {column.interval.high}"
    return Counter(
        {
            f"{column.name}: not a date": total - len(days),
            f"{column.name}: {outside}": _count(pc.invert(inside)),
        }
    )


def _count(mask: pa.Array) -> int:
    return pc.sum(mask).as_py() or 0
