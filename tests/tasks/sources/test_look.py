"""Looking at a file that somebody uploaded: what is shown, hostile files, and the process."""

import gzip
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from unicodedata import normalize

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from hallmark.tasks.sources import apart as module
from hallmark.tasks.sources.beginning import ROWS, beginning
from hallmark.tasks.sources.look import LookRefused, look
from tests import messy
from tests.tasks.sources.test_workbooks import SHEET, book, rewritten

SECRET = "canary-73193"


def as_files(folder: Path) -> dict[str, Path]:
    """The messy table in every format that it is looked at in."""
    texts = messy.as_texts(messy.table(50))
    plain = messy.table(50).assign(née=messy.table(50)["née"].dt.date)
    plain.columns = [
        normalize("NFKD", name).encode("ascii", "ignore").decode() for name in plain.columns
    ]
    numbers = plain.drop(columns=[plain.columns[1]]).astype({"enfants": float})
    numbers = numbers.astype(dict.fromkeys(("sexe", "emploi"), "object"))
    found = {end: folder / f"t.{end}" for end in ("csv", "csv.gz", "parquet", "xlsx", "sav", "dta")}
    for end in ("csv", "csv.gz"):
        texts.to_csv(found[end], sep=";", index=False, encoding="latin-1")
    plain.to_parquet(found["parquet"])
    plain.to_excel(found["xlsx"], index=False)
    pyreadstat.write_sav(numbers, str(found["sav"]))
    pyreadstat.write_dta(numbers, str(found["dta"]))
    return found


def test_every_format_shows_its_columns_and_first_rows(tmp_path: Path):
    for end, file in as_files(tmp_path).items():
        seen = beginning(str(file), None)
        assert seen.refusal == "", end
        assert len(seen.rows) == ROWS, end
        assert "code_postal" in seen.columns, end
        place = list(seen.columns).index("code_postal")
        assert {row[place] for row in seen.rows} <= set(messy.POSTAL_CODES), end
        if end.startswith("csv"):
            assert seen.form == {
                "delimiter": ";", "encoding": "windows-1252", "decimal_mark": ",",
                "date_format": "%d/%m/%Y", "null_markers": seen.form["null_markers"],
            }  # fmt: skip
            assert set(seen.form["null_markers"]) == set(messy.MISSING)


def test_a_process_of_its_own_answers_the_same(tmp_path: Path):
    file = messy.write(tmp_path, 30)
    assert look(file) == beginning(str(file), None)
    form = {**messy.FORM, "null_markers": ["", "NA", "-"]}
    assert look(file, form) == beginning(str(file), form)


def test_of_several_sheets_the_first_is_proposed(tmp_path: Path):
    seen = beginning(str(book(tmp_path / "t.xlsx", "one", "two")), None)
    assert (seen.sheets, seen.form["sheet"]) == (["one", "two"], "one")
    assert seen.rows
    assert "has no sheet" in beginning(str(tmp_path / "t.xlsx"), {"sheet": "three"}).refusal


def a_gzip_bomb(folder: Path) -> Path:
    file = folder / "t.csv.gz"
    with gzip.open(file, "wb", compresslevel=9) as packed:
        for _ in range(300):
            packed.write(bytes(1 << 20))
    return file


def a_huge_line(folder: Path) -> Path:
    file = folder / "t.csv"
    file.write_bytes(b"a,b\n" + SECRET.encode() + b"x" * (40 << 20) + b",1\n")
    return file


def a_header_that_never_ends(folder: Path) -> Path:
    file = folder / "t.csv"
    file.write_bytes(b"a," * (20 << 20))
    return file


def nothing_but_nul(folder: Path) -> Path:
    file = folder / "t.csv"
    file.write_bytes(b"\0" * (1 << 20))
    return file


def an_archive_bomb(folder: Path) -> Path:
    file = book(folder / "t.xlsx")
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/sharedStrings.xml", b" " * (1 << 28) + b"<sst/>")
    return file


