"""Hosts of a test's own: network namespaces on one wire, each with an address, that can be cut off.

The hosts share the machine's files and nothing else of each other's network. Nothing outside is
reached from them.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

_NET = "10.213.0"


@dataclass(frozen=True)
class Hosts:
    """Hosts by name; the first one holds the wire."""

    names: tuple[str, ...]
    mark: str  # of these hosts, among other tests' on the machine

    def address(self, host: str) -> str:
        return f"{_NET}.{self.names.index(host) + 1}"

    def within(self, host: str) -> list[str]:
        """What starts a command on a host."""
        return ["ip", "netns", "exec", self._space(host)]

    def cut(self, host: str) -> None:
        """Take the host off the wire: packets vanish, and nobody is told."""
        _ip("-n", self._space(host), "link", "set", "wire", "down")

    def mend(self, host: str) -> None:
        """Put it on the wire again."""
        _ip("-n", self._space(host), "link", "set", "wire", "up")

    def _space(self, host: str) -> str:
        return f"hallmark-{self.mark}-{host}"

    def _lay(self) -> None:
        first = self._space(self.names[0])
        for host in self.names:
            _ip("netns", "add", self._space(host))
            _ip("-n", self._space(host), "link", "set", "lo", "up")
        _ip("-n", first, "link", "add", "wire", "type", "bridge")
        for number, host in enumerate(self.names[1:]):
            end = ("peer", "name", f"end-{number}", "netns", first)
            _ip("-n", self._space(host), "link", "add", "wire", "type", "veth", *end)
            _ip("-n", first, "link", "set", f"end-{number}", "master", "wire", "up")
        for host in self.names:
            space = self._space(host)
            _ip("-n", space, "addr", "add", f"{self.address(host)}/24", "dev", "wire")
            _ip("-n", space, "link", "set", "wire", "up")

    def _remove(self) -> None:
        for host in self.names:
            subprocess.run(["ip", "netns", "del", self._space(host)], check=False)


@contextmanager
def hosts(*names: str) -> Iterator[Hosts]:
    """Hosts of these names meanwhile."""
    made = Hosts(names, uuid4().hex[:8])
    try:
        made._lay()
        yield made
    finally:
        made._remove()


def why_no_hosts() -> str:
    """Why this machine can have none; empty where it can."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return "network namespaces need root and iproute2"
    try:
        with hosts("a", "b"):
            return ""
    except subprocess.CalledProcessError as error:
        return f"no network namespaces here: {error.stderr}"


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)
