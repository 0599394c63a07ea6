"""How fast passwords may be guessed: some attempts at once, and then ever fewer.

After `FREE` wrong ones, the next is heard after a second, and each further wrong one doubles that,
up to `LONGEST`. What is said meanwhile is not looked at, and does not count, so whoever is kept
waiting knows for how long. Each guesser waits alone; all others are heard at once.

Source: OWASP, Blocking Brute Force Attacks (login throttling, device cookies).
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock

FREE = 5  # wrong passwords that a guesser may say at any pace
LONGEST = 300.0  # seconds between two guesses
FORGOTTEN = 3 * LONGEST  # seconds after which a guesser starts anew
MOST = 10_000  # guessers that are remembered, the latest ones


@dataclass
class _Tried:
    wrong: int
    latest: float  # time of the latest wrong password

    @property
    def pause(self) -> float:
        """Seconds from then until the next is heard."""
        return 0.0 if self.wrong < FREE else min(2.0 ** (self.wrong - FREE), LONGEST)


class Guesses:
    """Wrong passwords by who said them; kept in memory, for the process that listens."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._tried: OrderedDict[Hashable, _Tried] = OrderedDict()

    def wait(self, who: Hashable) -> float:
        """Seconds until `who` is heard; 0 for at once."""
        with self._lock:
            tried, now = self._tried.get(who), self._clock()
            return 0.0 if tried is None else max(0.0, tried.latest + tried.pause - now)

    def wrong(self, who: Hashable) -> None:
        """Count a wrong password."""
        with self._lock:
            now = self._clock()
            tried = self._tried.pop(who, None)
            if tried is None or now - tried.latest > FORGOTTEN:
                tried = _Tried(0, now)
            self._tried[who] = _Tried(tried.wrong + 1, now)
            while len(self._tried) > MOST:
                self._tried.popitem(last=False)

    def right(self, who: Hashable) -> None:
        """Forget what `who` guessed before: it was them."""
        with self._lock:
            self._tried.pop(who, None)
