"""The utility part of an audit record: certificate, distributions, answers, biases."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.mechanisms.contract import Certificate, MarginalEstimate, QueryAnswers
from hallmark.mechanisms.domain.domain import Attribute
from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.privacy.cells import count_codes, marginal
from hallmark.schemas.columns.columns import DateColumn, NumericColumn
from hallmark.schemas.documents.audit_utility import Answer, Answers, Marginal, Utility
from hallmark.schemas.documents.certificate import CertificateFile
from hallmark.schemas.documents.labels import NOT_RECORDED
from hallmark.schemas.documents.manifest import ANSWERS_FILE
from hallmark.tasks.planning.coding import TableCodec, cell_labels
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.questions.questioning import SharedCells
from hallmark.tasks.record.changed import changed
from hallmark.tasks.record.learnt import learnt
from hallmark.tasks.record.pairs import pairs

if TYPE_CHECKING:  # the stages that a run went through import the orchestrator
    from hallmark.tasks.record.executed import Executed

_ANSWERS_SHOWN = 24  # all are in their file


def utility(run: "Executed") -> Utility:
    """How good the release is, from released quantities only."""
    spec = run.prepared.spec
    released, about = spec.released_columns, spec.about
    answers = run.certificate.answers
    cells = SharedCells.of(spec)
    shared, codes = cells.codec, cells.records(run.synthetic.codes)
    return Utility(
        certificate=certificate_file(run.prepared, run.certificate),
        rows=run.final.rows,
        measured_records=_measured_records(run),
        band="noisy measurement plus or minus 1.96 standard deviations of its noise: a cell by "
        "itself lies in its band with 95% probability",
        marginals=tuple(
            _marginal(run, shared, codes, index)
            for index, name in enumerate(shared.names)
            if name in released
        ),
        pairs=pairs(codes, shared.codecs, released),
        answers=None if answers is None else _answers(answers),
        learnt=(
            None
            if run.transcript is None
            else learnt(spec, run.prepared.codec, run.transcript, run.synthetic.codes)
        ),
        changed=changed(
            spec,
            None if run.transcript is None else Estimator.of(run.transcript),
            run.previous,
        ),
        supported=about.supported_uses or NOT_RECORDED,
        unsupported=about.unsupported_uses or NOT_RECORDED,
        bias="; ".join(_biases(run)),
        further_biases=about.known_biases or NOT_RECORDED,
    )


def certificate_file(prepared: Prepared, certificate: Certificate) -> CertificateFile:
    """The certificate as it is published, with the file that it is about where that was given."""
    if prepared.spec.rehearsal_of is not None:
        certificate = replace(certificate, assumptions=(_REHEARSED, *certificate.assumptions))
    return CertificateFile.of(certificate, prepared.certified)


_REHEARSED = "this is a REHEARSAL: the bounds are about records that are public or made up"


def _measured_records(run: "Executed") -> str:
    if run.total is not None:
        return f"{run.total:,} private records (a public number)"
    measured = run.synthetic.history.get("measured_records")
    if measured is None and run.prepared.given is None and run.prepared.spec.records is None:
        measured = run.final.rows  # as many were made as were measured
    if measured is None:
        return "a private number of records"
    return f"about {measured:,} private records (a noisy answer)"


def _biases(run: "Executed") -> Iterator[str]:
    spec = run.prepared.spec
    if run.prepared.given is not None:
        yield "the certified records were made elsewhere; nothing is known here about their biases"
    else:
        yield (
            "no cell can hold fewer than 0 records, so cells that are truly small tend to be too "
            "large"
        )
    clamped = [name for name, column in spec.columns.items() if column.outside == "clamp"]
    if clamped:
        yield f"values of {', '.join(clamped)} beyond their bounds count at the bounds"
    caught = [name for name, column in spec.columns.items() if column.outside == "catch_all"]
    if caught:
        yield f"values of {', '.join(caught)} that are not listed count as the catch-all category"
    if unseen := run.prepared.plan.parameters.get("uniform_columns"):
        yield (
            f"{', '.join(unseen)}, which no query covers, are spread evenly over their cells, "
            "whatever the other columns say"
        )
    if spec.privacy.person is not None:
        yield (
            f"at most {spec.privacy.max_records} records of each person were kept, so persons with "
            "more of them count for less"
        )


def _answers(answers: QueryAnswers) -> Answers:
    largest = np.argsort(-np.abs(answers.distribution), kind="stable")[:_ANSWERS_SHOWN]
    return Answers(
        file=ANSWERS_FILE,
        queries=len(answers.labels),
        largest=float(answers.bounds.max()),
        median=float(np.median(answers.bounds)),
        shown=tuple(
            Answer(
                query=answers.labels[i],
                answer=float(answers.distribution[i]),
                bound=float(answers.bounds[i]),
                records=float(answers.records[i]),
            )
            for i in largest
        ),
    )


def _marginal(run: "Executed", shared: TableCodec, codes: AnyCodes, index: int) -> Marginal:
    """A column of the records on shared cells, beside what was measured of these."""
    codec = shared.codecs[index]
    attribute: Attribute = codec.attribute
    (counts,) = count_codes(codes, [marginal((index,), shared.domain.shape)])
    measured: MarginalEstimate | None = run.certificate.measured.get(attribute.name)
    column = codec.column
    return Marginal(
        column=codec.name,
        kind=attribute.kind.value,
        unit=attribute.unit,
        cells=cell_labels(codec),
        has_null=attribute.has_null,
        ends=column.ends if isinstance(column, NumericColumn | DateColumn) else None,
        synthetic=tuple(counts / max(counts.sum(), 1)),
        measured=() if measured is None else tuple(measured.shares.tolist()),
        half_width=() if measured is None else tuple(measured.half_width.tolist()),
    )
