"""Two release folders of the same table, opened to ask how it changed: `hallmark.compare`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.schemas.documents.agency_keys import AgencyKeys
from hallmark.schemas.documents.manifest import MEASUREMENTS_FILE, Manifest
from hallmark.tasks.changes.changes import Changes
from hallmark.tasks.changes.common_cells import NotComparable
from hallmark.tasks.changes.periods import about_the_tables, recoding_between
from hallmark.tasks.changes.posing import posed
from hallmark.tasks.changes.recoding import Recoding, read_recoding, recoding_of
from hallmark.tasks.changes.shifts import Shifts, shifts
from hallmark.tasks.installation.key_register import key_register
from hallmark.tasks.questions.release import CannotAsk, OpenRelease, refuse_confidence
from hallmark.tasks.verification.as_signed import as_signed
from hallmark.tasks.verification.in_use import keys_at_hand, told_superseded


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two releases whose files are those that were signed. Nothing but their folders is read.

    Attributes:
        recoding: the later release's codes for the earlier one's, where they differ.
        told: what of the two releases a reader must know, whatever is asked.
    """

    before: OpenRelease
    after: OpenRelease
    recoding: Recoding
    told: tuple[str, ...]

    @classmethod
    def of(
        cls,
        before: str | Path,
        after: str | Path,
        recode: str | Path | Mapping[str, Mapping[str, str]] | None = None,
        register: AgencyKeys | None = None,
    ) -> Self:
        """The releases in two folders, the earlier one first.

        Args:
            recode: a public map {column: {earlier code: later code}}, or the YAML or CSV file that
                has it; defaults to that of the later spec (series.recode) for its own series.
            register: of keys, by which notices count; defaults to the installation's.
        Raises:
            CannotAsk: a folder is not a release.
            NotAsSigned: its files are not those that were signed.
            NotInUse: one was withdrawn, or a notice beside it is not the agency's.
            NotComparable: they are the same release, or the map does not fit.
        """
        opened = (OpenRelease.of(before), OpenRelease.of(after))
        manifests = tuple(as_signed(one.folder) for one in opened)
        if register is None:
            register = key_register()
        notices = [
            note
            for one, manifest in zip(opened, manifests, strict=True)
            for note in told_superseded(one.folder, keys_at_hand(manifest, register))
        ]
        _refuse_the_same(*opened, *manifests)
        if recode is None:
            recoding = recoding_between(*(one.spec for one in opened))
        elif isinstance(recode, Mapping):
            recoding = recoding_of(recode)
        else:
            recoding = read_recoding(Path(recode))
        for name in recoding:
            for one, which in zip(opened, ("earlier", "later"), strict=True):
                if name not in one.spec.columns:
                    raise NotComparable(
                        f"the map has codes of {name}, which is no column of the {which} release; "
                        "leave it out"
                    )
        return cls(*opened, recoding, (*_about(*opened, *manifests), *notices))

    def query(
        self,
        question: str,
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
        given_rules: bool = False,
    ) -> pd.DataFrame:
        """One row a group: the columns of `by`, before, before_low, before_high, the same of after,
        change, low, high, deviation, raw_low, raw_high, relative, relative_low, relative_high,
        is_told, basis (see `Change`).

        The frame's `attrs["notes"]` say what the numbers rest on.

        Args:
            simultaneous: widen the intervals so that those of all groups hold at once.
            given_rules: take the specs' edit rules and public totals for true of the private
                tables.
        Raises:
            QuestionError: the question cannot be read, or not be answered from both releases.
            NotComparable: it is not about the same in both.
        """
        (found,) = self.ask(
            question, confidence=confidence, simultaneous=simultaneous, given_rules=given_rules
        )
        frame = pd.DataFrame(
            [
                {**dict(zip(found.by, one.group, strict=True)), **one.numbers}
                for one in found.changes
            ]
        )
        frame.attrs["notes"] = found.notes
        return frame

    def ask(
        self,
        *questions: str,
        confidence: float = 0.95,
        simultaneous: bool = False,
        given_rules: bool = False,
    ) -> tuple[Changes, ...]:
        """The changes of the answers to each question as `query` gives them, not in frames.

        Args:
            simultaneous: widen the intervals so that those of all questions hold at once.
        """
        refuse_confidence(confidence)
        before, after = (one.asking(given_rules=given_rules) for one in (self.before, self.after))
        every = [posed(question, before, after, self.recoding) for question in questions]
        together = sum(one.groups for one in every) if simultaneous else None
        found = (one.changes(confidence=confidence, together=together) for one in every)
        return tuple(replace(one, notes=(*one.notes, *self.told)) for one in found)

    def shifts(
        self, *, confidence: float = 0.95, within: float = 0.01, pairs: bool = False
    ) -> Shifts:
        """What changed beyond noise in the tables of single columns; see `Shifts`.

        Args:
            within: the change of a share that should not stay hidden.
            pairs: look at the measured tables of two columns, too.
        """
        refuse_confidence(confidence)
        if not 0 < within < 1:
            raise CannotAsk(f"within {within}: give a share between 0 and 1, such as 0.01")
        found = shifts(
            self.before.asking(),
            self.after.asking(),
            self.recoding,
            confidence=confidence,
            within=within,
            pairs=pairs,
        )
        return replace(found, notes=(*found.notes, *self.told))


def _refuse_the_same(
    before: OpenRelease, after: OpenRelease, one: Manifest, other: Manifest
) -> None:
    """Refuse releases whose noise is not independent.

    Raises:
        NotComparable: they are one release, or were made from the same noisy tables.
    """
    if one.release_id == other.release_id:
        raise NotComparable(
            f"both folders are release {one.release_id}; give two releases of different periods"
        )
    noisy = [of.files.get(MEASUREMENTS_FILE) for of in (one, other)]
    if None not in noisy and _same_answers(before.measurements.tables, after.measurements.tables):
        raise NotComparable(
            f"{one.release_id} and {other.release_id} were made from the same noisy tables, so "
            "nothing can have changed between them"
        )


def _same_answers(some: Sequence[MeasuredTable], others: Sequence[MeasuredTable]) -> bool:
    return len(some) == len(others) and all(
        np.array_equal(one.answers, other.answers) for one, other in zip(some, others, strict=True)
    )


def _about(
    before: OpenRelease, after: OpenRelease, one: Manifest, other: Manifest
) -> Iterator[str]:
    """What a reader must know of two releases, whatever is asked of them."""
    yield from about_the_tables(before.spec, after.spec)
    names = {one.release_id: "earlier", other.release_id: "later"}
    for release, replaced in ((before, other), (after, one)):
        if (release.spec.about.supersedes or "").strip() == replaced.release_id:
            yield (
                f"{release.spec.release} says that it supersedes {replaced.release_id}, so a "
                "change may be a correction of the same period"
            )
    for manifest in (one, other):
        if manifest.is_rehearsal:
            yield f"the {names[manifest.release_id]} one is a rehearsal, of no private table"
    if one.created > other.created:
        yield (f"{one.release_id}, given as the earlier one, was released after {other.release_id}")
