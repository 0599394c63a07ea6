"""Compare a synthetic file with the private table by common utility metrics.

Nothing here is protected: the metrics are computed from the private records without noise. They
are for the people who may see those records; no budget covers them, and none may be published.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.utility import Label, UtilityScores, coarsen, evaluate, split
from hallmark.mechanisms.utility.coded import MOST_CELLS
from hallmark.mechanisms.utility.downstream import downstream_error, sampled
from hallmark.schemas.documents.internal_review import Comparison
from hallmark.schemas.loading import load_spec
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.guard import guarded
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.planning.coding import Codec, TableCodec
from hallmark.tasks.planning.public_data import without_place
from hallmark.tasks.planning.truncation import kept, keys
from hallmark.tasks.sources import (
    DatabasePart,
    SourceError,
    batches,
    consistent,
    parts,
    plain_text,
    recodes_of,
    source_of,
    told_of,
    written_as_released,
)

NOTICE = (
    "INTERNAL - do not publish: this compares with the private data exactly, without noise, and no "
    "privacy budget covers it."
)
LEAST_RECORDS = 2  # of a table, so that columns can vary together
LEAST_TO_SPLIT = 5  # so that both parts of a table have what they need


class EvaluationRefused(SafeError):
    """The tables cannot be compared; the message shows none of their values."""


class LabelRefused(SafeError):
    """The label is not a column of the release, or not a value of that column."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A sample: `used` records represent all `of` records of `what`, which is in words."""

    what: str
    used: int
    of: int


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The result of a comparison. Internal.

    Attributes:
        metrics: the numbers.
        label: what was predicted, as requested; None if nothing was.
        held_out: the predicted records, in words; None without a label.
        downstream_unit: unit of the downstream errors; None without a label.
        merged: columns whose neighbouring cells were merged.
        left_out: number of private records that a release would not keep of their persons, which
            are not compared; None if all records count.
        samples: samples that represent larger sets of records.
    """

    metrics: UtilityScores
    label: str | None
    held_out: str | None
    downstream_unit: str | None
    merged: tuple[str, ...]
    left_out: int | None = None
    samples: tuple["Sample", ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values, with the warning first."""
        return {
            "internal": NOTICE,
            "label": self.label,
            "held_out": self.held_out,
            "downstream_unit": self.downstream_unit,
            "merged_columns": list(self.merged),
            "left_out": self.left_out,
            "samples": [asdict(sample) for sample in self.samples],
            **asdict(self.metrics),
        }


def evaluate_files(
    spec: Path,
    synthetic: str,
    *,
    data: str | None = None,
    test: str | None = None,
    label: str | None = None,
) -> Evaluation:
    """Compare a synthetic file with the private table that `spec` names.

    The released columns are compared. If persons are protected, only the records of the spec's own
    table count that a release keeps (`truncation`); a table given by `data` is compared whole,
    since it names no persons.

    Args:
        spec: path of the release spec.
        synthetic: path or URL of the synthetic file, in the format of a release.
        data: the private table, if it is not the spec's own source.
        test: held-out private records; only read if there is a label.
        label: `COLUMN` to predict its cell, or `COLUMN=VALUE` to predict whether it is that.
    Raises:
        SpecError: the spec is invalid.
        LabelRefused: the label is not a released column or one of its values.
        EvaluationRefused: a table cannot be read, contains values that the spec refuses, or has
            too few records.
    """
    loaded = load_spec(spec, is_published=True)  # as it may be; no mechanism runs
    codec = TableCodec.of({name: loaded.file_columns[name] for name in loaded.released_columns})
    try:
        domain = codec.domain
    except ValueError as error:  # distances in the spec that are not a metric
        raise EvaluationRefused(str(error)) from error
    predicted = None if label is None else _label(label, codec, loaded)
    tables = {
        "data.source" if data is None else "--data": data or loaded.data.located(spec.parent),
        "--synthetic": synthetic,
    }
    if predicted is not None and test is not None:
        tables["--test"] = test

    def compute() -> tuple[UtilityScores, tuple[Sample, ...], int | None]:
        read = [
            _read(location, origin, codec, loaded, split_too=predicted is not None and test is None)
            for origin, location in tables.items()
        ]
        held_out = read[2].codes if len(read) > 2 else None
        metrics, samples = _metrics(read[0].codes, read[1].codes, held_out, domain, predicted)
        return metrics, samples, read[0].left_out

    metrics, samples, left_out = guarded("evaluate", Workspace.of(loaded.release).path, compute)()
    held_out = "a fifth of the private table" if test is None else f"the records of {test}"
    return Evaluation(
        metrics=metrics,
        label=label,
        held_out=None if predicted is None else held_out,
        downstream_unit=None if predicted is None else _UNITS[predicted.number],
        merged=tuple(a.name for a in domain.attributes if a.cells > MOST_CELLS),
        left_out=left_out,
        samples=samples,
    )


