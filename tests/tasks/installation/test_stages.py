"""Times of stages: of the last run, in whole seconds, and how many runs there were."""

import json
from pathlib import Path

import pytest

from hallmark.tasks.installation.progress import announce
from hallmark.tasks.installation.stages import run_times, stages_noted
from hallmark.tasks.installation.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_without_a_run_there_are_no_times(workspace: Workspace) -> None:
    assert run_times(workspace) is None


def test_announced_stages_are_noted_and_the_one_under_way_has_no_time(workspace: Workspace) -> None:
    with stages_noted(workspace):
        for stage in ("validate", "select", "select", "report"):  # told again as it goes on
            announce(stage)
        times = run_times(workspace)
    assert times is not None
    assert [stage.stage for stage in times.stages] == ["validate", "select"]
    announce("publish")  # after the run: nobody notes it
    assert run_times(workspace) == times


def test_runs_are_counted_and_the_last_one_is_told(workspace: Workspace) -> None:
    for stages in (["validate", "discretize"], ["validate", "report"]):
        with stages_noted(workspace):
            for stage in stages:
                announce(stage)
    times = run_times(workspace)
    assert times is not None
    assert times.attempts == 2
    assert [stage.stage for stage in times.stages] == ["validate"]


def test_seconds_are_from_one_stage_to_the_next_though_the_clock_is_set_back(
    workspace: Workspace,
) -> None:
    notes = [
        ["", "2026-01-01T09:00:00+00:00", 100.0],
        ["validate", "2026-01-01T09:00:02+00:00", 102.1],
        ["select", "2024-11-27T09:01:02+00:00", 162.0],
        ["report", "2024-11-27T09:01:05+00:00", 165.4],
    ]
    workspace.stages.write_text("\n".join(map(json.dumps, notes)))
    times = run_times(workspace)
    assert times is not None
    assert [(stage.stage, stage.seconds) for stage in times.stages] == [
        ("validate", 60),
        ("select", 3),
    ]
