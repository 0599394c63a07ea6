"""How the desk makes pages: templates, and what every page knows."""

import secrets
from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from hallmark.flows.desk import assets
from hallmark.flows.desk.visitor import visitor_of
from hallmark.flows.engine import engine_url
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.mechanisms.privacy.ledger.terms import decimals
from hallmark.schemas.visible import visible
from hallmark.tasks.forecast.time import TimeForecast
from hallmark.tasks.forecast.verdict import WORDS
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.people.rights import Right
from hallmark.tasks.rendering.wording import duration, percent

_OWN = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; "
    "img-src 'self' data:; connect-src 'self'; frame-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)

STAGED = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
"""The policy of documents that are shown as they are: no script runs in them."""


def _moment(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M} UTC"


def _lines(text: str) -> str:
    """What somebody wrote in lines, with all else in it made visible."""
    return "\n".join(map(visible, text.splitlines()))


def _decimals(exact: str | Fraction) -> str:
    """An exact number of a plan, such as 1/100000, as people write it."""
    return decimals(Fraction(exact))


def _share(share: float) -> str:
    return percent(share, up=True)


def _on_one_core(time: Mapping[str, Mapping[str, float]]) -> str:
    """How long a release takes, of a plan's forecast."""
    return duration(TimeForecast(**time).on(1))


_templates = Environment(
    loader=PackageLoader("hallmark.flows.desk"),
    autoescape=select_autoescape(default=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters["moment"] = _moment
_templates.filters["decimals"] = _decimals
_templates.filters["visible"] = visible
_templates.filters["lines"] = _lines
_templates.filters["share"] = _share
_templates.filters["on_one_core"] = _on_one_core
_templates.globals["uses"] = WORDS
_templates.globals["Right"] = Right
_templates.globals["static"] = assets.ADDRESS


def page(request: Request, template: str, status: int = 200, **more: Any) -> HTMLResponse:
    """A page of the desk.

    Args:
        template: name without `.html.j2`.
        more: what the template shows.
    """
    nonce = secrets.token_urlsafe(16)
    known = {
        "visitor": visitor_of(request),
        "nonce": nonce,
        "path": request.url.path,
        "engine": engine_url(),
    }
    text = _templates.get_template(f"{template}.html.j2").render(**known, **more)
    return HTMLResponse(text, status, {"Content-Security-Policy": _OWN.format(nonce=nonce)})


def message(
    request: Request, status: int, says: str, at: Mapping[str, str] | None = None
) -> Response:
    """What went wrong, as a page for somebody who reads it, else for a program.

    Args:
        at: what is wrong with fields of the form, by the keys of what they say.
    """
    at = at or {}
    if "text/html" in request.headers.get("Accept", ""):
        return page(request, "message", status, title="That was not possible", says=says, at=at)
    return JSONResponse({"detail": says} | ({"at": dict(at)} if at else {}), status)


def within(path: str) -> str:
    """A path of the desk to go to; the first page for any other address."""
    is_ours = path.startswith("/") and not path.startswith("//") and "\\" not in path
    return path if is_ours and path.isprintable() else "/"


def part(template: str, **more: Any) -> HTMLResponse:
    """A part of a page, which a script of the page puts there."""
    return HTMLResponse(rendered(template, **more))


def rendered(template: str, **more: Any) -> str:
    """The text of a part of a page."""
    return _templates.get_template(f"{template}.html.j2").render(**more)


def ledger() -> Ledger:
    """The ledger of this installation."""
    return _opened(ledger_url())


@lru_cache(maxsize=4)  # opening one looks for migrations; each transaction has its own connection
def _opened(url: str) -> Ledger:
    return open_ledger(url)
