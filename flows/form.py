"""A release whose spec is a form in the dashboard, except for its columns."""

from pathlib import Path
from typing import Any, cast

from prefect import flow
from prefect_dask import DaskTaskRunner
from ruamel.yaml import YAML

from hallmark.flows.cluster import THREADS
from hallmark.flows.endings import Ending, ended
from hallmark.flows.release import carry_out
from hallmark.schemas.loading import load_spec
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.spec_form import SpecForm, filled_in
from hallmark.tasks.installation.places import given, out_folder
from hallmark.tasks.installation.workspace import home, private_folder, whole
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.runs import run_logged


# The dashboard makes the form from the type; Hallmark checks what it sends, with its own messages.
@flow(
    name="release-form",
    task_runner=DaskTaskRunner(cluster_kwargs=THREADS),
    validate_parameters=False,
)
def release_form(
    form: SpecForm,
    spec: str,
    out: str | None = None,
    resume: bool = False,
) -> Ending:
    """Run the release that the form describes, with the columns of a spec file.

    Args:
        form: the release spec, section by section.
        spec: path of the spec whose columns and rules are released.
        out: folder in which the release folder is made; a relative path starts in the folder
            `HALLMARK_RELEASES`, which is the default.
        resume: continue a release that was started before.
    """
    with run_logged():
        sent = cast(dict[str, Any], form)  # as it was sent, since Prefect does not validate it
        columns = given("spec", spec)
        prepared = prepare(_written(load_spec(columns), sent), columns.parent)
        return ended(carry_out(prepared.releasing(), out_folder(out), resume=resume))


def _written(spec: ReleaseSpec, form: dict[str, Any]) -> Path:
    """The whole spec in a separate file, which a resumed run reads again."""
    content = filled_in(spec, form)
    name = Path(str(content.get("release"))).name or "unnamed"  # not checked yet: it names no path
    path = private_folder(home() / "forms") / f"{name}.yaml"
    with whole(path) as draft:
        YAML().dump(content, draft)
    return path
