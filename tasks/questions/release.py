"""A release folder, opened to ask questions of it: `hallmark.open`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from hallmark.mechanisms.arrays import AnyCodes, Floats
from hallmark.mechanisms.inference.estimates import Interval
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.replicates.estimates import from_replicates
from hallmark.schemas.columns.columns import Column, NumericColumn
from hallmark.schemas.documents.certificate import CertificateFile
from hallmark.schemas.documents.data_dictionary import NOISE_PREFIX, SAMPLING_PREFIX, WEIGHT_COLUMN
from hallmark.schemas.documents.manifest import (
    ANSWERS_FILE,
    CERTIFICATE_FILE,
    MEASUREMENTS_FILE,
    REPLICATES_FILES,
    SPEC_FILE,
)
from hallmark.schemas.loading import load_spec
from hallmark.schemas.question import Question, Statistic
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.output.measurements import MeasurementFile, read_measurements
from hallmark.tasks.output.released import released_values
from hallmark.tasks.output.replicates import read_replicates, read_weight
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.questions.answers import Answers, RecordWeights
from hallmark.tasks.questions.questioning import Questioning


class CannotAsk(SafeError):
    """A folder is not a release, or not one that questions can be asked of."""


def refuse_confidence(confidence: float) -> None:
    """Refuse what is no confidence of an interval.

    Raises:
        CannotAsk: it is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise CannotAsk(f"confidence {confidence}: give a number between 0 and 1, such as 0.95")


