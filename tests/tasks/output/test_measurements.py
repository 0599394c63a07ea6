"""Measurement files: everything that was asked comes back, and nothing of unpublished columns."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hallmark.mechanisms.inference.transcript import Answered, Choice, ChosenQuery, Transcript
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.events import ExponentialMechanism
from hallmark.mechanisms.privacy.queries import GaussianNoise, HistogramQuery, LaplaceNoise
from hallmark.mechanisms.privacy.transforms import HISTOGRAM, LevelDifferences, Occupied, Total
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.output.measurements import (
    MeasurementsUnreadable,
    read_measurements,
    write_measurements,
)
from hallmark.tasks.planning.coding import TableCodec
from tests import example

CODEC = TableCodec.of(ReleaseSpec.model_validate(example.spec("table.csv")).columns)
SHAPE = tuple(one.attribute.cells for one in CODEC.codecs)
GAUSS, LAPLACE = GaussianNoise(Fraction(36, 5)), LaplaceNoise(Fraction(7, 3))


def answered(columns, noise, transform=HISTOGRAM):
    cells = marginal(columns, SHAPE)
    sums = transform.sums(cells.size)
    entries = 1 if sums is None else sums.entries
    return Answered(
        call="marginals",
        query=HistogramQuery(cells, noise, transform),
        answer=np.arange(entries, dtype=np.int64) - 3,
    )


CHOICE = Choice(
    call="round-1",
    events=(ExponentialMechanism(epsilon=Fraction(1, 3)),),
    among=10,
    chosen=(ChosenQuery(columns=(0, 2)),),
)
TRANSCRIPT = Transcript(
    (
        answered((0, 1), GAUSS),
        answered((1, 0), LAPLACE, LevelDifferences(0)),
        answered((0,), LAPLACE, Occupied()),
        CHOICE,
        answered((2,), LAPLACE, Total()),
    ),
    total=None,
)


def written(tmp_path, published=CODEC.names):
    path = tmp_path / "measurements.parquet"
    write_measurements(TRANSCRIPT, CODEC, path, release="r", published=published)
    return path


def test_tables_come_back_as_they_were_asked(tmp_path):
    found = read_measurements(written(tmp_path), CODEC.names)
    assert (found.release, found.total, found.withheld) == ("r", None, 0)
    asked = list(TRANSCRIPT.tables())
    assert len(found.tables) == len(asked) == 3  # how many cells are occupied is no sum
    for one, other in zip(found.tables, asked, strict=True):
        assert one.cells.digest == other.cells.digest
        assert one.noise == other.noise
        assert one.conditional == other.conditional
        assert np.array_equal(one.answers, other.answers)
        assert (one.by_codes != other.by_codes).nnz == 0
    assert [one.conditional for one in found.tables] == [False, False, True]


def test_choices_are_told_with_their_columns(tmp_path):
    (choice,) = read_measurements(written(tmp_path), CODEC.names).chosen
    assert choice["among"] == 10
    assert choice["events"][0]["epsilon"] == "1/3"
    assert choice["chosen"] == [{"columns": ["age", "region"], "row": None, "above": None}]


def test_columns_that_are_not_published_are_in_no_table_and_no_label(tmp_path):
    path = written(tmp_path, published=("age", "region"))
    found = read_measurements(path, CODEC.names)
    assert found.withheld == 2
    assert {name for row in pq.read_table(path).to_pylist() for name in row["columns"]} == {
        "age",
        "region",
    }
    assert b"income" not in path.read_bytes()


def test_the_file_can_be_read_without_hallmark(tmp_path):
    (first, *_) = pq.read_table(written(tmp_path)).to_pylist()
    assert first["columns"] == ["age", "income"]
    assert first["codes"] == [list(range(0, 90, 9)), list(range(9))]
    assert (first["noise"], first["parameter"]) == ("discrete Gaussian", "36/5")
    assert first["entry"] is first["weight"] is None


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet at all"])
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "measurements.parquet"
    path.write_bytes(content)
    with pytest.raises(MeasurementsUnreadable, match="cannot be read as a measurement file"):
        read_measurements(path, CODEC.names)


def test_another_format_is_refused(tmp_path):
    path = tmp_path / "measurements.parquet"
    pq.write_table(pa.table({"call": ["x"]}), path)
    with pytest.raises(MeasurementsUnreadable, match="not a measurement file of format"):
        read_measurements(path, CODEC.names)
