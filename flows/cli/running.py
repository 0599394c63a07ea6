"""How the commands that run a flow end."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from hallmark.flows.cli.exits import ExitCode
from hallmark.flows.screen import say, say_json
from hallmark.tasks.installation.stop_signals import STOP_SIGNALS, stop_signals_noted

if TYPE_CHECKING:  # imported where it is used, to keep --help quick
    from hallmark.schemas.documents.approvals import Waiting
    from hallmark.tasks.publish import Published


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
