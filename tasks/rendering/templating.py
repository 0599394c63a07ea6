"""The templates of pages, Markdown and scripts, and how they are read."""

from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined


def templates(*, autoescape: bool) -> Environment:
    """Where templates are read from; if nothing is escaped, whoever fills one escapes."""
    return Environment(
        loader=PackageLoader("hallmark.tasks.rendering"),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def source(name: str) -> str:
    """A file beside the templates, as it is."""
    return (files("hallmark.tasks.rendering") / "templates" / name).read_text(encoding="utf-8")
