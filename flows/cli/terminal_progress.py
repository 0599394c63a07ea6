"""How the terminal shows the progress of a release, stage by stage."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from hallmark.flows.screen import console
from hallmark.schemas.visible import visible
from hallmark.tasks.installation.progress import listening

_DOING = {
    "start": "Start the orchestrator",
    "reserve": "Reserve the budget",
    "validate": "Validate the table against the spec",
    "discretize": "Code the records",
    "select": "Select what to measure",
    "privatize": "Measure with noise (the only private step)",
    "generate": "Generate synthetic records",
    "read": "Read the records to certify",
    "certify": "Certify them",
    "finalise": "Write the files and read them back",
    "replicate": "Weigh the records for standard errors",
    "report": "Write the audit report",
    "publish": "Sign and publish",
}


@contextmanager
def progress_shown(*, enabled: bool) -> Iterator[None]:
    """Show the stages of a release, with a bar if a stage reports its progress."""
    columns = (
        SpinnerColumn(finished_text="[green]✓"),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[doing]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console(err=True), disable=not enabled) as progress:
        shown: dict[str, TaskID] = {}

        def show(stage: str, share: float, doing: str) -> None:
            if stage not in shown:
                _complete(progress)
                words = visible(_DOING.get(stage, stage))
                shown[stage] = progress.add_task(words, total=None, doing="")
            if share:
                progress.update(shown[stage], total=1.0, completed=share, doing=visible(doing))

        show("start", 0.0, "")
        with listening(show):
            yield
        _complete(progress)


def _complete(progress: Progress) -> None:
    for task in progress.tasks:
        if not task.finished:
            progress.update(task.id, total=1.0, completed=1.0, doing="")
