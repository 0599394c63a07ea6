"""Examine an installation: what is right, what is wrong, and how to fix it. Reads no private byte.

`machine` checks Python, packages, folder and disk; `house` the profile, key, ledger and releases;
`server` the Prefect server and the desk. Checks that need a Dask cluster are in `flows`.
"""

from hallmark.tasks.doctor.finding import Check, Finding, examined, ok, warn, wrong

__all__ = ["Check", "Finding", "examined", "ok", "warn", "wrong"]
