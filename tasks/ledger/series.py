"""How the periods of a series share its account's cap."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import floor, inf

from hallmark.mechanisms.privacy.account_filter import implied_rho
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.ledger.chain import Entry
from hallmark.mechanisms.privacy.ledger.ledger import AccountState, Ledger
from hallmark.mechanisms.privacy.presence import Period, name_of, period
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.ledger.words import share

_GRID = 10**9  # of shares, so that entries stay short
_BISECTIONS = 60


class NoPlan(SafeError):
    """Periods cannot be planned like this."""


def rho_cap_of_series(cap: Budget) -> Fraction:
    """The cap of a series, whose releases compose in zCDP.

    Raises:
        NoPlan: it is pure, so it covers none by noise of zCDP.
    """
    if cap.is_pure:
        raise NoPlan("a series needs a delta above 0")
    return implied_rho(cap)


def planned(
    state: AccountState, first: str, periods: int, *, decay: float = 1.0, kept: float = 0.0
) -> dict[str, Fraction]:
    """The rho of every period: the largest shares that the cap covers beside what is taken.

    Args:
        first: name of the first period.
        decay: share of each period as a part of the share of the one before, above 0.
        kept: part of the cap that no period has, at least 0 and below 1.
    Raises:
        NoPlan: the account keeps no series, the period is none of its, or nothing is left to share.
    """
    if state.presence is None or state.rho_cap is None:
        raise NoPlan(
            f"account {state.name!r} keeps no series; open one with hallmark ledger open --series"
        )
    try:
        start = period(first)
    except ValueError as error:
        raise NoPlan(f"--from: {error}") from error
    if start.length != state.presence.length:
        raise NoPlan(
            f"--from: {first} is a {start.length}, but the account's periods are "
            f"{state.presence.length}s"
        )
    if not (0 < decay < inf and 0 <= kept < 1):
        raise NoPlan("decay must be above 0, and the part that is kept from 0 up to below 1")
    try:
        names = [name_of(Period(start.length, start.number + n)) for n in range(periods)]
        period(names[-1])
    except ValueError as error:
        raise NoPlan(f"--from: {first} and the {periods} periods pass the year 9999") from error
    weights = {start.number + n: Fraction(decay) ** n for n in range(periods)}
    taken = {period(name).number: rho for name, rho in state.by_period.items()}
    most = (1 - Fraction(kept)) * state.rho_cap

    def shared(scale: Fraction) -> dict[int, Fraction]:
        return {n: Fraction(floor(scale * w * _GRID), _GRID) for n, w in weights.items()}

    low, high = Fraction(0), state.rho_cap / min(weights.values())
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        beside = {n: max(rho, taken.get(n, rho)) for n, rho in shared(middle).items()}
        fits = state.presence.heaviest({**taken, **beside}) <= most
        low, high = (middle, high) if fits else (low, middle)
    shares = shared(low)
    if not all(shares.values()):
        raise NoPlan(
            f"account {state.name!r}: nothing is left of the cap for some of these periods; plan "
            "fewer, keep less, or have the cap raised"
        )
    return dict(zip(names, shares.values(), strict=True))


def periods_of(state: AccountState) -> Mapping[str, tuple[Fraction, Fraction]]:
    """For every period that has some: the rho that is planned and that is taken, in order."""
    names = sorted({*state.planned, *state.by_period}, key=period)
    nothing = Fraction(0)
    return {n: (state.planned.get(n, nothing), state.by_period.get(n, nothing)) for n in names}


def told_of_period(book: Ledger, account: str, about: str | None) -> str:
    """What a period of an account's series has, in words; empty where it keeps none.

    Raises:
        LedgerError: it is none of the series' periods.
    """
    if about is None or not book.has_account(account):
        return ""
    state = book.account(account)
    if state.presence is None:
        return ""
    planned, _ = periods_of(state).get(about, (Fraction(0), Fraction(0)))
    left = book.left_for(account, about)
    return f"{about}: planned {share(state, planned)}; left {share(state, left)}"


def releases_by_period(entries: Iterable[Entry]) -> dict[str, list[str]]:
    """Names of the releases about each period that hold budget, the first that took some first."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        release, about = entry.release, entry.payload.get("period")
        if release is None:
            continue
        if entry.kind == "cancel":
            found = {name: [o for o in some if o != release] for name, some in found.items()}
        elif about is not None and release not in found.setdefault(about, []):
            found[about].append(release)
    return found
