"""The templates of the review desk's pages, in which whatever is filled in is text."""

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

pages = Environment(
    loader=PackageLoader("hallmark.flows.desk"),
    autoescape=select_autoescape(default=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
