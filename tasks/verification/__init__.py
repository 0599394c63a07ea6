"""Verify a release folder, offline and without the private data."""

from hallmark.tasks.verification.chain import SeriesVerification, verify_series
from hallmark.tasks.verification.documents import Check
from hallmark.tasks.verification.key_dates import KeysAtHand
from hallmark.tasks.verification.verify import (
    Verification,
    signature_of,
    verify_files,
    verify_release,
)

__all__ = [
    "Check",
    "KeysAtHand",
    "SeriesVerification",
    "Verification",
    "signature_of",
    "verify_files",
    "verify_release",
    "verify_series",
]
