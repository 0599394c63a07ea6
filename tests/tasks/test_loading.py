"""The page for data users and the scripts that load a release: they read what was written."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from hallmark.schemas.documents.audit_changes import Changed
from hallmark.schemas.documents.audit_questions import Learnt
from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.schemas.documents.certificate import CertifiedFile
from hallmark.schemas.documents.data_dictionary import (
    Category,
    CellGrid,
    DataDictionary,
    DictionaryColumn,
    Interval,
)
from hallmark.tasks.rendering import files_for_users
from hallmark.tasks.rendering.loading import loading_scripts, stata_names

NO_R = pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
CELLS = CellGrid(cells=2)
HARD = 'a "quoted" `name\' with $money \\ and ä'
COLUMNS = (
    DictionaryColumn(
        name="age", description="Age", type="integer", unit="years", grid=CELLS,
        interval=Interval(low=0, high=99), nullable=True, null_marker="NA",
    ),
    DictionaryColumn(
        name="1 income €", description="", type="real", grid=CELLS, decimal_mark=",",
        interval=Interval(low=0.0, high=400.0), nullable=True, null_marker="k. A.",
    ),
    DictionaryColumn(
        name="land", description=HARD, type="nominal", grid=CELLS,
        categories=(Category(value="NA", label="Namibia"), Category(value="07", label=HARD)),
    ),
    DictionaryColumn(
        name="rank", description="Rank", type="ordinal", grid=CELLS, nullable=True,
        categories=(Category(value="b", label="same"), Category(value="a", label="same")),
    ),
    DictionaryColumn(
        name="since", description="", type="date", grid=CELLS, date_format="%d.%m.%Y",
        interval=Interval(low="2000-01-01", high="2009-12-31"), nullable=True, null_marker="NA",
    ),
    DictionaryColumn(
        name="works", description="", type="boolean", grid=CELLS, nullable=True, null_marker="NA",
        categories=(Category(value="2", label="false"), Category(value="1", label="true")),
    ),
)  # fmt: skip
HARD_DICTIONARY = DataDictionary(
    release_id="hard", rows=3, files=("data.csv",), csv_delimiter=";", csv_encoding="latin-1",
    columns=tuple(c.model_copy(update={"name": c.name.replace("€", "ä")}) for c in COLUMNS),
)  # fmt: skip
CSV = """age;1 income ä;land;rank;since;works
17;1,5;NA;a;31.12.2009;1
NA;k. A.;07;;NA;NA
99;400,0;07;b;01.02.2003;2
"""


@pytest.fixture
def hard(tmp_path: Path) -> Path:
    """A folder whose CSV file is as hard to read as a dictionary allows."""
    (tmp_path / "data.csv").write_text(CSV, encoding="latin-1")
    (tmp_path / "data-dictionary.json").write_text(HARD_DICTIONARY.model_dump_json())
    for name, text in loading_scripts(HARD_DICTIONARY).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def loader(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("load", folder / "load.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_python_loads_types_missing_values_categories_and_labels(hard: Path) -> None:
    load = loader(hard)
    data = load.load()
    assert {name: str(dtype) for name, dtype in data.dtypes.items()}["age"] == "Int64"
    assert data["age"].tolist() == [17, pd.NA, 99]
    assert data["1 income ä"].tolist()[::2] == [1.5, 400.0]
    assert data["land"].tolist() == ["NA", "07", "07"]  # Namibia is no missing value
    assert data["rank"].cat.ordered
    assert list(data["rank"].cat.categories) == ["b", "a"]
    assert data["since"].dt.day.tolist()[::2] == [31, 1]
    assert data.isna().sum().tolist() == [1, 1, 0, 1, 1, 1]
    assert str(data["works"].dtype) == "boolean"
    assert data["works"].tolist() == [True, pd.NA, False]
    assert load.labels()["land"]["NA"] == "Namibia"
    assert load.load(with_labels=True)["rank"].tolist()[::2] == ["same (a)", "same (b)"]
    assert data.attrs["columns"]["age"]["unit"] == "years"


@pytest.mark.parametrize("form", ["data.csv", "data.parquet"])
def test_python_loads_either_file(form: str, unsigned: Path) -> None:
    (unsigned / form).unlink()
    data = loader(unsigned).load()
    assert len(data) == 400
    assert str(data["AGEP"].dtype) == "Int64"
    assert str(data["SEX"].dtype) == "category"
    assert data["SEX"].notna().all()
    assert 0 < data["MSP"].isna().sum() < 400


LOCALE = {"LC_ALL": "C"}  # what reads there reads everywhere


def r(folder: Path, ask: str) -> str:
    command = ["Rscript", "--vanilla", "-e", f'source("load.R", chdir = TRUE); {ask}']
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=60, env=os.environ | LOCALE
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@NO_R
def test_r_loads_types_missing_values_categories_and_labels(hard: Path) -> None:
    assert r(hard, "cat(sapply(release, function(x) class(x)[1]))") == (
        "integer numeric factor ordered Date factor"
    )
    assert r(hard, "cat(colSums(is.na(release)))") == "1 1 0 1 1 1"
    assert r(hard, "cat(as.character(release[['works']]))") == "true NA false"
    assert r(hard, "cat(as.character(release[['rank']]), sep = '|')") == "same (a)|NA|same (b)"
    assert r(hard, "cat(format(release[['since']][1]), release[[2]][1], release[['age']][3])") == (
        "2009-12-31 1.5 99"
    )
    assert r(hard, "cat(levels(release[['land']])[1], attr(release[['age']], 'label'))") == (
        "Namibia Age (years)"
    )
    assert r(hard, f"cat(levels(release[['land']])[2] == {_in_r(HARD)})") == "TRUE"


@NO_R
def test_r_loads_the_files_of_a_release(unsigned: Path) -> None:
    assert r(unsigned, "cat(nrow(release), ncol(release), sum(is.na(release[['AGEP']])))") == (
        "400 9 0"
    )


def _in_r(text: str) -> str:
    escaped = "".join(c if c.isalnum() and c.isascii() else f"\\u{ord(c):04x}" for c in text)
    return f'"{escaped}"'


def test_stata_is_told_types_missing_values_and_labels(hard: Path) -> None:
    lines = (hard / "load.do").read_text(encoding="utf-8").splitlines()
    for line in (
        'import delimited using `"data.csv"\', clear ///',
        '    encoding(`"ISO-8859-1"\')',
        "rename v1 age",
        'replace age = "" if age == `"NA"\'',
        "destring age, replace",
        'label variable age `"Age (years)"\'',
        "rename v2 _1_income__",
        'replace _1_income__ = subinstr(_1_income__, `","\', ".", .)',
        'notes _1_income__: `"in the file: 1 income ä"\'',
        'label define land 1 `"NA"\', add',
        'label define land 1 `"Namibia"\', modify',
        "encode rank, generate(__new) label(rank) noextend",
        'generate long __new = daily(since, `"DMY"\')',
    ):
        assert line in lines
    assert 'replace land = ""' not in "\n".join(lines)  # it may not be missing
    told = next(line for line in lines if line.startswith("label variable land"))
    assert told == 'label variable land `"a "quoted" \'name\' with \\$money \\ and ä"\''


def test_stata_names_are_taken_by_stata_and_differ() -> None:
    long = "a" * 40
    names = stata_names(["in", "2020", "ä", "ö", long, long + "b", "v7", "", "ok_1"])
    assert names == ["_in", "_2020", "_", "__2", "a" * 32, "a" * 30 + "_2", "_v7", "__3", "ok_1"]


def test_without_a_csv_file_stata_has_no_script() -> None:
    only = HARD_DICTIONARY.model_copy(update={"files": ("data.parquet",)})
    scripts = loading_scripts(only)
    assert set(scripts) == {"load.py", "load.R"}
    assert "arrow::read_parquet" in scripts["load.R"]


def test_scripts_read_none_but_csv_and_parquet_and_the_readme_tells_of_the_labelled_files(
    record: AuditRecord,
) -> None:
    files = ("data.dta", "data.sav", "data.parquet")
    more = HARD_DICTIONARY.model_copy(update={"files": files})
    assert 'arrow::read_parquet("data.parquet")' in loading_scripts(more)["load.R"]
    text = readme(record, more)
    assert '| Stata (14 or later), with labels | `use "data.dta"` |' in text
    assert '| SPSS, with labels | `GET FILE="data.sav".` |' in text
    assert "In `data.dta` and `data.sav`, every category is a number with a label" in text
    assert "with a label" not in readme(record, HARD_DICTIONARY)


def readme(record: AuditRecord, dictionary: DataDictionary) -> str:
    return files_for_users(record, dictionary)["README.md"].decode()


def test_the_readme_says_what_it_is_how_to_load_it_and_what_for(record: AuditRecord) -> None:
    text = readme(record, HARD_DICTIONARY)
    assert text.startswith("# American Community Survey excerpts, 2019\n")
    assert "These are **synthetic data**" in text
    assert "| Stata (14 or later) | `do load.do` |" in text
    assert "Means, shares and two-way tables" in text
    assert "**What it is not good for.** Statements about single persons" in text
    assert "ε 1, δ 0.00001" in text
    assert (
        "| corrections | Not stated by the curator. |" in text
    )  # the way to have a mistake corrected
    assert '| land | a "quoted" \\`name\' with $money \\\\ and ä | nominal | none |' in text
    assert "| rank | Rank | ordinal | empty in CSV |" in text


def test_the_readme_says_where_records_mislead(record: AuditRecord, learnt: Learnt) -> None:
    utility = record.utility.model_copy(update={"learnt": learnt})
    text = readme(record.model_copy(update={"utility": utility}), HARD_DICTIONARY)
    assert "| SEX: Male | 50 | 45 to 55 | 48 |\n" in text
    assert "| SEX: Female | 40 | 36 to 44 | 47 \\* |\n" in text
    assert text.count("The records' own answer lies outside the interval") == 1
    weakened = text.partition("**Weakened dependence.**")[2].partition("## Columns")[0]
    assert "AGEP x" in weakened
    assert "Weakened dependence" not in readme(record, HARD_DICTIONARY)


def test_the_readme_says_which_needs_were_kept(record: AuditRecord, learnt: Learnt) -> None:
    utility = record.utility.model_copy(update={"learnt": learnt})
    text = readme(record.model_copy(update={"utility": utility}), HARD_DICTIONARY)
    told = text.partition("## Needs")[2].partition("## Ask it")[0]
    kept, missed = (line for line in told.splitlines() if line.startswith("| `"))
    assert "| 45.5 to 54.5 (± 4.5), SEX: Male | yes | a \\| unit |" in kept
    assert "| nothing was measured of SEX x AGEP | **no** | another |" in missed
    assert "## Needs" not in readme(record, HARD_DICTIONARY)


def test_the_readme_says_what_changed(record: AuditRecord, changed: Changed) -> None:
    utility = record.utility.model_copy(update={"changed": changed})
    text = readme(record.model_copy(update={"utility": utility}), HARD_DICTIONARY)
    told = text.partition("## What changed since the period before")[2].partition("## Columns")[0]
    assert "these columns changed beyond the noise: SEX." in told
    assert "| SEX | a \\| b | fell | 50 % | 40 % | -12 and -8 points |" in told
    assert "## What changed" not in readme(record, HARD_DICTIONARY)


def test_a_rehearsal_is_called_one(record: AuditRecord) -> None:
    signature = record.signature.model_copy(update={"origin": "rehearsal"})
    text = readme(record.model_copy(update={"signature": signature}), HARD_DICTIONARY)
    assert "**REHEARSAL: this is not a release.**" in text
    assert "REHEARSAL" not in readme(record, HARD_DICTIONARY)


def test_scripts_load_the_files_that_the_dictionary_names() -> None:
    rehearsed = HARD_DICTIONARY.model_copy(update={"files": ("REHEARSAL-data.csv",)})
    for name in ("load.R", "load.do"):
        assert '"REHEARSAL-data.csv"' in loading_scripts(rehearsed)[name]


def test_a_certificate_has_a_readme_and_no_script(record: AuditRecord) -> None:
    file = CertifiedFile(name="theirs.csv", sha256="0" * 64, rows=400)
    certificate = record.utility.certificate.model_copy(update={"file": file})
    utility = record.utility.model_copy(update={"certificate": certificate})
    files: dict[str, Any] = files_for_users(
        record.model_copy(update={"utility": utility}),
        HARD_DICTIONARY.model_copy(update={"files": ()}),
    )
    assert list(files) == ["README.md"]
    text = files["README.md"].decode()
    assert "`theirs.csv`" in text
    assert "Load it" not in text
