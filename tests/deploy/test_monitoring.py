"""Alert rules and dashboard ask for metrics and labels that there are; promtool has its own test.

promtool test rules deploy/monitoring/rules_test.yaml
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.deploy.stacks import DEPLOY

MONITORING = DEPLOY / "monitoring"
LABELS = {
    "hallmark_ledger_up": set(),
    "hallmark_accounts_shown": set(),
    "hallmark_account_refused": {"account"},
    "hallmark_budget_epsilon": {"account", "part"},
    "hallmark_budget_delta": {"account", "part"},
    "hallmark_releases": {"state"},
    "hallmark_release_waiting_since_timestamp_seconds": {"release", "gate"},
    "hallmark_calendar_last_published_timestamp_seconds": {"entry"},
    "hallmark_stage_seconds": {"release", "stage"},
    "hallmark_stage_rows_per_second": {"release", "stage"},
    "hallmark_stage_peak_memory_bytes": {"release", "stage"},
    "up": {"job"},
}


def rules() -> list[dict[str, Any]]:
    (group,) = YAML(typ="safe").load(MONITORING / "rules.yaml")["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def panels() -> list[dict[str, Any]]:
    dashboard = json.loads((MONITORING / "grafana-dashboard.json").read_text())
    found: list[dict[str, Any]] = dashboard["panels"]
    return found


def queries() -> Iterator[tuple[str, str]]:
    """Every query, with the text that names its labels to a reader."""
    for rule in rules():
        yield rule["expr"], json.dumps(rule["annotations"]).replace("$labels.", "$")
    for panel in panels():
        for target in panel["targets"]:
            yield target["expr"], target["legendFormat"]


def test_every_metric_is_documented_with_its_labels() -> None:
    told = (DEPLOY / "../docs/operations.md").read_text().split("## Metrics")[1].split("##")[0]
    for line in told.splitlines():
        if line.startswith("| `hallmark_"):
            metrics, labels, *_ = (re.findall(r"`(\w+)`", cell) for cell in line.split("|")[1:])
            for metric in metrics:
                assert LABELS[metric] == set(labels), metric
    assert set(re.findall(r"`(hallmark_\w+)`", told)) == set(LABELS) - {"up"}


def test_queries_ask_for_metrics_and_labels_that_there_are() -> None:
    for expr, told in queries():
        asked = re.findall(r"\b(hallmark_\w+|up)\b", expr)
        assert asked, expr
        assert set(asked) <= set(LABELS)
        labels = set.union(*(LABELS[metric] for metric in asked))
        assert set(re.findall(r"(\w+)!?=~?\"", expr)) <= labels
        assert set(re.findall(r"\{\{\s*\$?(\w+)", told)) - {"value"} <= labels


def test_every_alert_says_what_to_do() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert set(rule["annotations"]) == {"summary", "description"}


def test_panels_lie_side_by_side() -> None:
    taken = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels())
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) < 24
    assert len({panel["id"] for panel in panels()}) == len(panels())


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_finds_that_alerts_go_off_when_they_should() -> None:
    done = subprocess.run(
        ["promtool", "test", "rules", "rules_test.yaml"],
        cwd=MONITORING,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
