"""Templates of plain texts: Markdown and scripts, in which nothing is escaped as on a page."""

from jinja2 import Environment, PackageLoader, StrictUndefined


def text_environment() -> Environment:
    """Where templates of texts are read from; whoever fills one escapes what needs it."""
    return Environment(
        loader=PackageLoader("hallmark.tasks.rendering"),
        autoescape=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
