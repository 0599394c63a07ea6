"""What a check found, in a sentence, with the mend."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.schemas.loading import SpecError
from hallmark.tasks.installation.errors import SafeError

Verdict = Literal["ok", "warn", "wrong"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked at. `wrong` stops releases or endangers them; `warn` may wait."""

    check: str
    verdict: Verdict
    says: str
    mend: str = ""


Check = Callable[[], Iterable[Finding]]


def ok(check: str, says: str) -> Finding:
    """Nothing to mend."""
    return Finding(check=check, verdict="ok", says=says)


def warn(check: str, says: str, mend: str) -> Finding:
    """Something that somebody should look at."""
    return Finding(check=check, verdict="warn", says=says, mend=mend)


def wrong(check: str, says: str, mend: str = "") -> Finding:
    """Something to mend before the next release; our own errors say how, and need no `mend`."""
    return Finding(check=check, verdict="wrong", says=says, mend=mend)


def examined(checks: Mapping[str, Check]) -> Iterator[Finding]:
    """What all checks find; one that cannot be made is a finding itself."""
    for name, check in checks.items():
        try:
            yield from check()
        except (SafeError, LedgerError, SpecError) as error:
            yield wrong(name, str(error))
        except Exception as error:
            says = f"it could not be checked: {type(error).__name__}: {error}"
            yield wrong(name, says, "mend what it names; if that is nothing of yours, report it")
