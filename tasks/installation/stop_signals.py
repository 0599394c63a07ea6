"""Signals by which somebody ends a run, noted where no library can lose them."""

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)

Noted = Callable[[], list[signal.Signals]]
"""Gives those of `STOP_SIGNALS` that came since the noting began, in their order."""

_around: ContextVar[Noted | None] = ContextVar("noted", default=None)


@contextmanager
def stop_signals_noted() -> Iterator[Noted]:
    """Note meanwhile which signals came to stop this process.

    Within another such block, those that came since that one began.

    What a handler raises does not tell reliably: it is lost where it meets a `__del__` or another
    callback from which nothing is raised, and libraries wrap it in exceptions of their own. So the
    numbers are taken where Python writes them before it calls any handler; that is, of those that
    somebody has set a handler for. Outside the main thread, which handlers run in, none is noted.
    """
    around = _around.get()
    if around is not None or threading.current_thread() is not threading.main_thread():
        yield around or list
        return
    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)
        writer.setblocking(False)
        came = bytearray()

        def noted() -> list[signal.Signals]:
            with suppress(BlockingIOError):
                came.extend(reader.recv(4096))
            return [signal.Signals(number) for number in came if number in STOP_SIGNALS]

        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        token = _around.set(noted)
        try:
            yield noted
        finally:
            _around.reset(token)
            signal.set_wakeup_fd(before)
