"""Time stamps by RFC 3161, of a real authority, and of those that are none."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from hallmark.tasks.installation.time_stamp import TimeStampRefused, stamped_at, time_stamp
from tests.tasks.authority import authority

CONTENT = b'{"account":"people","entries":3}'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("authorities")


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with authority(folder / "ours") as address:
        yield address


@pytest.fixture(scope="module")
def stamp(url: str) -> bytes:
    return time_stamp(CONTENT, url)


def test_a_time_stamp_tells_when_and_is_by_an_authority_that_is_trusted(
    stamp: bytes, folder: Path
) -> None:
    when = stamped_at(stamp, CONTENT, folder / "ours" / "root.pem")
    assert abs(datetime.now(UTC) - when) < timedelta(minutes=5)
    assert when.microsecond == 0
    assert when.tzinfo is UTC
    assert stamped_at(stamp, CONTENT) == when


def test_the_time_stamp_of_something_else_is_refused(stamp: bytes) -> None:
    with pytest.raises(TimeStampRefused, match="is of something else"):
        stamped_at(stamp, CONTENT + b" ")


def test_a_time_stamp_by_another_authority_is_refused(stamp: bytes, folder: Path) -> None:
    with (
        authority(folder / "theirs"),
        pytest.raises(TimeStampRefused, match=r"by no authority that .*root\.pem vouches for"),
    ):
        stamped_at(stamp, CONTENT, folder / "theirs" / "root.pem")


def test_a_time_stamp_that_was_changed_is_refused(stamp: bytes, folder: Path) -> None:
    broken = stamp[:-3] + bytes(3)
    with pytest.raises(TimeStampRefused):
        stamped_at(broken, CONTENT, folder / "ours" / "root.pem")


@pytest.mark.parametrize("content", [b"", b"no certificates"])
def test_a_file_that_holds_no_certificates_is_told(
    content: bytes, stamp: bytes, tmp_path: Path
) -> None:
    (tmp_path / "ca.pem").write_bytes(content)
    with pytest.raises(TimeStampRefused, match=r"ca\.pem: holds no certificates in PEM"):
        stamped_at(stamp, CONTENT, tmp_path / "ca.pem")


def test_what_is_no_time_stamp_is_refused() -> None:
    with pytest.raises(TimeStampRefused, match="no time stamp of RFC 3161"):
        stamped_at(b"hello", CONTENT)


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "nowhere", "http://[", "ftp://a/b"])
def test_an_authority_that_cannot_be_asked_is_told(address: str) -> None:
    with pytest.raises(TimeStampRefused, match="gives no time stamp"):
        time_stamp(CONTENT, address)


def test_an_answer_to_an_earlier_request_is_refused(
    stamp: bytes, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replayed(*_: object, **__: object) -> httpx.Response:
        return httpx.Response(200, content=stamp, request=httpx.Request("POST", url))

    monkeypatch.setattr(httpx, "post", replayed)
    with pytest.raises(TimeStampRefused, match="made for another request"):
        time_stamp(CONTENT, url)


def test_an_authority_that_refuses_is_told(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rejection = bytes.fromhex("30053003020102")  # SEQUENCE { PKIStatusInfo { rejection } }

    def refused(*_: object, **__: object) -> httpx.Response:
        return httpx.Response(200, content=rejection, request=httpx.Request("POST", url))

    monkeypatch.setattr(httpx, "post", refused)
    with pytest.raises(TimeStampRefused, match="refuses a time stamp: status 2"):
        time_stamp(CONTENT, url)
