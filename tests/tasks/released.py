"""One small release, run as a whole, for tests that look at what a single stage left behind."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import Prepared
from tests import example

ROWS = 300


@dataclass(frozen=True)
class Released:
    """The folder of a release, its workspace, and what it was planned as."""

    folder: Path
    workspace: Workspace
    prepared: Prepared
    ledger: str


@contextmanager
def released(base: Path, **changes: Any) -> Iterator[Released]:
    """Run the example's release in a home of its own under `base`; needs the `prefect` fixture."""
    from hallmark.flows.release import release
    from hallmark.tasks.installation.workspace import ledger_url

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALLMARK_HOME", str(base / "home"))
        patch.delenv("HALLMARK_LEDGER", raising=False)
        example.open_account()
        spec = example.write(base, ROWS, **changes)
        published = release(str(spec), str(base / "out"))
        yield Released(
            Path(published.folder), Workspace.of("test-release"), prepare(spec), ledger_url()
        )
