"""Whether two locations lead to the same files, however they are spelled.

Links, hard links, relative paths and `file://` URLs are followed on this machine. In an object
store the bucket and the key decide, whatever endpoint or alias of the protocol (`s3`, `s3a`) they
are reached by: stores that share names are taken for one, which can only refuse too much. One store
reached by two kinds of protocol, or a file served over HTTP, is not seen through here; the digests
of `tasks.planning.likeness` are for that.
"""

import os
from pathlib import Path
from posixpath import normpath
from urllib.parse import unquote

import fsspec

_LOCAL = ("file", "local")


def overlap(one: str, other: str) -> bool:
    """Whether one of two locations is the other, lies within it, or shares a file with it."""
    protocols = _protocol(one), _protocol(other)
    if protocols != ("file", "file"):
        return protocols[0] == protocols[1] and _nested(_key(one), _key(other))
    paths = _local(one), _local(other)
    return _nested(*(path.parts for path in paths)) or bool(_inodes(paths[0]) & _inodes(paths[1]))


def _nested(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _protocol(location: str) -> str:
    """One name for all that a file system answers to."""
    named = fsspec.core.split_protocol(location)[0] or "file"
    if named in _LOCAL:
        return "file"
    try:
        known = fsspec.get_filesystem_class(named).protocol
    except (ImportError, ValueError):  # it cannot be read either
        return str(named)
    return str(known if isinstance(known, str) else min(known))


def _key(location: str) -> tuple[str, ...]:
    path = unquote(location.partition("://")[2])
    return tuple(normpath(f"/{path.lstrip('/')}").split("/")[1:])


def _local(location: str) -> Path:
    stripped = fsspec.get_filesystem_class("file")._strip_protocol(location)
    return Path(os.path.realpath(stripped))


def _inodes(path: Path) -> set[tuple[int, int]]:
    """Device and number of every file there, by which hard links are known."""
    inside = (Path(at, name) for at, _, names in os.walk(path) for name in names)
    found = set()
    for file in inside if path.is_dir() else [path]:
        try:
            there = file.stat()
        except OSError:  # it is not there, or nobody may look
            continue
        found.add((there.st_dev, there.st_ino))
    return found
