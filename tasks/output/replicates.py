"""`replicates.parquet` and `replicates.csv`: replicate weights, one row a record, in its order.

Columns are `weight`, the private records that a released record stands for; `replicate_1` and so
on, for the noise alone; `sampled_1` and so on, for noise and sampling. `docs/replicates.md` says
how they are used. Replicates are rounded to a hundredth of a usual weight or less, so that the
files hold the same numbers and are no larger than they need to be.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from hallmark.mechanisms.arrays import Floats
from hallmark.schemas.documents.data_dictionary import (
    NOISE_PREFIX,
    SAMPLING_PREFIX,
    WEIGHT_COLUMN,
    DataDictionary,
)
from hallmark.schemas.documents.manifest import REPLICATES_FILES
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.sources.parquet_bounds import whole
from hallmark.tasks.sources.texts import Unbounded

FORMAT = "hallmark-replicates/1"
_METADATA = b"hallmark"
_DIGITS = 2  # of a replicate of the usual weight, after its first
_DECIMALS = 6  # of the weight itself


class ReplicatesUnreadable(SafeError):
    """A file is not one of replicate weights."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ReplicateWeights:
    """Weights of all records.

    Attributes:
        weight: of every record, shape (records,).
        noise, sampling: of the two sets, shape (records, replicates).
        stretch, steepest: factors of the calibration: of everything, and the largest of a pair.
    """

    weight: Floats
    noise: Floats
    sampling: Floats
    stretch: float
    steepest: float


def column_names(number: int) -> list[str]:
    """The columns of the files with so many replicates."""
    prefixes = (NOISE_PREFIX, SAMPLING_PREFIX)
    return [WEIGHT_COLUMN, *(f"{one}{i}" for one in prefixes for i in range(1, number + 1))]


def write_replicates(
    weights: ReplicateWeights, folder: Path, *, release: str, formats: Sequence[str]
) -> None:
    """Write the files into the folder."""
    usual = float(weights.weight.mean())
    decimals = max(0, _DIGITS - math.floor(math.log10(usual)))
    sets = np.round(np.column_stack([weights.noise, weights.sampling]), decimals)
    rounded = [np.round(weights.weight, _DECIMALS), *sets.T]
    names = column_names(weights.noise.shape[1])
    table = pa.table(dict(zip(names, rounded, strict=True)))
    about = {
        "format": FORMAT,
        "release": release,
        "stretch": round(weights.stretch, 4),
        "steepest": round(weights.steepest, 4),
    }
    if "parquet" in formats:
        told = table.replace_schema_metadata({_METADATA: json.dumps(about).encode()})
        pq.write_table(told, folder / REPLICATES_FILES["parquet"], compression="zstd")
    if "csv" in formats:
        pc.write_csv(table, folder / REPLICATES_FILES["csv"], pc.WriteOptions(quoting_style="none"))


def read_replicates(path: Path) -> pd.DataFrame:
    """The weights in a file of either format.

    Raises:
        ReplicatesUnreadable: it cannot be read, or holds something else.
    """
    frame = _read(path)
    if list(frame.columns) != column_names((frame.shape[1] - 1) // 2):
        raise ReplicatesUnreadable(f"{path}: its columns are not those of replicate weights")
    return frame


def read_weight(path: Path) -> Floats:
    """The records' own weights in a file of either format, without their replicates.

    Raises:
        ReplicatesUnreadable: it cannot be read, or has none.
    """
    return _read(path, [WEIGHT_COLUMN])[WEIGHT_COLUMN].to_numpy()


def _read(path: Path, columns: list[str] | None = None) -> pd.DataFrame:
    try:
        if path.suffix == ".parquet":
            table = whole(path, columns)
        else:
            table = pc.read_csv(path, convert_options=pc.ConvertOptions(include_columns=columns))
        return table.to_pandas().astype("float64")
    except (pa.ArrowException, Unbounded, ValueError, OSError) as error:
        raise ReplicatesUnreadable(
            f"{path}: cannot be read as replicate weights ({type(error).__name__})"
        ) from error


def replicate_faults(folder: Path, dictionary: DataDictionary) -> Iterator[str]:
    """What is wrong with the files that the dictionary describes."""
    assert dictionary.replicates is not None, "it describes some"
    frames: list[pd.DataFrame] = []
    for name in dictionary.replicates.files:
        try:
            frame = read_replicates(folder / name)
        except ReplicatesUnreadable as error:
            yield str(error)
            continue
        values = frame.to_numpy()
        if len(frame) != dictionary.rows:
            yield f"{name} has {len(frame)} rows, but the dictionary says {dictionary.rows}"
        if frame.shape[1] != 1 + 2 * dictionary.replicates.number:
            yield f"{name} has not {dictionary.replicates.number} replicates"
        if not (np.isfinite(values).all() and (values >= 0).all()):
            yield f"{name} has weights that are not numbers from 0 up"
        if len(frame) and frame[WEIGHT_COLUMN].nunique() > 1:
            yield f"{name} has different weights, but released records weigh the same"
        frames.append(frame)
    if len(frames) == 2 and not frames[0].equals(frames[1]):
        yield "the files hold different weights"
