"""The base of every error that is written for people."""


class SafeError(Exception):
    """An error whose message is written to be shown: what to do, and no private value."""
