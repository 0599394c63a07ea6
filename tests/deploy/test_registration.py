"""What the server is told of how runs are started."""

import json
from pathlib import Path

from prefect.utilities.templating import apply_values
from prefect.workers.process import ProcessWorker

from deploy.registration import JOB_TEMPLATE, commands


def test_a_run_cannot_choose_its_command_its_ledger_or_its_folder() -> None:
    asked = {
        "command": "cp people.csv /tmp",
        "env": {"HALLMARK_LEDGER": "sqlite:////tmp/my-own.db"},
        "working_dir": "/tmp",
    }
    template = json.loads(JOB_TEMPLATE.read_text())
    job = template["job_configuration"]
    assert apply_values(job, asked) == job == {"stream_output": True}
    assert template["variables"]["additionalProperties"] is False
    open_to_all = ProcessWorker.get_default_base_job_template()["job_configuration"]
    assert apply_values(open_to_all, asked)["env"] == asked["env"]  # as it is without ours


def test_the_pool_is_made_with_that_template() -> None:
    pool, *_ = commands(None, [], "out")
    assert pool[-2:] == ["--base-job-template", str(JOB_TEMPLATE)]
    assert Path(pool[-1]).is_file()
