"""How long to wait before a process that ended is started again."""

PAUSES = (1, 2, 5, 10, 30)
"""Seconds, one after another; then the last again and again."""

STEADY = 300
"""Seconds after which a process counts as running, so that the pauses begin anew."""


class Pauses:
    """The pauses of one process: longer with each end, and short again after it ran steadily."""

    def __init__(self) -> None:
        self._ends = 0  # in a row

    def after(self, seconds: float) -> int:
        """The pause, in seconds, after the process ran for so many seconds and ended."""
        if seconds >= STEADY:
            self._ends = 0
        self._ends += 1
        return PAUSES[min(self._ends, len(PAUSES)) - 1]
