"""The Dask cluster that a release runs on: on this machine, at an address, or made for the run."""

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue, field_validator

from hallmark.schemas.exact import shown
from hallmark.schemas.section import Problem, Section

MOST_WORKERS = 10_000  # more is a typing error

_MEMORY = re.compile(r"\d+(\.\d+)? ?[kMGT]i?B")
_ADDRESS = re.compile(r"(tcp|tls)://[^/@\s]+:\d{1,5}")
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


def _check_absolute(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError(f"must be an absolute path, such as /etc/hallmark/tls/ca.pem, not {path}")
    return path


AbsolutePath = Annotated[str, AfterValidator(_check_absolute)]
"""A file on the machine that runs the release."""


class LocalCluster(Section):
    """Workers on the machine that runs the release."""

    processes: int = Field(default=0, ge=0, le=MOST_WORKERS)
    """the number of worker processes; 0 for threads of the release's own process"""
    threads: int | None = Field(default=None, ge=1, le=MOST_WORKERS)
    """the number of threads of each process; by default one or, without worker processes, one per
    core"""
    memory: str | None = None
    """how much memory each worker may use before it spills to disk, such as 4GiB; by default the
    workers together may use all the memory of the machine"""

    @field_validator("memory")
    @classmethod
    def _check_memory(cls, memory: str | None) -> str | None:
        if memory is not None and not _MEMORY.fullmatch(memory):
            raise ValueError(f"must be a size, such as 4GiB, not {shown(memory)}")
        return memory


class Tls(Section):
    """The files with which a release and its workers authenticate each other."""

    ca_file: AbsolutePath
    """the certificate of the authority that signed the others, in PEM"""
    cert_file: AbsolutePath
    """the release's own certificate, in PEM"""
    key_file: AbsolutePath
    """the release's private key, in PEM, readable by the operator only"""


class Adapt(Section):
    """Limits on the number of workers of a cluster that scales with the work."""

    minimum: int = Field(default=1, ge=1, le=MOST_WORKERS)
    """the least number of workers, at least 1"""
    maximum: int = Field(ge=1, le=MOST_WORKERS)
    """the greatest number of workers"""

    def _problems(self) -> Iterator[Problem]:
        if self.maximum < self.minimum:
            what = f"is {self.maximum}, below the minimum {self.minimum}; give at least that"
            yield Problem(("maximum",), what)


class Cluster(Section):
    """A Dask cluster: local, at an address, or made by a class."""

    local: LocalCluster | None = None
    """workers on this machine: {processes: 4, threads: 1, memory: 4GiB}"""
    address: str | None = None
    """the address of a running scheduler, such as tls://scheduler:8786"""
    tls: Tls | None = None
    """for an address that starts with tls://, {ca_file: ..., cert_file: ..., key_file: ...}"""
    class_: str | None = Field(default=None, alias="class")
    """a class of Dask clusters, such as dask_kubernetes.operator.KubeCluster; each run starts a
    cluster of its own and shuts it down afterwards"""
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """the arguments of the class, by name"""
    adapt: Adapt | None = None
    """limits for a class that scales, such as {minimum: 1, maximum: 8}"""

    @field_validator("address")
    @classmethod
    def _check_address(cls, address: str | None) -> str | None:
        if address is not None and not _ADDRESS.fullmatch(address):
            raise ValueError(f"must be like tls://scheduler:8786, not {shown(address)}")
        return address

    @field_validator("class_")
    @classmethod
    def _check_class(cls, name: str | None) -> str | None:
        if name is not None and not _DOTTED.fullmatch(name):
            raise ValueError(
                "must be a class with its module, such as dask_jobqueue.SLURMCluster, not "
                f"{shown(name)}"
            )
        return name

    def _problems(self) -> Iterator[Problem]:
        kinds = {"local": self.local, "address": self.address, "class": self.class_}
        given = [key for key, value in kinds.items() if value is not None]
        if not given:
            yield Problem((), "is empty; give one of local, address and class")
        for key in given[1:]:
            yield Problem((key,), f"is given together with {given[0]}; keep one of the two")
        if self.tls is not None and not (self.address or "").startswith("tls://"):
            yield Problem(("tls",), "is for an address that starts with tls://; fix the address")
        if self.class_ is None:
            for key in ("options", "adapt"):
                if key in self.model_fields_set:
                    yield Problem((key,), "is for a class; remove it, or name a class")
