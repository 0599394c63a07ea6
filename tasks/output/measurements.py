"""`measurements.parquet`: everything that the curator answered, which is what the guarantee covers.

One row is one noisy table: which columns it is about, which combinations of codes each of its
answers counts, the law of the noise, and the answers. What was chosen on answers, and what every
code of a column means, stand in the file's metadata. `docs/measurements.md` describes the format.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hallmark.mechanisms.arrays import Counts
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.inference.transcript import Answered, Choice, Transcript
from hallmark.mechanisms.privacy.cells import CellMap
from hallmark.mechanisms.privacy.events import events_to_json
from hallmark.mechanisms.privacy.queries import GaussianNoise, LaplaceNoise, Noise
from hallmark.mechanisms.privacy.transforms import Sums
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.planning.coding import TableCodec, cell_labels
from hallmark.tasks.sources.parquet_bounds import whole
from hallmark.tasks.sources.texts import Unbounded

FORMAT = "hallmark-measurements/1"
_METADATA = b"hallmark"
_INTEGERS = pa.list_(pa.int64())
_SCHEMA = pa.schema(
    [
        ("call", pa.string()),  # of the curator; tables of one call were asked together
        ("columns", pa.list_(pa.string())),
        ("codes", pa.list_(_INTEGERS)),  # what each code of each column adds to the cell's number
        ("cells", pa.int64()),
        ("entry", _INTEGERS),  # the answer that every cell counts in, or -1; null: its own
        ("weight", _INTEGERS),  # how much it counts there; null: 1
        ("statistic", pa.string()),  # "sums" of cells, or how many are "occupied"
        ("noise", pa.string()),  # "discrete Gaussian" or "discrete Laplace"
        ("parameter", pa.string()),  # exactly: sigma^2 or scale, such as "36/5"
        ("conditional", pa.bool_()),  # asked after a choice, or with noise chosen on answers
        ("answers", _INTEGERS),
    ]
)
_NOISES: Mapping[str, type[Noise]] = {
    "discrete Gaussian": GaussianNoise,
    "discrete Laplace": LaplaceNoise,
}


class MeasurementsUnreadable(SafeError):
    """A file is not a measurement file of this format."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasurementFile:
    """A measurement file as read.

    Attributes:
        release: its name.
        tables: of sums, whose columns are numbered as the reader asked.
        total: the number of records, if it is public.
        codes: what the codes of every column mean, in their order.
        chosen: private choices in words.
        withheld: number of tables left out because they hold columns that are not published.
    """

    release: str
    tables: tuple[MeasuredTable, ...]
    total: int | None
    codes: Mapping[str, Sequence[str]]
    chosen: tuple[Mapping[str, Any], ...]
    withheld: int


def write_measurements(
    transcript: Transcript,
    codec: TableCodec,
    path: Path,
    *,
    release: str,
    published: Collection[str],
) -> None:
    """Write a transcript, without tables that hold columns which are not `published`."""
    names = codec.names
    shown = list(published_part(transcript, codec, published).histograms())
    every = sum(1 for _ in transcript.histograms())
    about = {
        "format": FORMAT,
        "release": release,
        "total": transcript.total,
        "codes": {one.name: cell_labels(one) for one in codec.codecs if one.name in published},
        "choices": [_choice(one, names, published) for one in transcript.choices],
        "withheld": every - len(shown),
    }
    rows = [_row(one, names, conditional=conditional) for one, conditional in shown]
    table = pa.Table.from_pylist(rows, schema=_SCHEMA)
    table = table.replace_schema_metadata({_METADATA: json.dumps(about).encode()})
    pq.write_table(table, path, compression="zstd")


def published_part(
    transcript: Transcript, codec: TableCodec, published: Collection[str]
) -> Transcript:
    """The transcript without tables of columns that are not published."""
    return transcript.about([codec.names.index(name) for name in published])


def read_measurements(path: Path, names: Sequence[str]) -> MeasurementFile:
    """Read a measurement file; `names` are all columns in the order of their numbers.

    Raises:
        MeasurementsUnreadable: the file is not of this format; the message says what is wrong.
    """
    try:
        table = whole(path)
        about = json.loads((table.schema.metadata or {}).get(_METADATA, b"{}"))
        if about.get("format") != FORMAT or not table.schema.equals(_SCHEMA):
            raise MeasurementsUnreadable(
                f"{path}: not a measurement file of format {FORMAT}; read it with the version of "
                "Hallmark that made the release"
            )
        return MeasurementFile(
            release=about["release"],
            tables=tuple(_tables(table.to_pylist(), names)),
            total=about["total"],
            codes=about["codes"],
            chosen=tuple(about["choices"]),
            withheld=about["withheld"],
        )
    except (pa.ArrowException, Unbounded, KeyError, TypeError, ValueError, OSError) as error:
        if isinstance(error, SafeError):
            raise
        raise MeasurementsUnreadable(
            f"{path}: cannot be read as a measurement file ({type(error).__name__})"
        ) from error


def _row(one: Answered, names: Sequence[str], *, conditional: bool) -> dict[str, Any]:
    cells, noise = one.query.cells, one.query.noise
    sums = one.query.transform.sums(cells.size)
    (family,) = (name for name, kind in _NOISES.items() if isinstance(noise, kind))
    return {
        "call": one.call,
        "columns": [names[column] for column in cells.columns],
        "codes": [table.tolist() for table in cells.tables],
        "cells": cells.size,
        "entry": None if sums is None else _unless(sums.entry, np.arange(cells.size)),
        "weight": None if sums is None else _unless(sums.weight, np.ones_like(sums.weight)),
        "statistic": "occupied" if sums is None else "sums",
        "noise": family,
        "parameter": str(noise.parameter),
        "conditional": conditional,
        "answers": one.answer.tolist(),
    }


def _unless(values: Counts, usual: Counts) -> list[int] | None:
    return None if np.array_equal(values, usual) else values.tolist()


def _choice(one: Choice, names: Sequence[str], published: Collection[str]) -> dict[str, Any]:
    return {
        "call": one.call,
        "among": one.among,
        "events": events_to_json(one.events),
        "chosen": [
            {
                "columns": [names[c] if names[c] in published else None for c in query.columns],
                "row": query.row,
                "above": query.above,
            }
            for query in one.chosen
        ],
    }


def _tables(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Iterator[MeasuredTable]:
    number = {name: position for position, name in enumerate(names)}
    for row in rows:
        if row["statistic"] != "sums":
            continue
        cells = row["cells"]
        yield MeasuredTable(
            cells=CellMap(
                tuple(number[name] for name in row["columns"]),
                tuple(_integers(table) for table in row["codes"]),
                cells,
            ),
            sums=Sums(
                np.arange(cells) if row["entry"] is None else _integers(row["entry"]),
                np.ones(cells, dtype=np.int64)
                if row["weight"] is None
                else _integers(row["weight"]),
                len(row["answers"]),
            ),
            noise=_NOISES[row["noise"]](Fraction(row["parameter"])),
            answers=_integers(row["answers"]),
            conditional=row["conditional"],
        )


def _integers(values: Sequence[int]) -> Counts:
    return np.array(values, dtype=np.int64)
