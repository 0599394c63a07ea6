"""Examine an installation: what is right, what is not, and how to mend it. No private byte is read.

`machine` looks at Python, packages, folder and disk; `house` at profile, key, ledger and releases;
`server` at the Prefect server and the review desk. What needs a Dask cluster is in `flows`.
"""

from hallmark.tasks.doctor.finding import Check, Finding, examined, ok, warn, wrong

__all__ = ["Check", "Finding", "examined", "ok", "warn", "wrong"]
