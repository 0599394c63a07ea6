"""Hallmark: certified, differentially private synthetic data for statistical agencies.

A release answers questions:

    import hallmark

    release = hallmark.open("releases/rand-hie-2026")
    release.query("mean of mdvis by hlthp")
    release.data, release.columns, release.certificate, release.verify()

and two releases, of the same table in other periods, say what changed:

    hallmark.compare("releases/survey-2025", "releases/survey-2026").query("mean of income")

and those of a panel what the same synthetic people were in each:

    hallmark.panel(["releases/people-2025", "releases/people-2026"])
"""

# Whatever imports a part of Hallmark imports this module first, so it imports nothing itself.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pandas import DataFrame

    from hallmark.tasks.compared import Comparison
    from hallmark.tasks.opened import Release

__all__ = ["__version__", "compare", "open", "panel"]

__version__: str


def open(folder: "str | Path") -> "Release":  # noqa: A001  # of a release, as one says
    """Open a release folder, to look at its records and to ask it questions; see `Release.query`.

    Raises:
        CannotAsk: the folder is not a release.
        NotInUse: the release was withdrawn, or a notice beside it is not the agency's.
    """
    from hallmark.tasks.opened import Release

    return Release.of(folder)


def compare(
    before: "str | Path",
    after: "str | Path",
    recode: "str | Path | Mapping[str, Mapping[str, str]] | None" = None,
) -> "Comparison":
    """Open two release folders of the same table, the earlier one first, to ask how it changed; see
    `Comparison.query` and `Comparison.shifts`.

    Args:
        recode: a public map of the earlier release's codes to those of the later one, by column, or
            the YAML or CSV file that has it.
    Raises:
        CannotAsk: a folder is not a release.
        NotAsSigned: its files are not those that were signed.
        NotInUse: one was withdrawn, or a notice beside it is not the agency's.
        NotComparable: they are the same release, or the map does not fit.
    """
    from hallmark.tasks.compared import Comparison

    return Comparison.of(before, after, recode)


def panel(releases: "Sequence[str | Path]") -> "DataFrame":
    """All records of the releases of consecutive periods of a panel, each with its `person` and
    `period`; those of a person stand together.

    Raises:
        NoPanel: they are not, or one goes on from another release than is given.
        NotAsSigned: the files of a folder are not those that were signed.
    """
    from pathlib import Path

    from hallmark.tasks.panels import panel

    return panel([Path(one) for one in releases])


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version

        return version("hallmark")
    raise AttributeError(f"module 'hallmark' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
