"""The internal review: the synthetic data against the private data, for the workspace alone.

It counts the private records without noise, and compares samples where a comparison needs records,
so a billion of them take hardly longer than a million. Nothing of it leaves the restricted
workspace: the task returns nothing, and its result type cannot be rendered into a public document.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from distributed import Client
from prefect import task

from hallmark.mechanisms.arrays import AnyCodes, Counts
from hallmark.mechanisms.certificates.bracket import (
    can_be_enclosed,
    enclose,
    evaluation_family,
    maps_to_count,
)
from hallmark.mechanisms.certificates.with_share import PlanWithShare
from hallmark.mechanisms.compute import SERIAL
from hallmark.mechanisms.contract import Certificate
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.geometry.wasserstein import w1
from hallmark.mechanisms.linear_queries.plan import LinearQueryPlan
from hallmark.mechanisms.privacy.cells import CellMap, count_codes, marginal
from hallmark.schemas.documents.internal_review import (
    ColumnReview,
    Comparison,
    Finding,
    InternalReview,
    JointReview,
    PairReview,
    PairsReview,
    QueryReview,
    WorkloadReview,
)
from hallmark.tasks.code_files import left_out, load
from hallmark.tasks.counting import DaskCounter
from hallmark.tasks.evaluate import compare, in_words
from hallmark.tasks.expectations import rule_of_truncation
from hallmark.tasks.generate import SyntheticFile
from hallmark.tasks.installation.guard import guarded
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.planning.coding import Codec, cell_labels
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.questions.questioning import SharedCells
from hallmark.tasks.record.pairs import (
    association,
    correlation,
    is_ordered,
    joint_maps,
    joint_shares,
    merged_columns,
    pair_table,
    subgroups,
)
from hallmark.tasks.rendering import render_internal_review

_WORST_QUERIES = 30  # shown one by one
_WORST_PAIRS = 9  # shown
_SAMPLE = 200_000  # records that are compared one with another


@task(name="review")
def review(
    prepared: Prepared,
    certificate: Certificate,
    files: Sequence[Path],
    synthetic: SyntheticFile,
    workspace: Workspace,
) -> None:
    """Write the internal review into the workspace."""
    write = guarded("review", workspace.path, _write)
    write(prepared, certificate, DaskCounter(tuple(files), Client.current()), synthetic, workspace)


def _write(
    prepared: Prepared,
    certificate: Certificate,
    counter: DaskCounter,
    synthetic: SyntheticFile,
    workspace: Workspace,
) -> None:
    domain = prepared.codec.domain
    codes = synthetic.load().codes
    columns_alone = [marginal((a,), domain.shape) for a in range(len(domain))]
    private, released = counter.count(columns_alone), count_codes(codes, columns_alone)
    certified = {bound.target: bound.value for bound in certificate.bounds}
    columns = []
    pieces = SharedCells.pieces(prepared.spec)
    for position, codec in enumerate(pieces.codec.codecs):
        one, other = (pieces.histogram(every[position], position) for every in (private, released))
        true, made = one / max(one.sum(), 1), other / max(len(codes), 1)
        columns.append(
            ColumnReview(
                column=codec.name,
                cells=cell_labels(codec),
                is_ordered=is_ordered(codec),
                private=tuple(true.tolist()),
                synthetic=tuple(made.tolist()),
                actual=float(w1(codec.attribute, true - made)),
                certified=certified.get(codec.name),
            )
        )
    rng = np.random.default_rng(0)  # the same records whenever the page is made
    records, made_records = sampled(counter.files, _SAMPLE, rng), _some(codes, _SAMPLE, rng)
    findings = json.loads(workspace.findings.read_text())
    beyond = left_out(counter.files)
    if prepared.person is not None:
        rule = rule_of_truncation(prepared.person, prepared.plan.adjacency.records)
        findings.append({"rule": asdict(rule), "failing": beyond})
    page = render_internal_review(
        InternalReview(
            release_id=prepared.spec.release,
            title=prepared.spec.title,
            created=datetime.now(UTC),
            private_rows=counter.rows(),
            left_out=beyond,
            synthetic_rows=len(codes),
            metric="1-Wasserstein distance of the coded columns",
            confidence=certificate.confidence,
            columns=tuple(columns),
            joint=tuple(_joint(domain, certificate, counter, codes)),
            pairs=compared(counter.count, records, codes, made_records, prepared.codec.codecs),
            workload=_workload(prepared, certificate, counter),
            metrics=_metrics(domain, records, made_records),
            sampled=len(records) if len(records) < counter.rows() else None,
            findings=tuple(
                Finding(
                    column=finding["rule"]["column"],
                    rule=finding["rule"]["rule"],
                    failing_rows=finding["failing"],
                )
                for finding in findings
            ),
        )
    )
    workspace.review.touch(mode=0o600)
    workspace.review.write_text(page)


def sampled(files: Sequence[Path], most: int, rng: np.random.Generator) -> AnyCodes:
    """At most so many of the records of the files, every one as likely, in the files' order."""
    ends = np.cumsum([len(load(file)) for file in files])
    total = int(ends[-1])
    picked = np.sort(rng.choice(total, min(most, total), replace=False))
    each = np.split(picked, np.searchsorted(picked, ends[:-1]))
    starts = [0, *ends[:-1].tolist()]
    # One file after another, each forgotten once it was read: mapped files count as memory.
    return np.concatenate(
        [load(file)[rows - start] for file, rows, start in zip(files, each, starts, strict=True)]
    )


