"""How the commands that run a flow end."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from hallmark.flows.cli.exits import ExitCode
from hallmark.flows.screen import say, say_json

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
    """End a run that is stopped by Ctrl-C with a message and `ExitCode.INTERRUPTED`.

    Libraries may wrap an interrupt in their own exception, so it is remembered here.

    Args:
        again: how to run the command again in order to continue.
    """
    pressed = False

    def stop(*_: object) -> None:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    except BaseException:
        if not pressed:
            raise
        say(
            f"Stopped. Nothing is lost: run it {again} to continue; drawn noise is read back, and "
            "nothing is charged twice",
            err=True,
        )
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGINT, before)