def a_sheet_of_entities(folder: Path) -> Path:
    file = book(folder / "t.xlsx")
    lines = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 20 if i else "ha"}">' for i in range(12))
    rewritten(file, SHEET, lambda text: f"<!DOCTYPE x [{lines}]>".encode() + text)
    return file


def a_footer_that_promises_much(folder: Path) -> Path:
    file = folder / "t.parquet"
    pq.write_table(pa.table({"a": [SECRET]}), file)
    content = bytearray(file.read_bytes())
    content[-8:-4] = (2**31 - 1).to_bytes(4, "little")
    file.write_bytes(content)
    return file


def a_few_bytes_that_stand_for_many(folder: Path) -> Path:
    file = folder / "t.parquet"
    pq.write_table(pa.table({"a": [SECRET * 4000] * 3_000}), file)
    return file


@pytest.mark.parametrize(
    "hostile",
    [
        a_gzip_bomb, a_huge_line, a_header_that_never_ends, nothing_but_nul, an_archive_bomb,
        a_sheet_of_entities, a_footer_that_promises_much, a_few_bytes_that_stand_for_many,
    ],
)  # fmt: skip
def test_a_hostile_file_is_refused_in_words_that_quote_nothing(hostile, tmp_path: Path):
    seen = beginning(str(hostile(tmp_path)), None)
    assert seen.refusal
    assert SECRET not in seen.refusal


def test_an_evil_header_of_spss_breaks_no_more_than_the_process_that_reads_it(tmp_path: Path):
    file = tmp_path / "t.sav"
    pyreadstat.write_sav(pd.DataFrame({"a": [SECRET]}), str(file))
    content = bytearray(file.read_bytes())
    content[68:84] = b"\xff\xff\xff\x7f" * 4  # cases, and bytes of one
    file.write_bytes(content)
    try:
        told = look(file).refusal
    except LookRefused as error:
        told = str(error)
    assert SECRET not in told


def test_the_process_knows_no_setting_and_may_write_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its program is one that tells what it was given."""
    told = tmp_path / "told"
    program = tmp_path / "program"
    program.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        "told = [sys.argv[1:], dict(os.environ), os.getcwd()]\n"
        f"open({str(told)!r}, 'w').write(json.dumps(told))\n"
        "print(sys.stdin.read(), file=sys.stderr)\nsys.exit(1)\n"
    )
    program.chmod(0o700)
    monkeypatch.setenv("HALLMARK_SOURCE_PASSWORD", SECRET)
    monkeypatch.setattr(module.sys, "executable", str(program))
    with pytest.raises(LookRefused, match="or is so damaged that its reader broke"):
        look(tmp_path / "t.csv")
    arguments, environment, folder = json.loads(told.read_text())
    assert arguments == ["-I", "-m", "hallmark.tasks.sources.look"]
    assert "HALLMARK_SOURCE_PASSWORD" not in environment
    assert folder == "/"


def test_the_limits_of_the_process_hold(tmp_path: Path):
    probe = (
        "import resource, io, sys\n"
        "from hallmark.tasks.sources import look, beginning\n"
        "def seen(*_):\n"
        "    try:\n"
        f"        open({str(tmp_path / 'written')!r}, 'wb', 0).write(b'x'); wrote = True\n"
        "    except OSError:\n"
        "        wrote = False\n"
        "    both = resource.RLIMIT_AS, resource.RLIMIT_CPU\n"
        "    limits = [resource.getrlimit(one)[0] for one in both]\n"
        "    return beginning.Look({'limits': limits, 'wrote': wrote})\n"
        "beginning.beginning = seen\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "look.answer(look._seen)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], input=json.dumps({"path": "t.csv", "form": None}),
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    form = json.loads(done.stdout)["form"]
    assert form == {"limits": [module.MEMORY, module.SECONDS], "wrote": False}
