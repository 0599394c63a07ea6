"""The records of the period before, kept in the workspace of a release that goes on from them.

They are public. They are kept so that all stages, and a run that is resumed, see the same.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hallmark.mechanisms.linking import Past
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import whole
from hallmark.tasks.planning.coding import Codec, TableCodec

PERSON = "person"
_RECORDS, _CONTINUED = "panel-before.parquet", "panel-before.json"


class PastRefused(SafeError):
    """People cannot go on from the release of the period before."""


@dataclass(frozen=True)
class Continued:
    """The release of the period before.

    Attributes:
        release: its name.
        manifest: SHA-256 of its manifest.
    """

    release: str
    manifest: str


@dataclass(frozen=True, eq=False)
class KeptPast:
    """What is kept of it.

    Attributes:
        values: of the panel's columns by their names in that period, one row a record.
        persons: the name of each record's person, shape (records,).
    """

    continued: Continued
    values: pd.DataFrame
    persons: pd.Series

    def coded(self, spec: ReleaseSpec) -> Past:
        """Its records as those of the release's own period may say of them.

        Raises:
            PastRefused: they have values that this period's columns do not.
        """
        assert spec.series is not None, "it is a panel's"
        panel = spec.series.panel
        assert panel is not None, "it is a panel's"
        codec, lagged = TableCodec.of(spec.columns), spec.series.lagged
        names = codec.names
        says = [self._codes(codec.named(name), lag.held) for name, lag in lagged.items()]
        follows = [
            _grown(codec.named(name), self._codes(codec.named(name), name), by)
            for name, by in panel.steps.items()
        ]
        rows = len(self.persons)
        return Past(
            lagged=tuple(names.index(name) for name in lagged),
            of=tuple(names.index(lag.of) for lag in lagged.values()),
            says=np.column_stack(says),
            following=tuple(names.index(name) for name in panel.steps),
            follows=np.column_stack(follows) if follows else np.empty((rows, 0), dtype=np.int32),
        )

    def _codes(self, codec: Codec, of: str) -> NDArray[np.int32]:
        codes = codec.encode(self.values[of])
        if (codec.outside(self.values[of]) | (codes < 0) | (codes >= codec.attribute.cells)).any():
            raise PastRefused(
                f"series.panel: release {self.continued.release} has values of {of} that "
                f"columns.{of} does not list, so people cannot go on; list them, or begin a new "
                "panel (series.panel.begins). No budget is lost: run again with --resume"
            )
        return codes


def _grown(codec: Codec, codes: NDArray[np.int32], by: int) -> NDArray[np.int32]:
    """The codes a period later; negative where the column ends. A null stays one."""
    levels = codec.attribute.levels
    grown = codes + by
    if codec.column.outside == "clamp":
        grown = np.clip(grown, 0, levels - 1)
    inside = (grown >= 0) & (grown < levels)
    return np.where(codes == levels, codes, np.where(inside, grown, -1)).astype(np.int32)


def keep_past(folder: Path, kept: KeptPast) -> None:
    """Keep the records of the period before in the workspace at `folder`."""
    with whole(folder / _RECORDS) as draft:
        kept.values.assign(**{PERSON: kept.persons}).to_parquet(draft)
    with whole(folder / _CONTINUED) as draft:
        draft.write_text(json.dumps(asdict(kept.continued)))


def past_kept(folder: Path) -> KeptPast | None:
    """What is kept there; None where nothing is."""
    if not (folder / _CONTINUED).exists():
        return None
    told: Mapping[str, str] = json.loads((folder / _CONTINUED).read_text())
    table = pd.read_parquet(folder / _RECORDS)
    return KeptPast(Continued(**told), table.drop(columns=PERSON), table[PERSON])
