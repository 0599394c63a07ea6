"""Looking at a file that somebody uploaded: what is shown, hostile files, and the process."""

import gzip
import json
import subprocess
import sys
import zipfile
from contextlib import suppress
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


def evil_header(folder: Path) -> Path:
    file = folder / "evil.sav"
    pyreadstat.write_sav(pd.DataFrame({"a": [SECRET]}), str(file))
    content = bytearray(file.read_bytes())
    content[68:84] = b"\xff\xff\xff\x7f" * 4  # cases, and bytes of one
    file.write_bytes(content)
    return file


def test_an_evil_header_of_spss_breaks_no_more_than_the_process_that_reads_it(tmp_path: Path):
    try:
        told = look(evil_header(tmp_path)).refusal
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
        "sys.exit(1)\n"
    )
    program.chmod(0o700)
    monkeypatch.setenv("HALLMARK_SOURCE_PASSWORD", SECRET)
    monkeypatch.setattr(module.sys, "executable", str(program))
    monkeypatch.setattr(module, "_idle", [])
    with pytest.raises(LookRefused, match="or is so damaged that its reader broke"):
        look(tmp_path / "t.csv")
    arguments, environment, folder = json.loads(told.read_text())
    assert arguments[:-1] == ["-I", "-m", "hallmark.tasks.sources.apart_host"]
    assert "HALLMARK_SOURCE_PASSWORD" not in environment
    assert folder == "/"


PROBE = """
import json, resource, signal, sys
from multiprocessing import Pipe
from multiprocessing.reduction import send_handle
from hallmark.tasks.sources import apart_host, beginning

def seen(*_):
    try:
        open(sys.argv[1], 'wb', 0).write(b'x')
        wrote = True
    except OSError:
        wrote = False
    both = resource.RLIMIT_AS, resource.RLIMIT_CPU
    limits = [resource.getrlimit(one)[0] for one in both]
    try:
        there.send_bytes(b'to whoever asks next')
        answered = True
    except OSError:
        answered = False
    return beginning.Look({'limits': limits, 'wrote': wrote, 'answered': answered})

beginning.beginning = seen
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
here, there = Pipe()
answer, theirs = Pipe(duplex=False)
here.send_bytes(sys.stdin.buffer.read())
send_handle(here, theirs.fileno(), None)
here.send_bytes(b'}')
try:
    apart_host.serve(there)
except json.JSONDecodeError:  # the second question
    assert not here.poll(), 'the waiting process said something itself'
    print(answer.recv_bytes().decode())
"""


def test_the_limits_of_the_process_hold(tmp_path: Path):
    question = {
        "module": "hallmark.tasks.sources.look", "function": "_seen",
        "readers": "hallmark.tasks.sources.beginning", "asked": {"path": "t.csv", "form": None},
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(tmp_path / "written")], input=json.dumps(question),
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    form = json.loads(done.stdout)["form"]
    limits = [module.MEMORY, module.SECONDS]
    assert form == {"limits": limits, "wrote": False, "answered": False}


def test_one_process_answers_many_questions_each_by_a_fork_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    idle: list[module._Host] = []
    monkeypatch.setattr(module, "_idle", idle)
    evil = evil_header(tmp_path)
    good = as_files(tmp_path)["csv"]
    first = look(good)
    (host,) = idle
    try:
        with suppress(LookRefused):
            look(evil)
        assert look(good) == first
        assert idle == [host]
        host.process.kill()
        host.process.wait()
        assert look(good) == first
        assert idle != [host]
    finally:
        for one in (host, *idle):
            one.end()


def test_a_reader_that_never_ends_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Where neither the limit of its processor time nor the fork's own alarm does it."""
    monkeypatch.setattr(module, "_idle", [])
    monkeypatch.setattr(module, "PATIENCE", -10)
    with pytest.raises(LookRefused, match="took too much memory or time"):
        look(as_files(tmp_path)["csv"])
    assert module._idle == []
