"""Read a part of the private table once: check its rules, and code its records.

A column of a batch has few different cells. Each is read, checked and coded once, by the same codec
that reads a text anywhere else; a record takes its code, and counts with its cell where that breaks
a rule. So what costs time at a billion records is to look up a code for each cell.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from hallmark.mechanisms.arrays import AnyCodes, Mask
from hallmark.schemas.columns.columns import Column
from hallmark.schemas.lookups import Lookup
from hallmark.tasks.code_files import Drafts
from hallmark.tasks.expectations import (
    Check,
    ReadColumn,
    Rule,
    ValidationFailed,
    check_of_person,
    checks_of,
    rule_of_lookup,
    second_opinion,
)
from hallmark.tasks.offending import Frequent, Offending, write_piece
from hallmark.tasks.planning.coding import Codec, NumericCodec, TableCodec
from hallmark.tasks.planning.likeness import RecordSums
from hallmark.tasks.planning.looked_up import disagreeing, numbered
from hallmark.tasks.planning.truncation import keys
from hallmark.tasks.sources import Cells, DatabasePart, Part, batches_of_cells, first_rows

_COMPARED = 10_000  # rows that Great Expectations counts too


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The number of rows that break a rule. Internal: an exact count of private rows."""

    rule: Rule
    rows: int
    failing: int


@dataclass(frozen=True, kw_only=True)
class PartRead:
    """What a pass over a part found. Internal.

    Attributes:
        findings: one a rule.
        files: of its coded records; of no use where a rule that refuses is broken.
        sums: what copies of the records are known by; likewise.
    """

    findings: tuple[Finding, ...]
    files: tuple[Path, ...]
    sums: RecordSums


def read_part(
    part: Part,
    columns: Mapping[str, Column],
    person: str | None,
    *,
    lookups: Mapping[str, Lookup] | None = None,
    see: Callable[[pd.Series], None] = lambda persons: None,
    offending: Path | None = None,
    drafts: Drafts | None = None,
) -> PartRead:
    """Read one part of the source, batch by batch.

    Args:
        lookups: of which the part's own values, where it has some, are compared with the spec's.
            They are never coded.
        see: called with the persons of every batch.
        offending: the file in the restricted workspace for values that break rules, if wanted.
        drafts: where its records are coded, if they are; not beyond a batch that the spec refuses.

    Raises:
        SourceError: it cannot be read.
    """
    check = _Pass.of(columns, person, lookups)
    files: list[Path] = []
    sums = RecordSums()
    for batch, cells in enumerate(batches_of_cells(part)):
        read, persons = check.batch(cells), None
        if person is not None:
            persons = cells[person].texts.iloc[cells[person].places].reset_index(drop=True)
            see(persons)
        if drafts is None or check.tally.refuses:
            continue
        codes = _coded(read)
        sums = sums.plus(RecordSums.of(codes))
        ordered = not isinstance(part, DatabasePart)
        kept_by = None if persons is None else keys(codes, persons, ordered=ordered)
        files.append(drafts.write(batch, codes, kept_by))
    if offending is not None:
        write_piece(check.tally.seen, offending)
    return PartRead(findings=check.tally.findings(), files=tuple(files), sums=sums)


def compare(
    part: Part,
    columns: Mapping[str, Column],
    person: str | None,
    lookups: Mapping[str, Lookup] | None = None,
) -> None:
    """Check that Great Expectations counts on the first rows of a part what the pass counts.

    Raises:
        ValidationFailed: it does not.
    """
    rows = first_rows(part, _COMPARED)
    if rows is None:
        return
    text, cells = rows
    ours = _Pass.of(columns, person, lookups)
    ours.batch(cells)
    theirs = second_opinion(TableCodec.of(columns).codecs, text, person, lookups)
    for finding in ours.tally.findings():
        if finding.failing != theirs[finding.rule]:
            raise ValidationFailed(
                f"{finding.rule.section}.{finding.rule.column}: two ways to count the rows that "
                "break a rule do not agree, so nothing is released; this is a bug in Hallmark, "
                "please report it"
            )


