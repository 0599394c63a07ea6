"""What the server is told of how runs are started."""

import json
import logging
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
from prefect.client.schemas.objects import FlowRun
from prefect.context import SettingsContext, get_settings_context
from prefect.settings import Settings
from prefect.utilities.templating import apply_values
from prefect.workers.process import ProcessJobConfiguration, ProcessWorker

from deploy.registration import JOB_TEMPLATE, commands
from hallmark.flows.quiet import SERVER_LOG


def test_a_run_cannot_choose_its_command_its_ledger_or_its_folder() -> None:
    asked = {
        "command": "cp people.csv /tmp",
        "env": {"HALLMARK_LEDGER": "sqlite:////tmp/my-own.db"},
        "working_dir": "/tmp",
    }
    template = json.loads(JOB_TEMPLATE.read_text())
    job = template["job_configuration"]
    assert apply_values(job, asked) == job == {"stream_output": True, "env": SERVER_LOG}
    assert template["variables"]["additionalProperties"] is False
    open_to_all = ProcessWorker.get_default_base_job_template()["job_configuration"]
    assert apply_values(open_to_all, asked)["env"] == asked["env"]  # as it is without ours


def test_the_pool_is_made_with_that_template() -> None:
    pool, *_ = commands(None, [], "out")
    assert pool[-2:] == ["--base-job-template", str(JOB_TEMPLATE)]
    assert Path(pool[-1]).is_file()


LOUD = {
    "PREFECT_LOGGING_LEVEL": "DEBUG",
    "PREFECT_DEBUG_MODE": "true",
    "PREFECT_LOGGING_HANDLERS_API_LEVEL": "DEBUG",
    "PREFECT_LOGGING_LOGGERS_PREFECT_FLOW_RUNS_LEVEL": "DEBUG",
    "PREFECT_LOGGING_LOGGERS_PREFECT_TASK_RUNS_LEVEL": "DEBUG",
    "PREFECT_LOGGING_EXTRA_LOGGERS": "distributed,sqlalchemy",
}
HEARD = """
import json, logging
from prefect.logging.configuration import setup_logging
from prefect.logging.handlers import APILogHandler
setup_logging()
heard = {}
for name in ("prefect.flow_runs", "prefect.task_runs", "distributed", "sqlalchemy"):
    logger = logging.getLogger(name)
    for handler in logger.handlers:
        if isinstance(handler, APILogHandler):
            heard[name] = max(logger.getEffectiveLevel(), handler.level)
print(json.dumps(heard))
"""
"""Prints the lowest level of each logger that reaches the server."""


@pytest.mark.parametrize("is_pool_ours", [True, False])
def test_a_run_does_not_log_to_the_server_what_its_workers_environment_asks_for(
    is_pool_ours: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in (LOUD | {"PREFECT_HOME": str(tmp_path)}).items():
        monkeypatch.setenv(name, value)
    job = json.loads(JOB_TEMPLATE.read_text())["job_configuration"] if is_pool_ours else {}
    process = ProcessJobConfiguration(**job)
    # A worker reads its environment when it starts, as nobody in this process may have done since.
    with SettingsContext(profile=get_settings_context().profile, settings=Settings()):
        process.prepare_for_flow_run(FlowRun(flow_id=uuid4()))
    said = subprocess.run(
        [sys.executable, "-c", HEARD], env=process.env, capture_output=True, text=True, check=True
    )
    runs = ("prefect.flow_runs", "prefect.task_runs")
    libraries = ("distributed", "sqlalchemy")
    told = dict.fromkeys(runs, logging.INFO)
    loud = dict.fromkeys(runs, logging.DEBUG) | dict.fromkeys(libraries, logging.WARNING)
    assert json.loads(said.stdout) == (told if is_pool_ours else loud)
