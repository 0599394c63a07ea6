"""Whether columns that are looked up have the values that the spec gives for the records' codes.

It shares no code with what fills them in, so that a mistake cannot hide in both.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from hallmark.schemas.columns.columns import NumericColumn
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.output.released import released_source
from hallmark.tasks.sources import SourceError, batches, parts, told_of


def lookup_faults(spec: ReleaseSpec, path: Path) -> Iterator[str]:
    """Lookups with other values in the data file, and in how many records."""
    wrong: Counter[str] = Counter()
    columns, lookups = spec.published, spec.published_lookups
    try:
        for frame in (
            frame for part in parts(released_source(spec, path)) for frame in batches(part)
        ):
            for name, lookup in lookups.items():
                wanted, own = frame[lookup.of].astype(object).map(lookup.values), frame[name]
                if isinstance(columns[name], NumericColumn):
                    wanted, own = pd.to_numeric(wanted), pd.to_numeric(own, errors="coerce")
                same = (wanted == own).fillna(False) | (wanted.isna() & frame[name].isna())
                wrong[name] += int((~same.to_numpy(dtype=bool)).sum())
    except SourceError as error:
        yield f"they cannot be read: {told_of(path.name, str(error))}"
    for name, records in (+wrong).items():
        yield f"{name} is not what is looked up from {lookups[name].of} in {records} records"
