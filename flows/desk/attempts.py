"""Who is heard when they log in: a few at once, and then ever fewer, however they spread guesses.

Three things are counted. *By login*: strangers who try one login wait together, ever longer, and a
browser that the person logged in with before waits alone (`Guesses`). *By address* and *over all*:
strangers may try many logins only so fast (`Allowance`), else a common password would be tried with
everybody's login. These two never touch a browser that is known for the login it tries, so whoever
uses them up keeps nobody out who has one.

The waits of the last two do not grow: once the guessing ends, strangers are heard within
`BY_ADDRESS.every` seconds. An address uses up a third of what is heard over all, so one attacker
alone does not keep others out who come from elsewhere.
"""

from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import NamedTuple

from hallmark.tasks.installation.guesses import Allowance, Guesses


class _Pace(NamedTuple):
    at_once: int  # wrong attempts that are heard at any pace
    every: float  # seconds for each further one


BY_ADDRESS = _Pace(10, 30.0)
OVER_ALL = _Pace(30, 10.0)


class Attempts:
    """Attempts to log in since this process began."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._lock, self._by_login = Lock(), Guesses(clock)
        self._by_address = Allowance(*BY_ADDRESS, clock)
        self._over_all = Allowance(*OVER_ALL, clock)

    def begin(self, login: str, address: str, *, known: bool) -> float:
        """Seconds until an attempt is heard; 0 if it is, and then it counts as wrong until `right`.

        Counted first, attempts at one moment all count.

        Args:
            address: where it comes from.
            known: whether from a browser that this person logged in with before.
        """
        who = (login, known)
        with self._lock:
            wait = self._by_login.wait(who)
            if not known:
                wait = max(wait, self._by_address.wait(address), self._over_all.wait("all"))
            if wait:
                return wait
            self._by_login.wrong(who)
            if not known:
                self._by_address.wrong(address)
                self._over_all.wrong("all")
        return 0.0

    def right(self, login: str, address: str, *, known: bool) -> None:
        """Take back the attempt that was just begun: it was the person.

        What others tried from the same address stays counted, else somebody with a login of their
        own could guess on for ever.
        """
        with self._lock:
            self._by_login.right((login, known))
            if not known:
                self._by_address.right(address)
                self._over_all.right("all")
