"""SPSS, Stata and SAS files as private tables: values without labels, and hostile files."""

import subprocess
import sys
from pathlib import Path

import fsspec
import pandas as pd
import pyreadstat
import pytest

from hallmark.tasks.sources import Source, SourceError, batches, labelled_files, parts

SECRET = "canary-73193"
COLUMNS = ("age", "code", "born")
FRAME = pd.DataFrame(
    {
        "age": [3.0, 41.0, None],
        "code": ["01067", SECRET, "NA"],
        "born": pd.to_datetime(["2019-12-31", None, "1950-01-02"]).date,
    }
)
READ = [["3", "01067", "2019-12-31"], ["41", SECRET, None], [None, None, "1950-01-02"]]
WRITERS = {
    "sav": pyreadstat.write_sav, "zsav": pyreadstat.write_sav, "dta": pyreadstat.write_dta,
    "xpt": pyreadstat.write_xport,
}  # fmt: skip


def written(folder: Path, form: str) -> Path:
    file = folder / f"t.{form}"
    more = {"compress": True} if form == "zsav" else {}
    labels = {} if form == "xpt" else {"variable_value_labels": {"age": {3: "three"}}}
    WRITERS[form](FRAME, str(file), **more, **labels)
    return file


def read(location: str, **changes: object) -> list[list[str | None]]:
    fields: dict[str, object] = {
        "location": location, "null_markers": ("NA", ""), "columns": COLUMNS,
    }  # fmt: skip
    source = Source(**(fields | changes))  # type: ignore[arg-type]
    frames = [frame for part in parts(source) for frame in batches(part)]
    whole = pd.concat(frames).astype(object)
    return whole.where(whole.notna(), None).to_numpy().tolist()


@pytest.mark.parametrize("form", WRITERS)
def test_values_are_read_without_labels(form: str, tmp_path: Path):
    assert read(str(written(tmp_path, form))) == READ


def test_missing_values_of_spss_are_nulls(tmp_path: Path):
    file = tmp_path / "t.sav"
    missing = {"age": [{"lo": 40, "hi": 50}]}
    pyreadstat.write_sav(FRAME, str(file), missing_ranges=missing)
    assert [row[0] for row in read(str(file))] == ["3", None, None]


@pytest.mark.parametrize("form", ["sav", "dta"])
def test_rows_come_in_batches_that_fit(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(labelled_files, "MOST_OPEN", 1)
    assert read(str(written(tmp_path, form))) == READ


def test_a_missing_column_is_named_and_a_foreign_one_is_not(tmp_path: Path):
    file = str(written(tmp_path, "sav"))
    with pytest.raises(SourceError, match="it lacks the columns wage; it has 2 columns that"):
        read(file, columns=("age", "wage"))


@pytest.mark.parametrize("form", [*WRITERS, "sas7bdat"])
@pytest.mark.parametrize("content", [b"", b"$FL2" + b"\xff" * 400, SECRET.encode() * 30])
def test_what_is_no_file_of_the_format_is_refused(form: str, content: bytes, tmp_path: Path):
    file = tmp_path / f"t.{form}"
    file.write_bytes(content)
    with pytest.raises(
        SourceError, match=r"cannot be read as \w+ \(.*\); it may be damaged"
    ) as told:
        read(str(file))
    assert SECRET not in str(told.value)
    assert SECRET not in repr((told.value.__cause__, told.value.__context__))


def test_they_are_read_from_the_disk_as_they_are(tmp_path: Path):
    file = written(tmp_path, "sav")
    fsspec.filesystem("memory").pipe("/t.sav", file.read_bytes())
    with pytest.raises(SourceError, match="from this machine's disk alone"):
        read("memory://t.sav")
    with pytest.raises(SourceError, match=r"compressed, which only CSV files may be"):
        read(str(file.rename(tmp_path / "t.sav.gz")), format="sav")


SPOILED = """
import random, sys, resource
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
from tests.tasks.sources.test_labelled_files import read
from hallmark.tasks.sources import SourceError
sound, file = Path(sys.argv[1]).read_bytes(), Path(sys.argv[1])
rng = random.Random(3)
for _ in range(300):
    spoiled = bytearray(sound)
    for _ in range(rng.randint(1, 8)):
        spoiled[rng.randrange(min(len(spoiled), 900))] = rng.choice([0, 1, 127, 128, 255])
    file.write_bytes(spoiled)
    try:
        read(str(file))
    except SourceError:
        pass
    except UnicodeError as error:
        sys.exit(f"{error!r}")
"""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["sav", "dta", "xpt"])
def test_no_header_makes_the_reader_fill_the_memory_or_say_what_it_read(form: str, tmp_path: Path):
    file = written(tmp_path, form)
    done = subprocess.run(
        [sys.executable, "-c", SPOILED, file], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-500:]
