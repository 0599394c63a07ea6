"""Time stamps by RFC 3161: an authority signs that it was shown some bytes at some time.

The authority gets a SHA-256 of the bytes, and nothing else. Source: RFC 3161, RFC 5816.
"""

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import httpx
from cryptography import x509
from rfc3161_client import (
    HashAlgorithm,
    TimestampRequestBuilder,
    TimeStampResponse,
    VerificationError,
    VerifierBuilder,
    decode_timestamp_response,
)

from hallmark.schemas.given_files import MOST_KEYS, bytes_of
from hallmark.tasks.installation.errors import SafeError

_SECONDS = 30  # to wait for an authority
_GRANTED = 0
_SHA256 = x509.ObjectIdentifier("2.16.840.1.101.3.4.2.1")


class TimeStampRefused(SafeError):
    """There is no time stamp, or it does not stand for what it should."""


def time_stamp(content: bytes, url: str) -> bytes:
    """A fresh time stamp of `content`, in DER.

    Args:
        url: of the authority, which answers `application/timestamp-query` by POST.
    Raises:
        TimeStampRefused: it gives none, or one of something else.
    """
    request = TimestampRequestBuilder().data(content).hash_algorithm(HashAlgorithm.SHA256).build()
    try:
        answer = httpx.post(
            url,
            content=request.as_bytes(),
            headers={"Content-Type": "application/timestamp-query"},
            timeout=_SECONDS,
        ).raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise TimeStampRefused(
            f"{url} gives no time stamp ({error}); fix the address, or name another authority"
        ) from None
    response = _decoded(answer.content)
    if response.status != _GRANTED:
        said = "; ".join(response.status_string) or f"status {response.status}"
        raise TimeStampRefused(f"{url} refuses a time stamp: {said}")
    if response.tst_info.nonce != request.nonce:
        raise TimeStampRefused(f"{url} answers with a time stamp that was made for another request")
    stamped_at(answer.content, content)
    return answer.content


def stamped_at(response: bytes, content: bytes, roots: Path | None = None) -> datetime:
    """When `content` was time-stamped, to the second, UTC.

    Args:
        roots: certificates (PEM) of the authorities that are trusted. Without it, only what was
            stamped is checked, not by whom.
    Raises:
        TimeStampRefused: it is the time stamp of something else, or of nobody who is trusted.
    """
    stamp = _decoded(response)
    imprint = stamp.tst_info.message_imprint
    if imprint.hash_algorithm != _SHA256 or imprint.message != hashlib.sha256(content).digest():
        raise TimeStampRefused("the time stamp is of something else than what it is kept with")
    if roots is not None:
        _refuse_untrusted(stamp, content, roots)
    return stamp.tst_info.gen_time.astimezone(UTC).replace(microsecond=0)


def _refuse_untrusted(stamp: TimeStampResponse, content: bytes, roots: Path) -> None:
    try:
        certificates = x509.load_pem_x509_certificates(bytes_of(roots, MOST_KEYS))
    except (OSError, ValueError):
        raise TimeStampRefused(f"{roots}: holds no certificates in PEM; name another") from None
    builder = VerifierBuilder()
    for certificate in certificates:
        builder = builder.add_root_certificate(certificate)
    try:
        builder.build().verify_message(stamp, content)
    except VerificationError as error:
        raise TimeStampRefused(
            f"the time stamp is by no authority that {roots} vouches for ({error})"
        ) from None


def _decoded(response: bytes) -> TimeStampResponse:
    try:
        return decode_timestamp_response(response)
    except ValueError as error:
        raise TimeStampRefused(
            f"what was answered, or kept, is no time stamp of RFC 3161 in DER ({error})"
        ) from None
