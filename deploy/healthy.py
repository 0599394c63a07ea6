"""Check whether a service answers: exit status 0 if it does, for health checks of containers.

python -m deploy.healthy http://127.0.0.1:4200/api/health
"""

import sys
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

SECONDS = 5


def healthy(url: str) -> bool:
    """Whether the service answers in time; asking for a password counts as an answer."""
    try:
        build_opener(ProxyHandler({})).open(url, timeout=SECONDS)
    except HTTPError as error:
        return error.code == 401
    except (URLError, OSError):
        return False
    return True


if __name__ == "__main__":
    sys.exit(0 if healthy(sys.argv[1]) else 1)
