"""The names by which the parts of server mode find each other."""

import os
from urllib.parse import urlsplit

POOL = "hallmark"
"""The work pool of the Prefect server that releases are run from."""

DESK_URL = "HALLMARK_DESK_URL"
"""Variable: where the desk answers."""

DESK_HOSTS = "HALLMARK_DESK_HOSTS"
"""Variable: further names and addresses to which the desk answers, with commas between them."""

RELEASES = "HALLMARK_RELEASES"
"""Variable: the absolute folder that runs of the server publish in."""

DEVICE = "HALLMARK_DEVICE"
"""Variable: a token by which the installation's own processes are told from strangers."""


def desk_address() -> str | None:
    """Scheme and host at which people reach the desk, by its setting; None where it is not set."""
    at = os.environ.get(DESK_URL)
    return "{0.scheme}://{0.netloc}".format(urlsplit(at)) if at else None
