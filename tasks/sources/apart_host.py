"""The process of `apart`: loads readers of files, and has each file read by a fork under limits.

Run as a module, with the number of the descriptor by which it is asked.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Mapping
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from hallmark.tasks.sources.apart import MEMORY, PATIENCE, SECONDS


def serve(connection: Connection) -> None:
    """Answer question after question, until whoever asks has gone."""
    while True:
        try:
            question = json.loads(connection.recv_bytes())
        except EOFError:
            return
        connection.send_bytes(answered(question, connection))


def answered(question: Mapping[str, Any], connection: Connection) -> bytes:
    """What a fork answers, as JSON; empty if it broke or passed its limits."""
    respond = getattr(import_module(question["module"]), question["function"])
    import_module(question["readers"])
    reading, writing = os.pipe()
    fork = os.fork()
    if fork == 0:
        try:
            os.close(reading)
            connection.close()  # what a file says to its reader is never said to whoever asks next
            _limit()
            with open(writing, "wb") as out:
                out.write(json.dumps(respond(question["asked"])).encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading, "rb") as told:
        said = told.read()
    _, status = os.waitpid(fork, 0)
    return said if status == 0 else b""


def _limit() -> None:
    for what, most in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    signal.alarm(PATIENCE)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
