"""The base of all errors whose messages are for people."""


class SafeError(Exception):
    """An error whose message may be shown: it says what to do, and contains no private value."""