@dataclass(frozen=True, eq=False)
class OpenRelease:
    """A release that can be asked questions. Nothing but its folder is read.

    Attributes:
        told: what of the release a reader must know, whatever is asked.
    """

    folder: Path
    spec: ReleaseSpec
    told: tuple[str, ...] = ()

    @classmethod
    def of(cls, folder: str | Path) -> Self:
        """The release in a folder.

        Raises:
            CannotAsk: the folder is not a release.
        """
        place = Path(folder)
        if not (place / SPEC_FILE).is_file():
            raise CannotAsk(f"{place} is not a release folder: it has no {SPEC_FILE}")
        return cls(place, load_spec(place / SPEC_FILE, is_published=True))

    def query(
        self,
        question: str,
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
        given_rules: bool = False,
    ) -> pd.DataFrame:
        """One row a group: the columns of `by`, estimate, low, high, deviation, raw_low,
        raw_high, basis, of_records (see `Answer`).

        The frame's `attrs["notes"]` say what the numbers rest on.

        Args:
            simultaneous: widen the intervals so that all hold at once.
            given_rules: take the spec's edit rules and public totals for true of the private table.

        Raises:
            QuestionError: the question cannot be read, or not be answered from this release.
        """
        (found,) = self.ask(
            question, confidence=confidence, simultaneous=simultaneous, given_rules=given_rules
        )
        frame = pd.DataFrame(
            [
                {**dict(zip(found.by, one.group, strict=True)), "estimate": one.estimate,
                 "low": one.low, "high": one.high, "deviation": one.deviation,
                 "raw_low": one.raw_low, "raw_high": one.raw_high, "basis": one.basis,
                 "of_records": one.of_records}
                for one in found.answers
            ]
        )  # fmt: skip
        frame.attrs["notes"] = found.notes
        return frame

    def ask(
        self,
        *questions: str,
        confidence: float = 0.95,
        simultaneous: bool = False,
        given_rules: bool = False,
        told_by_tables: bool = False,
    ) -> tuple[Answers, ...]:
        """The answers to each question as `query` gives them, not in frames.

        Args:
            simultaneous: widen the intervals so that those of all questions hold at once.
            told_by_tables: refuse what the noisy tables do not tell, where `query` would answer
                from the records.
        """
        refuse_confidence(confidence)
        asking = self.asking(given_rules=given_rules)
        bound = [asking.bound(question) for question in questions]
        together = sum(map(asking.groups, bound)) if simultaneous else None
        found = [
            asking.answer(
                one, confidence=confidence, together=together, told_by_tables=told_by_tables
            )
            for one in bound
        ]
        return tuple(
            replace(answers, notes=(*answers.notes, *self._promised(one), *self.told))
            for answers, one in zip(found, bound, strict=True)
        )

    def asking(self, *, given_rules: bool = False) -> Questioning:
        """What answers questions about the release.

        Args:
            given_rules: as of `query`.
        Raises:
            CannotAsk: the release has neither noisy tables nor replicate weights.
        """
        return Questioning(self.spec, self._estimator, self._records, self._weights, given_rules)

    def _promised(self, question: Question) -> Iterator[str]:
        """What the certificate promises of the records' own answer, which is something else."""
        certificate = CertificateFile.model_validate_json(
            (self.folder / CERTIFICATE_FILE).read_bytes()
        )
        for one in question.statistics:
            if question.by or one.where is not None:
                continue
            if (name := certified_column(one, self.spec.columns)) is None:
                continue
            bound = certificate.for_column(name)
            if bound is not None and not bound.vacuous:
                unit = f" {bound.unit}" if one.kind == "mean" and bound.unit else ""
                yield (
                    f"certificate: with {float(100 * certificate.confidence):g} % confidence, the "
                    f"{one.kind} of {name} in the records differs from the private table's by at "
                    f"most {bound.in_unit:.3g}{unit}, and all {len(certificate.bounds)} bounds of "
                    "the release hold together"
                )
        if (self.folder / ANSWERS_FILE).exists():
            yield (
                f"{ANSWERS_FILE} has the answers of the release's own queries, with bounds that "
                "hold for all of them at once"
            )

    def correlations(self, *, confidence: float = 0.95) -> pd.DataFrame:
        """One row a pair of columns: the fields of `Correlation`, and `is_attenuated`.

        Raises:
            CannotAsk: the release has no noisy tables, or no records.
        """
        if self._records is None:
            raise CannotAsk(f"{self.folder} has no records to compare with")
        asking = Questioning(self.spec, self._estimator, self._records)
        found = asking.correlations(confidence=confidence)
        return pd.DataFrame([asdict(one) | {"is_attenuated": one.is_attenuated} for one in found])

    def replicates(self) -> pd.DataFrame:
        """The replicate weights, one row a record in the order of the data files.

        Raises:
            CannotAsk: the release has none.
        """
        if self._replicates_file is None:
            raise CannotAsk(
                f"{self.folder} has no replicate weights: its spec does not ask for them under "
                "output.replicates"
            )
        return read_replicates(self._replicates_file)

    def with_error(
        self,
        statistic: Callable[[Floats], float],
        *,
        sampling: bool = False,
        confidence: float = 0.95,
    ) -> Interval:
        """A statistic of the records, with its interval from the replicate weights.

        Args:
            statistic: computes it with the given weights of the records, shape (records,).
            sampling: say how far it is from that of the population which the private records
                were sampled from, instead of that of the private records.
        Raises:
            CannotAsk: the release has no replicate weights.
        """
        frame = self.replicates()
        prefix = SAMPLING_PREFIX if sampling else NOISE_PREFIX
        again = [name for name in frame if name.startswith(prefix)]
        own = float(statistic(frame[WEIGHT_COLUMN].to_numpy()))
        values = np.array([float(statistic(frame[name].to_numpy())) for name in again])
        return from_replicates(own, values, confidence)

    @cached_property
    def from_tables(self) -> Questioning:
        """What the noisy tables alone answer, without the records.

        Raises:
            CannotAsk: the release has neither noisy tables nor replicate weights.
        """
        return Questioning(self.spec, self._estimator)

    @cached_property
    def codec(self) -> TableCodec:
        """The codec of all columns of the spec."""
        return TableCodec.of(self.spec.columns)

    @cached_property
    def measurements(self) -> MeasurementFile:
        """The noisy tables.

        Raises:
            CannotAsk: the release has none.
        """
        path = self.folder / MEASUREMENTS_FILE
        if not path.exists():
            raise CannotAsk(
                f"{self.folder} has no {MEASUREMENTS_FILE}: it was made by an earlier version, or "
                "with output: {measurements: false}"
            )
        return read_measurements(path, self.codec.names)

    @cached_property
    def _estimator(self) -> Estimator:
        if self._weights is not None and not (self.folder / MEASUREMENTS_FILE).exists():
            return Estimator((), None)  # the records answer, with their replicate weights
        return Estimator(self.measurements.tables, self.measurements.total)

    @cached_property
    def _replicates_file(self) -> Path | None:
        files = [self.folder / name for name in REPLICATES_FILES.values()]
        return next((path for path in files if path.exists()), None)

    @cached_property
    def _weights(self) -> RecordWeights | None:
        """Weights of the records and their replicates for the noise, if there are some."""
        if self._records is None or self._replicates_file is None:
            return None
        return RecordWeights(read_weight(self._replicates_file), lambda: self._for_other_noise)

    @cached_property
    def _for_other_noise(self) -> Floats:
        frame = self.replicates()
        return frame.filter(regex=f"^{NOISE_PREFIX}").to_numpy()

    @property
    def records_file(self) -> Path | None:
        """The first of the files with the synthetic records; None if there is none."""
        files = [self.folder / name for name in self.spec.data_files.values()]
        return next((path for path in files if path.exists()), None)

    @cached_property
    def _records(self) -> AnyCodes | None:
        """Cell codes of the records in the folder, with -1 in columns that are not released."""
        if self.records_file is None:
            return None
        values = released_values(self.spec, self.records_file)
        codes = np.full((len(values), len(self.codec.names)), -1, dtype=np.int32)
        for position, one in enumerate(self.codec.codecs):
            if one.name in values:
                codes[:, position] = one.encode(values[one.name])
        return codes


def certified_column(one: Statistic, columns: Mapping[str, Column]) -> str | None:
    """The column whose certified bound holds for a statistic of all records, if there is one: for a
    mean, of numbers that are never missing; for a share, of categories without order."""
    if one.kind == "mean" and one.column is not None:
        column = columns.get(one.column)  # None if it is looked up
        return one.column if isinstance(column, NumericColumn) and not column.nulls else None
    if one.kind == "share" and one.condition is not None:
        names = one.condition.columns()
        name = next(iter(names))
        unordered = name in columns and columns[name].type in ("nominal", "boolean")
        return name if len(names) == 1 and unordered else None
    return None