def _some(codes: AnyCodes, most: int, rng: np.random.Generator) -> AnyCodes:
    """At most so many of the records, in their order."""
    if len(codes) <= most:
        return codes
    return codes[np.sort(rng.choice(len(codes), most, replace=False))]


def _joint(
    domain: Domain, certificate: Certificate, counter: DaskCounter, codes: AnyCodes
) -> Iterator[JointReview]:
    """One line for every bound that compares several columns together, and not too many."""
    named = [
        (bound, tuple(sorted(domain.names.index(name) for name in bound.columns)))
        for bound in certificate.bounds
        if len(bound.columns) > 1
    ]
    told = [(bound, columns) for bound, columns in named if can_be_enclosed(domain, columns)]
    if not told:
        return
    column_sets = tuple(dict.fromkeys(columns for _, columns in told))
    family = evaluation_family(domain, column_sets)
    private = counter.count(list(maps_to_count(family)))
    enclosed = enclose(family, private, codes, compute=SERIAL)[-len(column_sets) :]
    by_columns = dict(zip(column_sets, enclosed, strict=True))
    for bound, columns in told:
        yield JointReview(
            compared=bound.target,
            lower=by_columns[columns].lower,
            upper=by_columns[columns].upper,
            certified=bound.value,
        )


def compared(
    count: Callable[[Sequence[CellMap]], list[Counts]],
    sample: AnyCodes,
    synthetic: AnyCodes,
    synthetic_sample: AnyCodes,
    codecs: Sequence[Codec],
) -> PairsReview | None:
    """Both tables' matrices, worst pairs and groups; None for one column, or without records.

    Cells are merged by the synthetic records, alike in both. Pairs are counted over all records;
    correlations and means are those of the samples.

    Args:
        count: counts all private records.
        sample: private records, shape (rows, columns).
    """
    if len(codecs) < 2 or not len(sample) or not len(synthetic):
        return None
    columns = range(len(codecs))
    groups = merged_columns(synthetic, columns, codecs)
    maps = joint_maps(columns, groups)
    true = joint_shares(count(maps), groups)
    made = joint_shares(count_codes(synthetic, maps), groups)
    distances = {pair: min(1.0, float(np.abs(true[pair] - made[pair]).sum() / 2)) for pair in true}
    worst = sorted(distances, key=lambda pair: (-distances[pair], pair))
    return PairsReview(
        association=association(true, groups),
        association_synthetic=association(made, groups),
        correlation=correlation(sample, columns, codecs),
        correlation_synthetic=correlation(synthetic_sample, columns, codecs),
        worst=tuple(
            PairReview(
                distance=distances[i, j],
                private=pair_table(groups[i], groups[j], true[i, j]),
                synthetic=pair_table(groups[i], groups[j], made[i, j]),
            )
            for i, j in worst[:_WORST_PAIRS]
        ),
        subgroups=subgroups(sample, columns, codecs),
        subgroups_synthetic=subgroups(synthetic_sample, columns, codecs),
    )


def _workload(
    prepared: Prepared, certificate: Certificate, counter: DaskCounter
) -> WorkloadReview | None:
    """The released answers against the private ones; None where no queries were answered."""
    answers, plan = certificate.answers, prepared.plan
    if isinstance(plan, PlanWithShare):
        plan = plan.inner
    if answers is None or not isinstance(plan, LinearQueryPlan) or not counter.rows():
        return None
    queries = plan.workload.queries
    sums = queries.answers(counter.count(list(queries.maps)))
    private = sums / (queries.unit * counter.rows())
    errors = np.abs(answers.distribution - private)
    return WorkloadReview(
        queries=len(errors),
        outside=int((errors > answers.bounds).sum()),
        largest=float(errors.max()),
        largest_of_records=float(np.abs(answers.records - private).max()),
        worst=tuple(
            QueryReview(
                query=answers.labels[i],
                private=float(private[i]),
                released=float(answers.distribution[i]),
                records=float(answers.records[i]),
                certified=float(answers.bounds[i]),
            )
            for i in np.argsort(-errors, kind="stable")[:_WORST_QUERIES]
        ),
    )


def _metrics(domain: Domain, private: AnyCodes, codes: AnyCodes) -> tuple[Comparison, ...]:
    """The utility metrics; none where a table has too few records to be compared."""
    metrics = compare(private, codes, domain)
    return in_words(metrics) if metrics else ()
