"""The tables that methods are compared on: made of shipped records, and what is missing."""

from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import data

TRAIN, TEST = (  # of the codes, a byte each: those that docs/benchmark was measured on
    "d61c96e01f876b37f74cf436bc815d98fcc20c780d3036eca763c51b8a1fcdb7",
    "85415be4dcf465a35c9fa2dd3342e502cfcbb01b7c9275731ff144bc711c4878",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of data."""
    monkeypatch.setenv(data.FOLDER, str(tmp_path))
    return tmp_path


def test_the_census_table_is_the_one_that_peers_were_measured_on() -> None:
    table = data.load("acs_nat")
    assert (table.train.shape, table.test.shape) == ((21_802, 19), (5_451, 19))
    assert (table.train.max(axis=0) < list(table.cells.values())).all()
    assert list(table.cells)[table.label] == "OWN_RENT"
    for codes, digest in ((table.train, TRAIN), (table.test, TEST)):
        assert sha256(codes.astype(np.uint8).tobytes()).hexdigest() == digest


@pytest.mark.parametrize(
    ("coding", "values", "codes"),
    [
        (data.Coding(range(1, 4)), ["1", "3"], [0, 2]),
        (data.Coding(range(1, 4), null=True), ["2", "N", "4"], [1, 3, 3]),
        (data.Coding(range(100), 32), ["0", "3", "4", "99"], [0, 0, 1, 31]),
        (data.Coding(range(5, 11), 2, unit=0.1), ["0.5", "0.7", "0.8", "1.0"], [0, 0, 1, 1]),
        (data.Coding(("b", "a", "?"), 2), ["?", "a", "b"], [1, 0, 0]),
    ],
)
def test_cells_are_of_equally_many_values(
    coding: data.Coding, values: list[str], codes: list[int]
) -> None:
    assert coding.codes(pd.Series(values)).tolist() == codes
    assert max(codes) == coding.size - 1


@pytest.mark.parametrize("coding", [data.Coding(range(3)), data.Coding(("0", "1"))])
def test_a_value_without_a_cell_is_refused(coding: data.Coding) -> None:
    with pytest.raises(ValueError, match="SEX: 1 values have no cell"):
        coding.codes(pd.Series(["0", "7"], name="SEX"))


def test_adult_is_read_as_its_files_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = (
        "39, State-gov, 77516, Bachelors, 13, Never-married, ?, Husband, White, Male, 0, 0, 40, ?, "
    )
    texts = (line + "<=50K\n\n", "|1x3 Cross validator\n" + line.replace("39", "90") + ">50K.\n\n")
    for name, text in zip(data.ADULT_FILES, texts, strict=True):
        (folder / name).write_text(text)
        monkeypatch.setitem(data.ADULT_FILES, name, sha256(text.encode()).hexdigest())
    table = data.adult.__wrapped__()
    assert table["age"].tolist() == [39, 90]
    assert table["marital_status"].tolist() == ["Never-married"] * 2
    assert table["native_country"].tolist() == ["?"] * 2
    assert table["income"].tolist() == ["<=50K", ">50K"]


@pytest.mark.parametrize("ask", [lambda: data.load("adult"), data.adult, data.main])
def test_missing_records_are_named_with_where_to_get_them(ask, folder: Path) -> None:
    (folder / "adult.test").write_text("something else")
    with pytest.raises(SystemExit) as ended:
        ask()
    said = str(ended.value)
    assert f"missing: {folder}/adult.data\n" in said
    assert f"not the expected file: {folder}/adult.test (its SHA-256 is not a2a9" in said
    assert f"unzip adult.zip adult.data adult.test -d {folder}" in said
