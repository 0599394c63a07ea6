"""Plan all example specs, then release each, and say what came of it.

    python -m hallmark.flows.examples schemas/examples build/examples

Nothing of the user's installation is used: ledger, workspaces and a demonstration key are in a home
in the second folder, beside the releases. Accounts are opened here, since the examples are about
public data. What an earlier run released is found published, and what it left unfinished goes on.
"""

import os
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from hallmark.flows import quiet
from hallmark.flows.cli.running import stoppable
from hallmark.flows.screen import say

if TYPE_CHECKING:  # imported where they are used, after the settings that they read
    from hallmark.tasks.planning.prepared import Prepared
    from hallmark.tasks.publish import Published

TABLE = "../../build/rand-hie.csv"
"""The demonstration table, where the specs have it."""

SETTINGS = ("HALLMARK_", "PREFECT_")
"""How the names of an installation's settings begin."""


def main(specs: Path, folder: Path) -> None:
    """Release the specs in one folder into the other."""
    for name in [name for name in os.environ if name.startswith(SETTINGS)]:
        del os.environ[name]
    os.environ["HALLMARK_HOME"] = str(folder.absolute() / "home")
    quiet.configure()
    with stoppable("again"):
        starting = quiet.start_orchestrator()
        from hallmark.flows import (
            cluster,  # noqa: F401  # its library stays quiet if it is imported before Prefect
            demo,
        )

        demo.write_table(specs / TABLE)
        prepared = plan(sorted(specs.glob("*.yaml")))
        with quiet.orchestrated(starting):
            release(prepared, folder.absolute())


def plan(specs: Sequence[Path]) -> "list[Prepared]":
    """The plans of the specs; no private byte is read."""
    from hallmark.tasks.planning.prepare import prepare

    began = time.monotonic()
    prepared = [prepare(spec) for spec in specs]
    say(f"Planned {len(prepared)} examples in {time.monotonic() - began:.0f} s")
    return prepared


def release(prepared: "Sequence[Prepared]", folder: Path) -> "list[Published]":
    """What the plans came to; a certificate alone is of the first release with its columns."""
    from hallmark.flows.certify import certify
    from hallmark.flows.release import release as flow
    from hallmark.tasks.planning.prepared import PlannedCertificate
    from hallmark.tasks.publish import Published

    made: dict[frozenset[str], Path] = {}
    every: list[Published] = []
    for one in sorted(prepared, key=lambda one: isinstance(one, PlannedCertificate)):
        _open_account(one)
        spec, out, columns = str(one.path), str(folder), frozenset(one.spec.columns)
        began = time.monotonic()
        if isinstance(one, PlannedCertificate):
            published = certify(spec, str(made[columns] / "data.csv"), out, resume=True)
        else:
            published = flow(spec, out, resume=True)
        assert isinstance(published, Published), "no example waits"
        made.setdefault(columns, Path(published.folder))
        every.append(published)
        say(f"{one.path.stem}: {time.monotonic() - began:.0f} s, {published.folder}")
        say(f"    {published.certificate}")
    return every


def _open_account(one: "Prepared") -> None:
    from hallmark.mechanisms.privacy.budget import Budget
    from hallmark.tasks.installation.workspace import ledger_url
    from hallmark.tasks.ledger.anchors import open_ledger

    open_ledger(ledger_url()).open_account(
        one.spec.population.account,
        cap=Budget(epsilon=Fraction(100), delta=Fraction(1, 1000)),
        adjacency=one.plan.adjacency,
        by="examples",
        reason="public data: every example has a release",
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