@dataclass(frozen=True, eq=False)
class _Pass:
    """The checks of all columns, of lookups, and of the person that a record belongs to, with their
    counts."""

    readers: Sequence["_Reader"]
    lookups: Mapping[str, tuple[Lookup, Column]]
    owners: Check | None
    tally: "_Tally"

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Column],
        person: str | None,
        lookups: Mapping[str, Lookup] | None,
    ) -> "_Pass":
        """A pass that has not begun."""
        readers = [_Reader(codec, checks_of(codec)) for codec in TableCodec.of(columns).codecs]
        owners = None if person is None else check_of_person(person)
        rules = [check.rule for reader in readers for check in reader.checks]
        rules += [] if owners is None else [owners.rule]
        rules += [rule_of_lookup(*item) for item in (lookups or {}).items()]
        compared = {name: (one, columns[one.of]) for name, one in (lookups or {}).items()}
        return cls(readers, compared, owners, _Tally(rules))

    def batch(self, cells: Mapping[str, Cells]) -> list["_CodedColumn"]:
        """Check a batch; the columns with their codes."""
        read = [reader.read(cells[reader.codec.name], self.tally) for reader in self.readers]
        if self.owners is not None:
            owned = cells[self.owners.rule.column]
            self.tally.count(self.owners, owned, owned.texts.isna().to_numpy(dtype=bool))
        for name, (lookup, measured) in self.lookups.items():
            if name in cells:
                of, own = cells[lookup.of], cells[name]
                self.tally.compare(rule_of_lookup(name, lookup), lookup, measured, of, own)
        self.tally.rows += len(read[0].places)
        return read


@dataclass
class _Tally:
    """Rows of the batches so far, how many break each rule, and by which values."""

    rules: Sequence[Rule]
    rows: int = 0
    failing: dict[Rule, int] = field(default_factory=lambda: defaultdict(int))
    seen: Offending = field(default_factory=lambda: defaultdict(Frequent))

    def count(self, check: Check, cells: Cells, broken: Mask) -> None:
        """Count the records of the cells that break a rule."""
        broken = broken & (cells.records > 0)
        if not broken.any():
            return
        rule, records = check.rule, cells.records[broken]
        self.failing[rule] += int(records.sum())
        if check.shows:
            self.seen[named(rule)].see(cells.originals[broken].tolist(), records.tolist())

    def compare(self, rule: Rule, lookup: Lookup, measured: Column, of: Cells, own: Cells) -> None:
        """Count the records whose own value is not the one that is looked up."""
        expected, found = numbered(lookup, measured, of.texts, own.texts)
        wrong = np.flatnonzero(disagreeing(expected[of.places], found[own.places]))
        if not wrong.size:
            return
        self.failing[rule] += wrong.size
        pairs, records = np.unique(
            np.column_stack([of.places[wrong], own.places[wrong]]), axis=0, return_counts=True
        )
        codes = of.texts.fillna("null")
        told = [f"{codes.iloc[code]}: {own.texts.iloc[value]}" for code, value in pairs]
        self.seen[named(rule)].see(told, records.tolist())

    @property
    def refuses(self) -> bool:
        """Whether a rule that refuses is broken."""
        return any(rule.refuses for rule in self.failing)

    def findings(self) -> tuple[Finding, ...]:
        return tuple(
            Finding(rule=rule, rows=self.rows, failing=self.failing.get(rule, 0))
            for rule in self.rules
        )


def named(rule: Rule) -> str:
    """What values that break a rule are filed under."""
    return f"{rule.column}: {rule.rule}"


@dataclass(frozen=True, eq=False)
class _CodedColumn:
    """Codes of a column's different cells, and which of them every record has."""

    codec: Codec
    codes: AnyCodes
    occurs: Mask
    places: AnyCodes


@dataclass(frozen=True, eq=False)
class _Reader:
    """The codec of a column with the checks of its rules."""

    codec: Codec
    checks: Sequence[Check]

    def read(self, cells: Cells, tally: _Tally) -> _CodedColumn:
        """Check and code the column of a batch."""
        codec = self.codec
        if isinstance(codec, NumericCodec) and cells.numbers is not None:
            read = ReadColumn(*codec.read_numbers(cells.numbers))
        else:
            read = ReadColumn(*codec.read(cells.texts))
        for check in self.checks:
            tally.count(check, cells, check.broken(read))
        return _CodedColumn(codec, codec.encode(read.values), cells.records > 0, cells.places)


def _coded(columns: Sequence[_CodedColumn]) -> AnyCodes:
    """Codes of the records, shape (rows, columns), in the fewest bytes that hold all of them.

    Raises:
        ValueError: a cell has no place in the domain, though no rule that refuses is broken, which
            is a mistake of ours.
    """
    widest = max(column.codec.attribute.cells for column in columns)
    kind = np.min_scalar_type(widest - 1)
    codes = np.empty((len(columns[0].places), len(columns)), dtype=kind, order="F")
    for position, column in enumerate(columns):
        met = column.codes[column.occurs]
        if met.size and (met.min() < 0 or met.max() >= column.codec.attribute.cells):
            raise ValueError(f"columns.{column.codec.name}: a value has no cell")
        np.take(column.codes.astype(kind), column.places, out=codes[:, position])
    return codes
