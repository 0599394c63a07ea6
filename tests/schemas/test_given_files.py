"""What is no regular file is refused at once, and what is too long is not read to its end."""

import os
import socket
from pathlib import Path

import pytest

from hallmark.schemas.given_files import bytes_of, opened


def pipe(place: Path) -> None:
    os.mkfifo(place)


def endless(place: Path) -> None:
    place.symlink_to("/dev/zero")


def listening(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as ends:
        ends.bind(str(place))


def loop(place: Path) -> None:
    place.symlink_to(place)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (pipe, "it is a pipe or a device"),
        (endless, "it is a pipe or a device"),
        (Path.mkdir, "it is a folder"),
        (listening, "No such device"),
        (loop, "symbolic links"),
    ],
)
def test_what_is_no_file_is_not_opened(made, says, tmp_path):
    made(tmp_path / "given")
    descriptors = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match=says):
        opened(tmp_path / "given")
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_file_is_read_to_its_limit_and_no_further(tmp_path):
    file = tmp_path / "given"
    file.write_bytes(b"12345")
    (tmp_path / "link").symlink_to(file)
    assert bytes_of(tmp_path / "link", 5) == b"12345"
    os.truncate(file, 2**40)  # of which nothing is on the disk
    with pytest.raises(OSError, match=r"it has more than 1,000 bytes"):
        bytes_of(file, 1_000)
