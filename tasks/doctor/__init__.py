"""Examine an installation: what is right, what is wrong, and how to fix it. Reads no private byte.

`machine` checks Python, packages, folder and disk; `house` the profile, key, ledger and releases;
`server` the Prefect server and the desk. Checks that need a Dask cluster are in `flows`. Each gives
findings: a sentence, with a fix.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from hallmark.mechanisms.privacy.ledger.ledger import LedgerError
from hallmark.schemas.loading import SpecError
from hallmark.tasks.installation.errors import SafeError

Verdict = Literal["ok", "warn", "wrong"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of one check. `wrong` stops or endangers releases; `warn` can wait."""

    check: str
    verdict: Verdict
    says: str
    mend: str = ""


Check = Callable[[], Iterable[Finding]]


def ok(check: str, says: str) -> Finding:
    """A finding that needs no fix."""
    return Finding(check=check, verdict="ok", says=says)


def warn(check: str, says: str, mend: str) -> Finding:
    """A finding that somebody should look at."""
    return Finding(check=check, verdict="warn", says=says, mend=mend)


def wrong(check: str, says: str, mend: str = "") -> Finding:
    """A finding to fix before the next release; Hallmark's own errors need no extra `mend`."""
    return Finding(check=check, verdict="wrong", says=says, mend=mend)


def examined(checks: Mapping[str, Check]) -> Iterator[Finding]:
    """Findings of all checks; a check that fails to run is itself a finding."""
    for name, check in checks.items():
        try:
            yield from check()
        except (SafeError, LedgerError, SpecError) as error:
            yield wrong(name, str(error))
        except Exception as error:
            says = f"it could not be checked: {type(error).__name__}: {error}"
            yield wrong(name, says, "fix what it names; if that is not on your side, report it")
