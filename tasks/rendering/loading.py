"""Scripts that load the records of a release in Python, R and Stata, from its dictionary alone.

Each sets types, missing values, categories and labels. Python reads the dictionary itself; R and
Stata have no reader of JSON at hand, so their scripts spell it out. They run with what comes with
the language: no package is needed to read a CSV file.
"""

import codecs
import re
from collections.abc import Iterator, Sequence

from hallmark.schemas.documents.data_dictionary import DataDictionary, DictionaryColumn
from hallmark.tasks.rendering.templating import source

PYTHON, R, STATA = "load.py", "load.R", "load.do"
_LARGEST_INTEGER = 2**31 - 1  # of R
_STATA_NAME = 32  # characters
_STATA_LABEL = 80  # characters of a variable's label
_RESERVED = {
    "_all", "_b", "_coef", "_cons", "_n", "_N", "_pi", "_pred", "_rc", "_skip", "byte", "double",
    "float", "if", "in", "int", "long", "strL", "using", "with",
}  # fmt: skip


def loading_scripts(dictionary: DataDictionary) -> dict[str, str]:
    """The scripts by name; none where the release has no data files of its own.

    Stata reads no Parquet, so it gets a script where there is a CSV file.
    """
    if not dictionary.files:
        return {}
    scripts = {PYTHON: source("load.py.j2"), R: "\n".join(_r(dictionary)) + "\n"}
    if csv_file(dictionary):
        scripts[STATA] = "\n".join(_stata(dictionary)) + "\n"
    return scripts


def distinct_labels(column: DictionaryColumn) -> list[str]:
    """A label for every category, or its code; with the code where two would be the same."""
    labels = [category.label or category.value for category in column.categories]
    if len(set(labels)) == len(labels):
        return labels
    codes = [category.value for category in column.categories]
    return [f"{label} ({code})" for label, code in zip(labels, codes, strict=True)]


def _title(column: DictionaryColumn) -> str:
    unit = f" ({column.unit})" if column.unit and column.type != "date" else ""
    return f"{column.description or column.name}{unit}"


def csv_file(dictionary: DataDictionary) -> str | None:
    """The CSV file, if there is one."""
    return next((name for name in dictionary.files if name.endswith(".csv")), None)


def _encoding(dictionary: DataDictionary) -> str:
    """The encoding of the CSV file, by the name that iconv and ICU know."""
    known = codecs.lookup(dictionary.csv_encoding).name
    return re.sub(r"^iso8859-", "ISO-8859-", known)


def _r(dictionary: DataDictionary) -> Iterator[str]:
    yield "# Loads this release into the data frame `release`: types, missing values, labels."
    yield '# In R: source("load.R", chdir = TRUE)'
    yield ""
    csv = csv_file(dictionary)
    if csv:
        marked = {"utf-8": "UTF-8", "ISO-8859-1": "latin1"}.get(_encoding(dictionary))
        yield "texts <- read.csv("
        yield f"  {r_text(csv)}, sep = {r_text(dictionary.csv_delimiter)}, header = TRUE,"
        yield '  colClasses = "character", na.strings = character(0), check.names = FALSE,'
        # What R can mark it reads as it is in any locale; the rest the locale has to know.
        which = "encoding" if marked else "fileEncoding"
        yield f"  blank.lines.skip = FALSE, {which} = {r_text(marked or _encoding(dictionary))}"
        yield ")"
    else:
        yield 'if (!requireNamespace("arrow", quietly = TRUE)) {'
        yield '  stop("Parquet is read with the package arrow: install.packages(\\"arrow\\")")'
        yield "}"
        parquet = next(name for name in dictionary.files if name.endswith(".parquet"))
        yield f"texts <- as.data.frame(arrow::read_parquet({r_text(parquet)}))"
    yield "release <- texts"
    yield f"names(release) <- {_r_vector([column.name for column in dictionary.columns])}"
    for number, column in enumerate(dictionary.columns, start=1):
        yield ""
        yield from _r_column(number, column, is_text=csv is not None)
    yield ""
    yield "rm(texts, x)"


def _r_column(number: int, column: DictionaryColumn, *, is_text: bool) -> Iterator[str]:
    yield f"# {number}: {' '.join(column.name.split()).encode('ascii', 'replace').decode()}"
    yield f"x <- texts[[{number}]]"
    if is_text and column.nullable:
        yield f"x[x == {r_text(column.null_marker)}] <- NA"
    if column.type in ("integer", "real"):
        if is_text and column.decimal_mark != ".":
            yield f'x <- sub({r_text(column.decimal_mark)}, ".", x, fixed = TRUE)'
        yield f"x <- {_r_number(column)}(x)"
    elif column.type == "date":
        yield f"x <- as.Date(x, format = {r_text(column.date_format)})"
    else:
        codes = [category.value for category in column.categories]
        ordered = ", ordered = TRUE" if column.type == "ordinal" else ""
        yield f"x <- factor(x, levels = {_r_vector(codes)},"
        yield f"  labels = {_r_vector(distinct_labels(column))}{ordered})"
    yield f'attr(x, "label") <- {r_text(_title(column))}'
    yield f"release[[{number}]] <- x"


