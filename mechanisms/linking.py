"""Link the records of a period to those of the period before, so that people run through both.

Records of a period say, in columns of their own, what their person was in the period before; a null
says that the person was not there. Whatever made the records made these columns, too, so what they
say is no more than probable: nobody may have been just that. Here every record that continues gets
a record of the period before, and from then on says what that one says. Its other columns stay what
they are.

Which one it gets is chosen so that two-way tables of the columns about the period before, with all
columns and with each other, stay what they were: records change places as long as that brings the
sum of squared differences down. A record never gets a past from which it could not follow (another
birthplace, an age that is not a year more), nor one that a rule forbids it.

Everything here is public: records that were made of noisy answers, and records that were published.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hallmark.mechanisms.arrays import Codes
from hallmark.mechanisms.compiled import compiled
from hallmark.mechanisms.domain.rules import Rules, obeys
from hallmark.mechanisms.domain.rules.rules import joint_of

NEW = -1
"""In place of an earlier record: there is none."""

_SWEEPS = 40  # at most
_OFFERS = 10  # of a sweep to every place
_LITTLE = 0.01  # of the sum of squares; a sweep that gains less is the last
_SPARE = 0.1  # empty places for people who are new, in parts of those who continue
_TRANSITION = 4.0  # weight of a table of what was before by what is now, beside others
_FORBIDDEN = 1e9  # what breaking a rule adds to the sum of squares

_Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Past:
    """What records of the period before are to those of this one. Public.

    Attributes:
        lagged: columns of this period that say what was before. Their last cell is the null cell,
            and the first of them is null where, and only where, nobody was there.
        of: for each, the column that says the same of this period.
        says: what these columns say of each earlier record, shape (earlier records, lagged).
        following: columns of this period that follow from what was before.
        follows: what follows from each earlier record, shape (earlier records, following);
            negative where nothing does, so that nobody continues it.
    """

    lagged: tuple[int, ...]
    of: tuple[int, ...]
    says: Codes
    following: tuple[int, ...]
    follows: Codes


@dataclass(frozen=True, eq=False)
class Linked:
    """Records of a period, each with the one that it continues.

    Attributes:
        codes: shape (records, columns).
        before: the earlier record of each, or `NEW`, shape (records,).
        moved: records that rules forbid with any past, and that were moved to obey.
        differs: mean total variation, over two-way tables with columns about the period before,
            of the linked records from the records as they were made.
    """

    codes: Codes
    before: _Rows
    moved: int
    differs: float


def link(codes: Codes, rules: Rules, past: Past, rng: np.random.Generator) -> Linked:
    """Give every record that continues one of the period before, and each of these to one at most.

    Args:
        codes: of the records, shape (records, columns); they obey the rules.
        rules: of all columns, also of those about the period before.
    """
    if rules.determinations:
        rules = rules.settled(joint_of(codes, rules.shape))
    search = _Search(codes, rules, past, _places(codes, past, rules.shape, rng))
    search.improve(rng)
    linked, before = search.linked()
    fixed = (*past.lagged, *past.following)
    obeying = rules.repair(linked, rng, fixed=fixed)
    return Linked(
        codes=obeying,
        before=before,
        moved=int((obeying != linked).any(axis=1).sum()),
        differs=search.differs(obeying),
    )


@dataclass(frozen=True, eq=False)
class _Places:
    """Earlier records, and places without a past. Records of a group change places with each other.

    Attributes:
        earlier: the earlier record of each place, or `NEW`, shape (places,).
        group: records and earlier records that agree on what follows, shape (places,).
        holder: the record at each place, or -1, shape (places,).
        says: what a record there says of the period before, shape (places, lagged).
    """

    earlier: _Rows
    group: _Rows
    holder: _Rows
    says: Codes


def _places(codes: Codes, past: Past, shape: Sequence[int], rng: np.random.Generator) -> _Places:
    """Places with a first distribution of the records: to earlier records that are what the records
    say, where there are some, and else to any of their group."""
    nulls = np.array([shape[column] - 1 for column in past.lagged])
    groups, earlier_groups = _numbered(codes[:, past.following], past.follows)
    open_ones = np.flatnonzero((past.follows >= 0).all(axis=1))
    own, theirs = _numbered(codes[:, past.lagged], past.says)
    continuing = np.flatnonzero(codes[:, past.lagged[0]] != nulls[0])
    records = pd.DataFrame(
        {"record": continuing, "group": groups[continuing], "said": own[continuing]}
    )
    places = pd.DataFrame(
        {"place": open_ones, "group": earlier_groups[open_ones], "said": theirs[open_ones]}
    )
    records = records.sample(frac=1, random_state=rng)
    places = places.sample(frac=1, random_state=rng)
    pairs = []
    for agreeing in (["group", "said"], ["group"]):
        found = _ranked(records, agreeing).merge(_ranked(places, agreeing), on=[*agreeing, "rank"])
        pairs.append(found[["record", "place"]])
        records = records[~records["record"].isin(found["record"])]
        places = places[~places["place"].isin(found["place"])]
    held = pd.concat(pairs)
    holder = np.full(len(past.says), NEW)
    holder[held["place"]] = held["record"]
    new = np.setdiff1d(np.arange(len(codes)), held["record"])
    spare = np.repeat(
        *np.unique(
            rng.choice(groups[held["record"]], size=int(_SPARE * len(held)), replace=False),
            return_counts=True,
        )
    )
    return _Places(
        earlier=np.concatenate([np.arange(len(past.says)), np.full(len(new) + len(spare), NEW)]),
        group=np.concatenate([earlier_groups, groups[new], spare]),
        holder=np.concatenate([holder, new, np.full(len(spare), NEW)]),
        says=np.vstack([past.says, np.tile(nulls, (len(new) + len(spare), 1))]),
    )


def _numbered(ours: Codes, theirs: Codes) -> tuple[_Rows, _Rows]:
    """Numbers of rows, the same for equal rows of either."""
    _, number = np.unique(np.vstack([ours, theirs]), axis=0, return_inverse=True)
    number = number.ravel()
    return number[: len(ours)], number[len(ours) :]


def _ranked(table: pd.DataFrame, agreeing: list[str]) -> pd.DataFrame:
    """The rows with their rank among those that agree."""
    columns = [name for name in table if name in agreeing or name in ("record", "place")]
    return table[columns].assign(rank=table.groupby(agreeing).cumcount())


class _Search:
    """Exchanges of places that bring two-way tables back to what they were."""

    def __init__(self, codes: Codes, rules: Rules, past: Past, places: _Places) -> None:
        self._codes, self._rules, self._past, self._places = codes, rules, past, places
        self._holder = places.holder.copy()
        self._pairs = np.array(list(_pairs(past, codes.shape[1])))
        self._weights = np.array([_weight(past, *pair) for pair in self._pairs])
        shape = np.array(rules.shape)
        sizes = shape[self._pairs[:, 0]] * shape[self._pairs[:, 1]]
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        held = np.flatnonzero(self._holder >= 0)
        self._off = self._counts(self._saying(held)) - self._counts(codes)

    def differs(self, codes: Codes) -> float:
        """Mean total variation of the tables of records from what they were."""
        off = self._counts(codes) - self._counts(self._codes)
        return float(np.abs(off).sum() / (2 * len(codes) * len(self._pairs)))

    def improve(self, rng: np.random.Generator) -> None:
        """Exchange places until a sweep brings little."""
        order = np.argsort(self._places.group, kind="stable")
        _, starts, sizes = np.unique(
            self._places.group[order], return_index=True, return_counts=True
        )
        # By place in that order, where its group starts, and how many are in it.
        first, many = np.repeat(starts, sizes), np.repeat(sizes, sizes)
        is_ruled = any(set(self._past.lagged) & set(one) for one in self._rules.components)
        for _ in range(_SWEEPS):
            squares = self._squares()
            for _ in range(_OFFERS):
                mates = order[first + rng.integers(many)]
                mixed = rng.permutation(len(order))
                _sweep(
                    order[mixed],
                    mates[mixed],
                    self._codes,
                    self._holder,
                    self._places.says,
                    np.array(self._past.lagged),
                    self._pairs,
                    self._weights,
                    self._starts,
                    np.array(self._rules.shape),
                    self._off,
                    is_ruled,
                    self._rules.compiled(),
                )
            if self._squares() >= (1 - _LITTLE) * squares:
                break

    def linked(self) -> tuple[Codes, _Rows]:
        """The records with what they say of the period before, and the earlier record of each.

        Who breaks a rule with the past that is left for it is new.
        """
        held = np.flatnonzero(self._holder >= 0)
        codes, before = self._codes.copy(), np.full(len(self._codes), NEW)
        codes[self._holder[held]] = self._saying(held)
        before[self._holder[held]] = self._places.earlier[held]
        broken = ~self._rules.valid(codes)
        before[broken] = NEW
        for lag in self._past.lagged:
            codes[broken, lag] = self._rules.shape[lag] - 1
        return codes, before

    def _saying(self, places: _Rows) -> Codes:
        """The records at places as they are there, shape (places, columns)."""
        codes = self._codes[self._holder[places]]
        codes[:, list(self._past.lagged)] = self._places.says[places]
        return codes

    def _counts(self, codes: Codes) -> NDArray[np.int64]:
        """The tables of all pairs, end to end."""
        shape = self._rules.shape
        return np.concatenate(
            [
                np.bincount(
                    codes[:, one].astype(np.int64) * shape[other] + codes[:, other],
                    minlength=shape[one] * shape[other],
                )
                for one, other in self._pairs
            ]
        )

    def _squares(self) -> float:
        """Weighted sum of squared differences over all tables."""
        each = np.add.reduceat(self._off.astype(np.float64) ** 2, self._starts[:-1])
        return float(self._weights @ each)


def _pairs(past: Past, columns: int) -> Iterator[tuple[int, int]]:
    """Columns of the tables: one about the period before with every other column."""
    for position, lag in enumerate(past.lagged):
        yield from ((lag, column) for column in range(columns) if column not in past.lagged)
        yield from ((lag, other) for other in past.lagged[position + 1 :])


def _weight(past: Past, lag: int, column: int) -> float:
    """What a table counts for: those that say who became what are what a panel is for."""
    return _TRANSITION if past.of[past.lagged.index(lag)] == column else 1.0


@compiled()
def _sweep(  # type: ignore[no-untyped-def]  # compiled
    places, mates, codes, holder, says, lagged, pairs, weights, starts, shape, off, is_ruled, flat
):
    """Offer every place an exchange with its mate; both are taken where the sum of squares falls.

    Args:
        places, mates: of one group each.
        off: by how much the tables of all pairs differ, end to end; kept up to date.
    """
    lags = len(lagged)
    at = np.full(len(shape), -1)  # of a column, its position among those about the past
    for p in range(lags):
        at[lagged[p]] = p
    row = np.empty(len(shape), dtype=codes.dtype)
    cells = np.empty((len(pairs), 4), dtype=np.int64)  # left and entered by each of the two
    for k in range(len(places)):
        a, b = places[k], mates[k]
        i, j = holder[a], holder[b]
        same = True
        for p in range(lags):
            same = same and says[a, p] == says[b, p]
        if same or (i < 0 and j < 0):
            continue
        loss = 0.0
        for t in range(len(pairs)):
            one, other = pairs[t]
            p, q = at[one], at[other]
            width = shape[other]
            ai = says[a, p] * width
            bi = says[b, p] * width
            xi = says[a, q] if q >= 0 else (codes[i, other] if i >= 0 else 0)
            yi = says[b, q] if q >= 0 else xi
            xj = says[b, q] if q >= 0 else (codes[j, other] if j >= 0 else 0)
            yj = says[a, q] if q >= 0 else xj
            start = starts[t]
            cells[t, 0], cells[t, 1] = start + ai + xi, start + bi + yi
            cells[t, 2], cells[t, 3] = start + bi + xj, start + ai + yj
            # Changing the counts one after the other counts what falls together.
            before = 0.0
            for c in range(4):
                if (c < 2 and i >= 0) or (c >= 2 and j >= 0):
                    step = 1 if c % 2 else -1
                    before += 2 * step * off[cells[t, c]] + 1
                    off[cells[t, c]] += step
            loss += weights[t] * before
        if is_ruled:
            loss += _FORBIDDEN * (
                _breaks(row, codes, i, says, b, lagged, flat)
                + _breaks(row, codes, j, says, a, lagged, flat)
                - _breaks(row, codes, i, says, a, lagged, flat)
                - _breaks(row, codes, j, says, b, lagged, flat)
            )
        if loss < 0:
            holder[a], holder[b] = j, i
            continue
        for t in range(len(pairs)):
            for c in range(4):
                if (c < 2 and i >= 0) or (c >= 2 and j >= 0):
                    off[cells[t, c]] -= 1 if c % 2 else -1


@compiled()
def _breaks(row, codes, record, says, place, lagged, flat):  # type: ignore[no-untyped-def]
    """1 if the record breaks a rule at the place, else 0, also where there is no record."""
    if record < 0:
        return 0
    for column in range(codes.shape[1]):
        row[column] = codes[record, column]
    for p in range(len(lagged)):
        row[lagged[p]] = says[place, p]
    for p in range(len(lagged)):
        if not obeys(row, lagged[p], row[lagged[p]], flat):
            return 1
    return 0
