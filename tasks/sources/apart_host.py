"""The process of `apart`: loads readers of files, and has each file read by a fork under limits.

Run as a module, with the number of the descriptor by which it is asked.
"""

import json
import os
import resource
import signal
import sys
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle

from hallmark.tasks.sources.apart import MEMORY, PATIENCE, SECONDS


def serve(connection: Connection) -> None:
    """Have question after question answered, until whoever asks has gone.

    Args:
        connection: gives each question, and then the descriptor that its answer is written to.
    """
    while True:
        try:
            question = json.loads(connection.recv_bytes())
            answer = recv_handle(connection)
        except EOFError:
            return
        respond = getattr(import_module(question["module"]), question["function"])
        import_module(question["readers"])
        fork = os.fork()
        if fork == 0:
            try:
                connection.close()  # what reads a file hears nothing of whoever asks next
                _limit()
                Connection(answer).send_bytes(json.dumps(respond(question["asked"])).encode())
                os._exit(0)
            finally:
                os._exit(1)
        os.close(answer)
        os.waitpid(fork, 0)


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
