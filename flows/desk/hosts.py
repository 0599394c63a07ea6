"""The names under which the desk answers, so that no page of another site can pass for it.

Once a page of evil.example is open in somebody's browser, its owner may let that name lead to the
desk (DNS rebinding). To the browser both are then one site, and the page sees what the desk says;
only the request's `Host` still tells. An address cannot be made to lead elsewhere: the desk answers
to the one at which a request arrived, as probes and Prometheus name it.

Source: Jackson et al. (2007), Protecting Browsers from DNS Rebinding Attacks; RFC 9110, 15.5.20.
"""

import os
import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from hallmark.tasks.installation.server_mode import DESK_HOSTS, DESK_URL

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/?#@\[\]]+)(:\d+)?", re.IGNORECASE)


def host_of(scope: Scope) -> str:
    """The name or address that a request is for, without its port; empty where it names none."""
    found = _HOST.fullmatch(Headers(scope=scope).get("Host", ""))
    return "" if found is None else found[1].lower()


def answers_to(scope: Scope) -> bool:
    """Whether a request is for a name or an address of this desk."""
    host = host_of(scope)
    if (address := _address(host)) is not None:
        arrived = _address(str((scope.get("server") or ("",))[0]))
        return address.is_loopback or address == arrived or host in _named()
    return host == "localhost" or host in _named()


def _named() -> set[str]:
    """The hosts that the settings name."""
    url = urlsplit(os.environ.get(DESK_URL, "")).netloc.rpartition("@")[2]
    said = re.split(r"[\s,]+", os.environ.get(DESK_HOSTS, ""))
    found = (_HOST.fullmatch(one) for one in (url, *said))
    return {one[1].lower() for one in found if one is not None}


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(host.strip("[]"))
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
