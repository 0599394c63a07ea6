"""A class of Dask clusters such as an agency might write: worker processes made one by one."""

from typing import Any

from distributed import Nanny, Scheduler, SpecCluster


class SmallCluster(SpecCluster):
    """Workers of one thread each, in processes of their own, on loopback."""

    def __init__(self, workers: int = 1, **options: Any) -> None:
        worker = {"cls": Nanny, "options": {"nthreads": 1, "host": "127.0.0.1"}}
        scheduler = {
            "cls": Scheduler,
            "options": {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"},
        }
        super().__init__(
            workers=dict.fromkeys(range(workers), worker),
            scheduler=scheduler,
            worker=worker,
            **options,
        )


def no_cluster() -> None:
    """A callable that is no class of clusters, so nobody may make a release call it."""
    raise AssertionError("a spec must not be able to call this")
