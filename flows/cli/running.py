"""How commands run a flow, and how they end."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hallmark.flows import quiet
from hallmark.flows.cli.exits import ExitCode
from hallmark.flows.cli.options import RunOptions
from hallmark.flows.screen import say, say_json
from hallmark.tasks.installation.stop_signals import STOP_SIGNALS, stop_signals_noted

if TYPE_CHECKING:  # imported where it is used, to keep --help quick
    from hallmark.schemas.documents.approvals import Waiting
    from hallmark.tasks.publish import Published


def run_flow(spec: Path, out: Path | None, how: RunOptions, file: Path | None = None) -> None:
    """Run the flow of a release, or that of a certificate of `file`, and print how it ended."""
    from hallmark.schemas.loading import load_spec

    known = load_spec(spec, how.folder)  # a wrong spec is refused before anything else happens
    quiet.configure(verbose=how.verbose)
    from hallmark.tasks.installation.disk import blaming_full_disks, refuse_cramped
    from hallmark.tasks.installation.workspace import home, ledger_url
    from hallmark.tasks.ledger.accounts import refuse_without_account
    from hallmark.tasks.ledger.anchors import open_ledger

    refuse_cramped(home())  # else the orchestrator would not start, and say so after minutes
    refuse_without_account(known, open_ledger(ledger_url()), out)
    with stoppable():
        starting = quiet.start_orchestrator()
        # first: the cluster's library stays quiet if it is imported before Prefect
        from hallmark.flows import cluster
        from hallmark.flows.certify import certify
        from hallmark.flows.cli.terminal_progress import progress_shown
        from hallmark.flows.release import release
        from hallmark.tasks.installation.places import out_folder
        from hallmark.tasks.planning.prepare import prepare

        with progress_shown(enabled=not how.as_json):
            prepared = prepare(spec, how.folder)
            if file is None:
                prepared.releasing()
                where = out_folder(out and out.absolute())
            else:
                prepared.certifying(file)
                where = out_folder(out and out.absolute(), otherwise="certificates")
            run = cluster.on_cluster(
                release if file is None else certify,
                processes=how.processes,
                scheduler=how.scheduler,
            )
            with quiet.orchestrated(starting), blaming_full_disks(home(), where):
                ending = run(
                    spec=str(spec),
                    out=str(where),
                    resume=how.resume,
                    folder=how.folder and str(how.folder),
                    **({} if file is None else {"file": str(file)}),
                )
    tell_ending(ending, as_json=how.as_json)


def tell_ending(ending: "Published | Waiting", *, as_json: bool = False) -> None:
    """Print how a run ended; if it is waiting, exit with `ExitCode.WAITING`."""
    from hallmark.flows.cli.terminal import print_published
    from hallmark.flows.endings import in_words
    from hallmark.schemas.documents.approvals import Waiting

    if isinstance(ending, Waiting):
        if as_json:
            say_json(ending.model_dump(mode="json"))
        else:
            say(in_words(ending))
        raise typer.Exit(ExitCode.WAITING)
    if as_json:
        say_json(ending.to_json())
    else:
        print_published(ending)


@contextmanager
def stoppable(again: str = "again with --resume") -> Iterator[None]:
    """End a run that is stopped by Ctrl-C or SIGTERM with a message and an exit code of its own.

    Whatever starts processes belongs in here: Python ends at once on a SIGTERM that nobody handles,
    and leaves them behind.

    Args:
        again: how to run the command again in order to continue.
    """

    caught: list[int] = []

    def stop(number: int, _: object) -> None:
        caught.append(number)
        raise KeyboardInterrupt

    with stop_signals_noted() as noted:
        before = {number: signal.signal(number, stop) for number in STOP_SIGNALS}
        try:
            yield
        except BaseException:
            stopped = [*caught, *noted()]
            if not stopped:
                raise
            say(
                f"Stopped. Nothing is lost: run it {again} to continue; drawn noise is read back, "
                "and nothing is charged twice",
                err=True,
            )
            raise typer.Exit(ExitCode(128 + stopped[0])) from None  # as a shell tells a signal
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
