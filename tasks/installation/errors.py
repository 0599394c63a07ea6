"""The bases of all errors whose messages are for people."""


class SafeError(Exception):
    """An error whose message may be shown: it says what to do, and contains no private value."""


class PrivateFact(SafeError):
    """An error that depends on the private table: that it was raised, and what it says, is an exact
    fact about the table.

    It is for people who write specs or run releases, who cannot mend anything without it. The log,
    the pages of everybody else and what is published say no more than that the run failed.
    """