def _r_number(column: DictionaryColumn) -> str:
    assert column.interval is not None, "the dictionary's own check"
    ends = (column.interval.low, column.interval.high)
    small = all(isinstance(end, int) and abs(end) <= _LARGEST_INTEGER for end in ends)
    return "as.integer" if column.type == "integer" and small else "as.numeric"


def _r_vector(texts: Sequence[str]) -> str:
    return f"c({', '.join(map(r_text, texts))})"


def r_text(text: str) -> str:
    """A text as R reads it in any locale: in ASCII, everything else by its number."""

    def escaped(character: str) -> str:
        if character in '\\"':
            return "\\" + character
        if " " <= character <= "~":
            return character
        return (
            f"\\U{{{ord(character):x}}}" if ord(character) > 0xFFFF else f"\\u{ord(character):04x}"
        )

    return f'"{"".join(map(escaped, text))}"'


def _stata(dictionary: DataDictionary) -> Iterator[str]:
    names = stata_names([column.name for column in dictionary.columns])
    yield "* Loads this release: types, missing values, labels. In Stata: do load.do"
    yield "* Run it in the folder of the release, or change to that folder with cd first."
    yield "version 14"
    yield f"import delimited using {stata_text(csv_file(dictionary) or '')}, clear ///"
    yield f"    delimiters({stata_text(dictionary.csv_delimiter)}) ///"
    yield "    varnames(nonames) rowrange(2) ///"
    yield "    stringcols(_all) bindquotes(strict) maxquotedrows(unlimited) ///"
    yield f"    encoding({stata_text(_encoding(dictionary))})"
    for number, (name, column) in enumerate(zip(names, dictionary.columns, strict=True), start=1):
        yield ""
        yield f"rename v{number} {name}"
        yield from _stata_column(name, column)
    yield ""
    yield "order ///"
    for line in _wrapped(names):
        yield f"    {line}"
    yield "compress"


def _stata_column(name: str, column: DictionaryColumn) -> Iterator[str]:
    if column.nullable and column.null_marker:
        yield f'replace {name} = "" if {name} == {stata_text(column.null_marker)}'
    if column.type in ("integer", "real"):
        if column.decimal_mark != ".":
            yield f'replace {name} = subinstr({name}, {stata_text(column.decimal_mark)}, ".", .)'
        yield f"destring {name}, replace"
    elif column.type == "date":
        mask = _stata_mask(column.date_format)
        if mask:
            yield f"generate long __new = daily({name}, {stata_text(mask)})"
            yield "format %td __new"
            yield from (f"drop {name}", f"rename __new {name}")
    else:
        codes = [category.value for category in column.categories]
        for value, code in enumerate(codes, start=1):
            yield f"label define {name} {value} {stata_text(code)}, add"
        yield f"encode {name}, generate(__new) label({name}) noextend"
        for value, label in enumerate(distinct_labels(column), start=1):
            yield f"label define {name} {value} {stata_text(label)}, modify"
        yield from (f"drop {name}", f"rename __new {name}")
    yield f"label variable {name} {stata_text(_title(column)[:_STATA_LABEL])}"
    if name != column.name:
        yield f"notes {name}: {stata_text(f'in the file: {column.name}')}"


def stata_names(names: Sequence[str]) -> list[str]:
    """Names that Stata takes, all different: at most 32 letters, digits and underscores."""
    taken: list[str] = []
    for name in names:
        plain = re.sub(r"[^0-9A-Za-z_]", "_", name)[:_STATA_NAME] or "_"
        if plain[0].isdigit() or plain in _RESERVED or re.fullmatch(r"str\d+|v\d+|_+new", plain):
            plain = f"_{plain}"[:_STATA_NAME]
        candidate, number = plain, 2
        while candidate in taken:
            ending = f"_{number}"
            candidate, number = plain[: _STATA_NAME - len(ending)] + ending, number + 1
        taken.append(candidate)
    return taken


def _stata_mask(form: str) -> str:
    """The order of year, month and day in a format of strptime; empty where Stata has none."""
    letters = {"Y": "Y", "y": "20Y", "m": "M", "b": "M", "B": "M", "d": "D"}
    directives = re.findall(r"%(.)", form.replace("%%", ""))
    mask = [letters.get(one, "?") for one in directives]
    known = sorted(part[-1] for part in mask) == ["D", "M", "Y"]
    return "".join(mask) if known else ""


def stata_text(text: str) -> str:
    """A text in compound quotes, in which Stata would expand macros and could see an early end."""
    line = re.sub(r"[\r\n]+", " ", text).replace("`", "'").replace("\"'", "\" '")
    return f'`"{line.replace("$", chr(92) + "$")}"\''


def _wrapped(names: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(names), 6):
        line = " ".join(names[start : start + 6])
        yield line if start + 6 >= len(names) else f"{line} ///"