_UNITS = {True: "squared cells", False: "share of records"}  # of an error in numbers, in classes


def compare(private: AnyCodes, synthetic: AnyCodes, domain: Domain) -> UtilityScores | None:
    """The metrics of two coded tables, with columns merged to at most 32 cells as in the paper.

    None if one of the tables has too few records for a comparison.
    """
    if min(len(private), len(synthetic)) < LEAST_RECORDS:
        return None
    nulls = [attribute.has_null for attribute in domain.attributes]
    real, sizes = coarsen(private, domain.shape, nulls=nulls)
    made, _ = coarsen(synthetic, domain.shape, nulls=nulls)
    return evaluate(real, made, sizes)


def in_words(metrics: UtilityScores, downstream_unit: str | None = None) -> tuple[Comparison, ...]:
    """Every metric with its unit and meaning, for people; the downstream error only if it has a
    unit."""
    return (*_downstream_in_words(metrics, downstream_unit), *_in_words(metrics))


def _downstream_in_words(metrics: UtilityScores, unit: str | None) -> Iterator[Comparison]:
    if unit is None:
        return
    yield Comparison(
        metric="Downstream error",
        value=metrics.downstream,
        unit=unit,
        meaning="Error of gradient boosting in predicting the label of held-out private records, "
        "trained on the synthetic records.",
    )
    yield Comparison(
        metric="Downstream error, private",
        value=metrics.downstream_real,
        unit=unit,
        meaning="The same, trained on the private records, for comparison with the error above.",
    )


def _in_words(metrics: UtilityScores) -> Iterator[Comparison]:
    yield Comparison(
        metric="Covariance error",
        value=metrics.covariance_real,
        unit="relative",
        meaning="Distance between the covariance matrices, relative to the private one's norm.",
    )
    yield Comparison(
        metric="Covariance error, as published",
        value=metrics.covariance,
        unit="relative",
        meaning="The same distance relative to the synthetic one's norm, as in the tables of the "
        "PrivPGD paper.",
    )
    yield Comparison(
        metric="Counting queries",
        value=metrics.count,
        unit="relative",
        meaning=f"Error of a count of the records within ranges of three columns, on average over "
        f"{metrics.count_queries} random ranges, relative to the mean count."
        if metrics.count_queries
        else "No ranges were found with between 5 % and 95 % of the private records.",
    )
    yield Comparison(
        metric="Threshold queries",
        value=metrics.thresh,
        unit="relative",
        meaning="Error of a count of the records on one side of a plane through three columns, on "
        "average over 200 random planes, relative to the mean count.",
    )
    yield Comparison(
        metric="Sliced Wasserstein distance",
        value=metrics.sw1,
        unit="of a column's length",
        meaning="How far records must move on average, along one direction, to turn the joint "
        "distribution of two columns into the private one; mean over all pairs.",
    )
    yield Comparison(
        metric="Total variation, pairs",
        value=metrics.tv,
        unit="share of records",
        meaning="The share of records in the wrong cell of the joint table of two columns; mean "
        "over all pairs (the tables of the PrivPGD paper have twice this).",
    )
    yield Comparison(
        metric="Total variation, columns",
        value=metrics.tv1,
        unit="share of records",
        meaning="The share of records in the wrong cell of a single column; mean over all columns.",
    )


def _metrics(
    real: AnyCodes, synthetic: AnyCodes, test: AnyCodes | None, domain: Domain, label: Label | None
) -> tuple[UtilityScores, tuple[Sample, ...]]:
    if label is not None and test is None:
        real, test = split(real)
    metrics = compare(real, synthetic, domain)
    assert metrics is not None, "the tables were read with enough records"
    if label is None or test is None:
        return metrics, ()
    whole = {
        "private records to train on": real,
        "synthetic records to train on": synthetic,
        "held-out records to predict": test,
    }
    some = {what: sampled(codes, label) for what, codes in whole.items()}
    ours, theirs, asked = some.values()
    told = replace(  # trained on the original cells: trees can handle any number of them
        metrics,
        rows_test=len(asked),
        downstream=downstream_error(theirs, asked, label),
        downstream_real=downstream_error(ours, asked, label),
    )
    return told, tuple(
        Sample(what=what, used=len(some[what]), of=len(codes))
        for what, codes in whole.items()
        if len(some[what]) < len(codes)
    )


