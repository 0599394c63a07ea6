"""Hallmark: certified, differentially private synthetic data for statistical agencies.

A release answers questions:

    import hallmark

    release = hallmark.open("releases/rand-hie-2026")
    release.query("mean of mdvis by hlthp")
    release.data, release.columns, release.certificate, release.verify()
"""

# Whatever imports a part of Hallmark imports this module first, so it imports nothing itself.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from hallmark.tasks.opened import Release

__all__ = ["__version__", "open"]

__version__: str


def open(folder: "str | Path") -> "Release":  # noqa: A001  # of a release, as one says
    """Open a release folder, to look at its records and to ask it questions; see `Release.query`.

    Raises:
        CannotAsk: the folder is not a release.
    """
    from hallmark.tasks.opened import Release

    return Release.of(folder)


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version

        return version("hallmark")
    raise AttributeError(f"module 'hallmark' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
