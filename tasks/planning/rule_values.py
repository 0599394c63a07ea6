"""Values within cells that obey the edit rules.

The records' cells allow values that obey (`tasks.generate` saw to that), but a value drawn blindly
from a cell that a rule cuts may still break it. Such records draw again, which leaves the others
of a cell alone and keeps all values that obey as likely as each other; the few that still fail take
values that stand for parts of their cells. No record ever leaves its cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Mask
from hallmark.schemas.rules.rule_syntax import Determines
from hallmark.schemas.rules.rules import Rule
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.rule_tables import RuleCells

REDRAWS = 30  # how often a record draws again; after so many, parts of cells are chosen
CANDIDATES = 8  # values that are tried for all records that must agree


def decode(
    codec: TableCodec,
    codes: NDArray[np.int32],
    rules: Sequence[Rule],
    cells: RuleCells,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """A frame in original units that obeys the rules wherever the records' cells allow it.

    Args:
        rules: bound to the columns.
        cells: the same rules on cells.
    """
    frame = codec.decode(codes, rng)
    draw = _Draw(codec, codes, [r for r in rules if not isinstance(r.body, Determines)], rng)
    touched = [codec.codecs[index].name for index in cells.columns]
    left = draw.again(frame, np.arange(len(frame)), touched)
    parts = cells.rules.parts_within(codes[left], rng)
    found = (parts >= 0).all(axis=1)
    for index in cells.columns:
        name = codec.codecs[index].name
        _put(frame, name, left[found], cells.values[name].iloc[parts[found, index]])
    determined = [r.body for r in rules if isinstance(r.body, Determines)]
    agreeing = [body for body in determined if holds_several(codec, body.other)]
    for _ in agreeing:  # what one determines may determine another, in whatever order they stand
        for body in agreeing:
            _agree(frame, codes[:, codec.names.index(body.other)], body, draw)
    if agreeing:
        fixed = {name for body in agreeing for name in (body.column, body.other)}
        broken = np.flatnonzero(draw.broken(frame))
        draw.again(frame, broken, [name for name in touched if name not in fixed])
    return frame


@dataclass(frozen=True, eq=False)
class _Draw:
    """Draws values of records again."""

    codec: TableCodec
    codes: NDArray[np.int32]
    rules: Sequence[Rule]
    rng: np.random.Generator

    def broken(self, frame: pd.DataFrame) -> Mask:
        """Rows that break a rule."""
        flags = np.zeros(len(frame), dtype=np.bool_)
        for rule in self.rules:
            flags |= rule.violations(frame).to_numpy()
        return flags

    def again(
        self, frame: pd.DataFrame, rows: NDArray[np.int64], names: list[str]
    ) -> NDArray[np.int64]:
        """Draw these columns again in those of the rows that break a rule; returns what is left."""
        rows = rows[self.broken(frame.iloc[rows])]
        for _ in range(REDRAWS):
            if len(rows) == 0:
                break
            drawn = self.codec.decode(self.codes[rows], self.rng)
            for name in names:
                _put(frame, name, rows, drawn[name])
            rows = rows[self.broken(frame.iloc[rows])]
        return rows


def _put(frame: pd.DataFrame, name: str, rows: NDArray[np.int64], values: pd.Series) -> None:
    if len(rows):
        column = frame[name].copy()
        column.iloc[rows] = values.astype(column.dtype).array
        frame[name] = column


def holds_several(codec: TableCodec, name: str) -> bool:
    """Whether a cell of the column holds more than one value."""
    return bool(codec.named(name).attribute.widths.any())


def _agree(frame: pd.DataFrame, cells: NDArray[np.int32], rule: Determines, draw: _Draw) -> None:
    """Let records that agree in the column, and have the other in one cell, agree in the other.

    Of the first few values that such records have, all take the one that breaks fewest rules.
    """
    given = np.flatnonzero(frame[[rule.column, rule.other]].notna().all(axis=1))
    rows = pd.DataFrame(
        {
            "key": frame[rule.column].iloc[given].array,
            "cell": cells[given],
            "value": frame[rule.other].iloc[given].array,
        }
    )
    groups = rows.groupby(["key", "cell"], sort=False)
    if (groups["value"].nunique() <= 1).all():
        return
    number = groups.ngroup().to_numpy()
    sizes = np.bincount(number)
    starts = np.cumsum(sizes) - sizes
    members = np.argsort(number, kind="stable")

    def take(candidate: NDArray[np.int64] | int) -> None:
        chosen = members[starts + np.minimum(candidate, sizes - 1)]
        _put(frame, rule.other, given, rows["value"].iloc[chosen[number]])

    best = np.zeros(len(sizes), dtype=np.int64)
    least = np.full(len(sizes), np.inf)
    for candidate in range(min(CANDIDATES, int(sizes.max()))):
        take(candidate)
        broken = np.bincount(number, draw.broken(frame.iloc[given]), minlength=len(sizes))
        best = np.where(broken < least, candidate, best)
        least = np.minimum(broken, least)
    take(best)
