"""A web server of a test's own, on loopback."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """Answers without printing anything."""

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(handler: type[Handler]) -> Iterator[str]:
    """Base URL of a server that answers meanwhile, and ends without a pause."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        runs = partial(server.serve_forever, poll_interval=0.01)  # seconds; as long it takes to end
        thread = threading.Thread(target=runs)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
