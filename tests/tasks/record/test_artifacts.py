"""The summary in the dashboard: small, public, and with what a reviewer does next."""

import re
from pathlib import Path

import pytest

from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.tasks.record.artifacts import artifact_key, show_in_dashboard, summary

FOLDER = Path("/somewhere/staging")


def test_its_key_is_one_that_the_dashboard_accepts(record: AuditRecord) -> None:
    assert artifact_key(record) == "audit-acs-2019-r1"
    odd = record.identity.model_copy(update={"release_id": "Ärger & Co_1"})
    assert re.fullmatch("[a-z0-9-]+", artifact_key(record.model_copy(update={"identity": odd})))


def test_it_tells_figures_gaps_and_the_command(record: AuditRecord) -> None:
    certificate = record.utility.certificate
    many = certificate.model_copy(update={"bounds": 3 * certificate.bounds})
    utility = record.utility.model_copy(update={"certificate": many})
    text = summary(record.model_copy(update={"utility": utility}), FOLDER)
    for words in (
        "| Privacy loss, at most | ε 1, δ 0.00001 | public |",
        "| Legal basis | state about.legal\\_basis in the spec |",
        "3.28 % of the diameter",
        "The 7 smallest are only in the report.",
        "    hallmark verify acs-2019-r1",
        "`/somewhere/staging/audit-report.html`",
    ):
        assert words in text, words
    assert len(text) < 300_000


def test_it_leads_to_the_report_where_reports_are_served(
    record: AuditRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HALLMARK_REPORTS_URL", raising=False)
    assert "Open the report" not in summary(record, FOLDER)
    monkeypatch.setenv("HALLMARK_REPORTS_URL", "https://desk.example/reports/")
    link = "[Open the report](https://desk.example/reports/acs-2019-r1/audit-report.html)"
    assert link in summary(record, FOLDER)


def test_text_of_the_record_stays_in_its_cell(record: AuditRecord) -> None:
    claim = record.guarantee.claim.model_copy(update={"unit_in_words": "a | b\n<b>c</b> *d*"})
    guarantee = record.guarantee.model_copy(update={"claim": claim})
    text = summary(record.model_copy(update={"guarantee": guarantee}), FOLDER)
    assert "| Who is protected | a \\| b &lt;b>c&lt;/b> \\*d\\* | public |" in text


def test_it_names_a_gate_only_where_there_is_one(record: AuditRecord) -> None:
    assert "block the disclosure gate:" in summary(record, FOLDER)
    ungated = summary(record.model_copy(update={"disclosure_gate": ()}), FOLDER)
    assert "a reviewer would ask for; no gate was configured:" in ungated
    assert "block the disclosure gate" not in ungated


def test_outside_a_run_there_is_nothing_to_show_it_in(record: AuditRecord) -> None:
    show_in_dashboard(record, FOLDER)  # no server is up, and none is asked