class _Table(NamedTuple):
    """Coded records, and how many more were left out; None if all count."""

    codes: AnyCodes
    left_out: int | None


def _read(
    location: str, origin: str, codec: TableCodec, spec: ReleaseSpec, *, split_too: bool
) -> _Table:
    """The coded records of one of the tables; `origin` names the table in messages."""
    private = origin in ("data.source", "--data")
    person = spec.privacy.person if origin == "data.source" else None
    # Which records of a person are kept may depend on all that a release codes.
    whole = codec if person is None else TableCodec.of(spec.columns)
    columns = {name: spec.columns[name] for name in whole.names}
    if origin == "data.source":
        source = replace(
            source_of(spec.data, Path(), columns, person=person, others_ignored=True),
            location=location,
        )
    else:
        source = written_as_released(spec, whole.names, location=location)
        if origin != "--synthetic":  # private records, with the codes of the private table
            source = replace(source, recodes=recodes_of(columns))
    blocks: list[AnyCodes] = []
    owners: list[pd.DataFrame] = []
    try:
        with consistent(source) as fixed:
            every = ((part, text) for part in parts(fixed) for text in batches(part))
            for part, text in every:
                _check_values(text, origin, whole.codecs)
                blocks.append(whole.encode(text))
                if person is not None:
                    ordered = not isinstance(part, DatabasePart)
                    owners.append(keys(blocks[-1], text[person], ordered=ordered))
    except SourceError as error:
        message = str(error) if origin == "data.source" else told_of(origin, str(error))
        raise EvaluationRefused(message) from error
    keep = kept(pd.concat(owners, ignore_index=True), spec.privacy.max_records) if owners else None
    records = sum(map(len, blocks)) if keep is None else int(keep.sum())
    least = {"--test": 1}.get(origin, LEAST_TO_SPLIT if private and split_too else LEAST_RECORDS)
    if records < least:
        raise EvaluationRefused(
            f"{origin}: too few records; at least {least} are needed"
            + (" to hold some out (or name held-out ones with --test)" if least > 2 else "")
        )
    codes = np.concatenate(blocks)[:, [whole.names.index(name) for name in codec.names]]
    if keep is None:
        return _Table(codes, None)
    return _Table(codes[keep], int((~keep).sum()))


def _check_values(text: pd.DataFrame, origin: str, codecs: Sequence[Codec]) -> None:
    for codec in codecs:
        beyond = codec.column.outside != "refuse"
        for what, _ in without_place(codec, text[codec.name], beyond=beyond):
            raise EvaluationRefused(
                f"{origin}: column {codec.name}: there are values that {what}; correct the "
                f"table, or columns.{codec.name} in the spec"
            )


def _label(text: str, codec: TableCodec, spec: ReleaseSpec) -> Label:
    """The label that `COLUMN` or `COLUMN=VALUE` asks for. Names and values are the user's own."""
    names = [c.name for c in codec.codecs]
    cuts = [len(text), *(at for at, character in enumerate(text) if character == "=")]
    cut = next((cut for cut in cuts if text[:cut] in names), None)
    if cut is None:
        asked = text.partition("=")[0]
        near = get_close_matches(asked, names, n=1)
        mend = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
        raise LabelRefused(f"{asked!r} is not a column that the spec releases; {mend}")
    column = names.index(text[:cut])
    of = codec.codecs[column]
    if cut == len(text):
        return Label(column=column, number=of.attribute.kind.ordered)
    return Label(column=column, equals=_cell(text[cut + 1 :], of, spec))


def _cell(value: str, codec: Codec, spec: ReleaseSpec) -> int:
    """The cell of a value as the private table would write it."""
    source = source_of(spec.data, Path(), {codec.name: codec.column})
    text = plain_text(value, codec.name, source)
    null = text is None
    cell = pd.Series([text], dtype=pd.StringDtype("pyarrow"))
    values, unreadable = codec.read(cell)
    if unreadable.any() or codec.outside(values).any() or (null and not codec.column.nulls):
        raise LabelRefused(
            f"{value!r} is not a value of columns.{codec.name}; write it as in the table, within "
            "the column's domain"
        )
    return int(codec.encode(values)[0])
