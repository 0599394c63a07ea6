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
from ipaddress import IPv6Address, ip_address, ip_network
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


class Allowance:
    """Wrong passwords of which some are heard at once, and then one every so often.

    The wait never grows with their number, so nobody who shares the allowance with a guesser waits
    for long once the guessing ends. Not for several threads at a time.

    Args:
        at_once: wrong passwords that are heard at any pace.
        every: seconds after which one more is.
    """

    def __init__(
        self, at_once: int, every: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._at_once, self._every, self._clock = at_once, every, clock
        self._used: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # how many, when

    def wait(self, who: Hashable) -> float:
        """Seconds until `who` is heard; 0 for at once."""
        return max(0.0, (self._now_used(who) + 1 - self._at_once) * self._every)

    def wrong(self, who: Hashable) -> None:
        """Count a wrong password."""
        self._count(who, 1)

    def right(self, who: Hashable) -> None:
        """Take back one that was counted before it turned out right."""
        self._count(who, -1)

    def _count(self, who: Hashable, more: int) -> None:
        used = max(0.0, self._now_used(who) + more)
        self._used.pop(who, None)
        self._used[who] = (used, self._clock())
        while len(self._used) > MOST:
            self._used.popitem(last=False)

    def _now_used(self, who: Hashable) -> float:
        used, at = self._used.get(who, (0.0, 0.0))
        return max(0.0, used - (self._clock() - at) / self._every)


def network_of(host: str) -> str:
    """Where a guesser is: all addresses that one can use count as one."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped or ip_network((address, 64), strict=False))
    return str(address)
