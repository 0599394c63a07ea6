"""The names by which the parts of server mode find each other."""

POOL = "hallmark"
"""The work pool of the Prefect server that releases are run from."""

DESK_URL = "HALLMARK_DESK_URL"
"""Variable: where the desk answers."""

RELEASES = "HALLMARK_RELEASES"
"""Variable: the absolute folder that runs of the server publish in."""

DEVICE = "HALLMARK_DEVICE"
"""Variable: a token by which the installation's own processes are told from strangers."""
