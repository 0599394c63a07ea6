"""Start Prefect's server with its dashboard, behind Hallmark's door.

    python -m deploy.dashboard [--host HOST] [--port PORT]

Like `prefect server start`, except that guessing passwords is slowed down, and the descriptions of
the API also need the password. Open are the files of the dashboard, which are the same everywhere,
the address of the API, which the login form needs before there is a password, and health checks.
"""

import argparse
import os
import sys
from collections.abc import Sequence

import uvicorn

from hallmark.flows.door import Door
from hallmark.tasks.installation.server_mode import DEVICE

_OPEN = {"/api/health", "/api/ready"}
_ABOUT_THE_API = ("/docs", "/redoc", "/openapi.json")


def main(arguments: Sequence[str]) -> int:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(prog="python -m deploy.dashboard", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=4200)
    asked = parser.parse_args(arguments)
    from prefect.server.api.server import create_app
    from prefect.settings import get_current_settings

    api = get_current_settings().server.api
    password = api.auth_string
    door = Door(
        create_app(final=True),
        name="dashboard",
        password=lambda: password.get_secret_value() if password else None,
        is_open=is_open,
        asks=lambda path: not path.startswith("/api"),  # the dashboard has its own login form
        devices=[device] if (device := os.environ.get(DEVICE)) else [],
    )
    uvicorn.run(
        door,
        host=asked.host,
        port=asked.port,
        timeout_keep_alive=api.keepalive_timeout,
        ws_ping_interval=api.websocket_ping_interval,
        ws_ping_timeout=api.websocket_ping_timeout,
        log_level="warning",
        # Anybody who may state a request's origin is not slowed down, so a proxy must be named.
        proxy_headers="FORWARDED_ALLOW_IPS" in os.environ,
    )
    return 0


def is_open(method: str, path: str) -> bool:
    """Whether Prefect's server answers this without a password."""
    if path in _OPEN:
        return method == "GET"
    if method == "OPTIONS":  # a browser's preflight request has no password
        return True
    first = "/" + path.lstrip("/").partition("/")[0]
    return first not in ("/api", *_ABOUT_THE_API)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
