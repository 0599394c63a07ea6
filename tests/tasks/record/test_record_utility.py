"""A release that answers queries: its record tells of them, its review holds them to the truth."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.schemas.documents.manifest import ANSWERS_FILE, RECORD_FILE, REPORT_FILE
from tests import example
from tests.tasks.released import ROWS, Released, released

MATRIX = "1,0,0,0,0,0\n0,0.5,0,0.5,0,0.5\n"
QUERIES = [
    {"marginals": {"columns": [["region", "employed"]]}},
    {"where": "age >= 20 and region = '01'"},
    {"matrix": {"columns": ["region", "employed"], "file": "queries.csv"}},
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("queries")


@pytest.fixture(scope="module")
def run(prefect: None, base: Path) -> Iterator[Released]:
    (base / "queries.csv").write_text(MATRIX)
    with released(base, mechanism={"name": "linear-queries", "queries": QUERIES}) as done:
        yield done


@pytest.fixture(scope="module")
def record(run: Released) -> AuditRecord:
    return AuditRecord.model_validate_json((run.folder / RECORD_FILE).read_bytes())


def test_files_of_queries_are_told_with_their_digests(record: AuditRecord) -> None:
    digest = hashlib.sha256(MATRIX.encode()).hexdigest()
    assert [(f.file, f.sha256) for f in record.mechanism.query_files] == [("queries.csv", digest)]


def test_the_answers_shown_are_the_largest_of_the_file(run: Released, record: AuditRecord) -> None:
    table = pd.read_csv(run.folder / ANSWERS_FILE)
    answers = record.utility.answers
    assert answers is not None
    assert (answers.file, answers.queries) == (ANSWERS_FILE, len(table))
    assert answers.largest == pytest.approx(table["largest_error"].max())
    largest = table["answer"].abs().nlargest(len(answers.shown))
    assert [abs(a.answer) for a in answers.shown] == pytest.approx(largest.tolist())


def test_errors_of_queries_are_shares_of_the_widest_querys_range(
    run: Released, record: AuditRecord
) -> None:
    assert {b.share_of for b in record.utility.certificate.bounds} == {"the widest query's range"}
    page = (run.folder / REPORT_FILE).read_text()
    assert "of the widest query&#39;s range" in page
    assert "of the diameter" not in page


def test_deviations_of_noise_are_in_the_unit_that_was_measured(record: AuditRecord) -> None:
    for line in record.mechanism.noise:
        assert line.unit.endswith("records")
        scale = re.search(r"scale = (\S+) (.*)", line.parameter)
        if scale:
            assert line.unit == scale.group(2)


def test_the_review_holds_the_answers_to_the_true_ones(run: Released) -> None:
    page = run.workspace.review.read_text()
    section = page.partition('<h2 id="queries">')[2].partition("</section>")[0]
    assert "Answers outside their certified bounds" in section
    rows = re.findall(r'<tr><th scope="row"><code>(.*?)</code></th><td>(.*?)</td>', section)
    private = dict(rows)
    data = example.table(ROWS)
    told = float(private["age &gt;= 20 and region = &#39;01&#39;"])
    true = ((data["age"] >= 20) & (data["region"] == "01")).mean()
    assert np.isclose(told, true, atol=1e-4)
    assert len(rows) == 9
