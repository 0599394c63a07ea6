"""The templates of pages, Markdown and scripts, and how they are read."""

from importlib.resources import files

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

_OWN = "hallmark.tasks.rendering"


def templates(*packages: str, autoescape: bool) -> Environment:
    """Where templates are read from; if nothing is escaped, whoever fills one escapes.

    Args:
        packages: that have templates of their own, which go before those of this one.
    """
    return Environment(
        loader=ChoiceLoader([PackageLoader(one) for one in (*packages, _OWN)]),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def source(name: str, package: str = _OWN) -> str:
    """A file beside the templates, as it is."""
    return (files(package) / "templates" / name).read_text(encoding="utf-8")
