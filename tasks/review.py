"""The internal review: the synthetic data against the private data, for the workspace alone.

It counts the private records without noise. Nothing of it leaves the restricted workspace: the
task returns nothing, and its result type cannot be rendered into a public document.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from distributed import Client
from prefect import task

from mechanisms.contract import Certificate
from mechanisms.geometry.wasserstein import w1
from mechanisms.privacy.cells import marginal
from schemas.internal_review import ColumnReview, Finding, InternalReview
from tasks.counting import DaskCounter
from tasks.generate import SyntheticFile
from tasks.guard import guarded
from tasks.prepare import Prepared
from tasks.record import cell_labels
from tasks.rendering import render_internal_review
from tasks.workspace import Workspace


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
    private = counter.count([marginal((a,), domain.shape) for a in range(len(domain))])
    certified = {bound.target: bound.value for bound in certificate.bounds}
    columns = []
    for position, codec in enumerate(prepared.codec.codecs):
        true = private[position] / max(private[position].sum(), 1)
        made = np.bincount(codes[:, position], minlength=len(true)) / max(len(codes), 1)
        columns.append(
            ColumnReview(
                column=codec.name,
                cells=cell_labels(codec),
                private=tuple(true.tolist()),
                synthetic=tuple(made.tolist()),
                actual=float(w1(codec.attribute, true - made)),
                certified=certified.get(codec.name),
            )
        )
    findings = json.loads(workspace.findings.read_text())
    page = render_internal_review(
        InternalReview(
            release_id=prepared.spec.release,
            title=prepared.spec.title,
            created=datetime.now(UTC),
            private_rows=counter.rows(),
            synthetic_rows=len(codes),
            metric="1-Wasserstein distance of the coded columns",
            confidence=certificate.confidence,
            columns=tuple(columns),
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
